#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Programs that others wrote over verbs and librdmacm, as they are: UCX, Open MPI,
# libfabric, qperf, and programs for TCP over rsockets.  Those of libibverbs and
# librdmacm themselves are in verbs_tools.sh, rdmacm.sh, srq.sh and mcast.sh.

# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
need_pair

readonly UCX_PORT=13337 FABRIC_PORT=47592 QPERF_PORT=19765
# UCX connects RC by datagrams.
readonly RC=rc_verbs,ud_verbs:aux
COUNT=200
[ -z "$QUICK" ] || COUNT=20

needs() {
	command -v "$1" >/dev/null || skip "no $1"
}

# -------------------------------------------------------------------------- UCX

# ucx_env DEVICE KIND TRANSPORTS: UCX is the environment.
ucx_env() {
	UCX=(env "UCX_NET_DEVICES=$1:1" "UCX_IB_GID_INDEX=$(gid_index "$1" "$2")" "UCX_TLS=$3")
}

ucx_info() {
	local said

	needs ucx_info
	said=$(a env "UCX_NET_DEVICES=$RA:1" ucx_info -d) || return
	echo "$said"
	grep -q "Transport: rc_verbs" <<<"$said" && grep -q "Transport: ud_verbs" <<<"$said" &&
		grep -q "Device: $RA:1" <<<"$said"
}

# ucx TRANSPORTS KIND TEST [OPTION...]
ucx() {
	local -a server
	local tls=$1 kind=$2
	shift 2

	needs ucx_perftest
	[ "$kind" = v4 ] || have_ipv6 || skip "no IPv6 here"
	ucx_env "$RA" "$kind" "$tls"
	server=("${UCX[@]}")
	ucx_env "$RB" "$kind" "$tls"
	over_rove pair -r "tcp:$UCX_PORT" -- "${server[@]}" ucx_perftest -P 0 -w 10 -n "$COUNT" -t "$@" \
		-- "${UCX[@]}" ucx_perftest -P 0 "$IP_A" -w 10 -n "$COUNT" -t "$@" || return
	client_says "^Final: +$COUNT " && leaves_nothing
}

# uct TRANSPORT TEST [OPTION...]: one of UCX's transports alone.
uct() {
	local tl=$1
	shift

	needs ucx_perftest
	over_rove pair -r "tcp:$UCX_PORT" \
		-- env "UCX_IB_GID_INDEX=$GID_A" ucx_perftest -P 0 -w 10 -n "$COUNT" \
		-d "$RA:1" -x "$tl" -t "$@" \
		-- env "UCX_IB_GID_INDEX=$GID_B" ucx_perftest -P 0 "$IP_A" -w 10 -n "$COUNT" \
		-d "$RB:1" -x "$tl" -t "$@" || return
	client_says "^Final: +$COUNT " && leaves_nothing
}

# -------------------------------------------------------------------- Open MPI

# The processes run at one end, since Open MPI's own daemon must reach them; every
# second one takes the other end's link.  mpi TRANSPORTS PROCESSES ROUNDS [windows]
mpi() {
	local tls=$1 ranks=$2
	local -a one_sided=()
	shift 2

	[ "${2:-}" != windows ] || one_sided=(--mca osc ucx)
	needs mpicc
	needs mpirun
	mpicc -O2 -Wall -o "$T/mpi_exchange" "$SELFTESTS/mpi_exchange.c" || return
	cat >"$T/rank" <<-END
	#!/bin/bash
	[ \$((OMPI_COMM_WORLD_RANK % 2)) = 0 ] || export UCX_NET_DEVICES=$RB:1 UCX_IB_GID_INDEX=$GID_B
	exec "$T/mpi_exchange" "\$@"
	END
	chmod +x "$T/rank"
	ucx_env "$RA" v4 "$tls"
	over_rove a "${UCX[@]}" "HOME=$T" timeout -k 5 $((120 * SLOW)) mpirun --allow-run-as-root \
		--oversubscribe -np "$ranks" --mca pml ucx "${one_sided[@]}" \
		"$T/rank" "$@" >"$T/mpi" 2>&1 || {
		cat "$T/mpi"
		return 1
	}
	cat "$T/mpi"
	grep -q "^$ranks ranks: .* 0 wrong" "$T/mpi" && leaves_nothing
}

# ------------------------------------------------------------------- libfabric

fabric_info() {
	local said

	needs fi_info
	said=$(a fi_info -p verbs) || return
	echo "$said"
	grep -q "domain: $RA" <<<"$said" && grep -q "type: FI_EP_MSG" <<<"$said"
}

# fabric OPTION...: with the data checked.
fabric() {
	needs fi_pingpong
	over_rove pair -r "tcp:$FABRIC_PORT" -- fi_pingpong -c -I "$COUNT" "$@" \
		-- fi_pingpong -c -I "$COUNT" "$@" "$IP_A" && leaves_nothing
}

# ------------------------------------------------------------------ qperf, fio

# qperf_runs TEST...: one server.  Without the CM qperf addresses by LID, which no RoCE
# device has; and with it, it knows only RC.
qperf_runs() {
	local name status=0

	needs qperf
	start_server "tcp:$QPERF_PORT" "$((LIMIT * 10))" qperf || return
	for name in "$@"; do
		over_rove run_client "$LIMIT" qperf "$IP_A" -cm1 -t 1 "$name"
		cat "$T/client"
		if [ "$CLIENT_STATUS" != 0 ] || ! grep -qE "(bw|latency|msg_rate) += +[0-9]*[1-9]" "$T/client"; then
			echo "$name: status $CLIENT_STATUS"
			status=1
		fi
	done
	# shellcheck disable=SC2153 # of start_server
	stop "$SERVER"
	return "$status"
}

# fio_over VERB: its engine "rdma".  It allows for no receiver that is not ready, so
# that all receive requests must be there from the beginning.
fio_over() {
	local -a job=(fio --ioengine=rdma --bs=64k --size=8m --thread --port=9999)

	needs fio
	cd "$T" || return
	over_rove pair -r cm:9999 -- "${job[@]}" --name=server --rw=read --iodepth=128 \
		-- "${job[@]}" --name=client --hostname="$IP_A" --verb="$1" --rw=write --iodepth=4 &&
		client_says "issued rwts: .*[ ,=]128," && leaves_nothing
}

# -------------------------------------------------------------------- rsockets

rcopy_file() {
	needs rcopy
	head -c 5000011 /dev/urandom >"$T/file"
	over_rove pair -S any -r cm:7427 -- rcopy -- rcopy "$T/file" "$IP_A:$T/copy" &&
		cmp "$T/file" "$T/copy"
}

# A web server and its client, both of Python's library, preloaded: three threads fetch
# a file.
web() {
	local lib

	lib=$(find /usr/lib -name librspreload.so | head -n 1)
	[ -n "$lib" ] || skip "no librspreload.so"
	need_program plain_sockets -shared -fPIC -ldl
	mkdir -p "$T/www"
	head -c 3000017 /dev/urandom >"$T/www/file"
	cat >"$T/fetch.py" <<-'PY'
	import concurrent.futures, sys, urllib.request
	url, name = sys.argv[1:]
	def fetch(_):
	    return urllib.request.urlopen(url).read()
	with open(name, "rb") as f:
	    wanted = f.read()
	with concurrent.futures.ThreadPoolExecutor(3) as pool:
	    assert all(got == wanted for got in pool.map(fetch, range(6)))
	print("the same")
	PY
	over_rove pair -S any -r cm:8000 -- env "LD_PRELOAD=$PROGRAM:$lib" \
		python3 -m http.server --bind "$IP_A" -d "$T/www" 8000 \
		-- env "LD_PRELOAD=$PROGRAM:$lib" python3 "$T/fetch.py" "http://$IP_A:8000/file" "$T/www/file" &&
		client_says "the same"
}

t "ucx_info shows the device" ucx_info
for kind in v4 v6; do
	t "UCX over UD, GID of kind $kind: tag_lat" ucx ud_verbs "$kind" tag_lat -s 1000
	t "UCX over RC, GID of kind $kind: tag_lat" ucx "$RC" "$kind" tag_lat -s 1000
done
for name in tag_bw ucp_am_bw stream_bw; do
	t "UCX over UD: $name of 100 kB" ucx ud_verbs v4 "$name" -s 100000
	t "UCX over RC: $name of 100 kB" ucx "$RC" v4 "$name" -s 100000
done
for name in ucp_put_bw ucp_get ucp_fadd ucp_cswap; do
	t "UCX over UD: $name" ucx ud_verbs v4 "$name"
done
# With RC, UCP's own one-sided tests want to flush the peer's memory in a way that UCX
# has for ConnectX only; its transport alone does without.
t "UCX's transport RC: put_bw, copied" uct rc_verbs put_bw -D bcopy -s 1000
t "UCX's transport RC: put_bw, in place" uct rc_verbs put_bw -D zcopy -s 100000
t "UCX's transport RC: get, in place" uct rc_verbs get -D zcopy -s 100000
t "UCX's transport RC: am_bw, in place" uct rc_verbs am_bw -D zcopy -s 4000
t "UCX's transport RC: fadd" uct rc_verbs fadd
t "UCX's transport RC: cswap" uct rc_verbs cswap
t "UCX's transport UD: am_lat" uct ud_verbs am_lat

t "Open MPI over RC: 8 processes" mpi "$RC,self" 8 2
t "Open MPI over UD: 4 processes, one-sided too" mpi ud_verbs,self 4 2 windows

t "fi_info shows the device" fabric_info
t "libfabric: connections" fabric -p verbs -e msg
t "libfabric: reliable datagrams over connections" fabric -p "verbs;ofi_rxm" -e rdm
t "libfabric: tagged messages" fabric -p "verbs;ofi_rxm" -e rdm -m tagged
t "libfabric: datagrams" fabric -p verbs -e dgram -S 1024

t "qperf: SEND" qperf_runs rc_bw rc_lat rc_bi_bw
t "qperf: WRITE and READ" qperf_runs rc_rdma_write_bw rc_rdma_write_lat \
	rc_rdma_write_poll_lat rc_rdma_read_bw rc_rdma_read_lat
t "qperf: atomics" qperf_runs rc_compare_swap_mr rc_fetch_add_mr
t "qperf: atomics, results verified" qperf_runs ver_rc_compare_swap ver_rc_fetch_add
for name in write read send; do
	t "fio: $name" fio_over "$name"
done

t "rcopy copies a file" rcopy_file
t "a web server over rsockets" web
t "nothing is left" leaves_nothing
run_tests
