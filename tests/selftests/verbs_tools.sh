#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The tools that come with libibverbs.

# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
need_pair

ITERATIONS=1000
[ -z "$QUICK" ] || ITERATIONS=100

devices() {
	local seen

	seen=$(a ibv_devices) || return
	echo "$seen"
	grep -qE "^[[:space:]]*${RA}[[:space:]]+[0-9a-f]{16}" <<<"$seen"
}

# The value of a field that ibv_devinfo -v shows.
field() {
	sed -n "s/^[[:space:]]*$1:[[:space:]]*\([^[:space:]].*\)$/\1/p" "$T/devinfo" | head -n 1
}

# A field that must be there and must not say nothing.
told() {
	local value

	value=$(field "$1")
	case $value in
	"" | 0 | 0x0 | 0x00000000 | 0000:0000:0000:0000 | "0 (0)" | "invalid"*)
		echo "$1 is '$value'"
		return 1
		;;
	esac
}

devinfo() {
	local name bad=0

	a ibv_devinfo -v -d "$RA" >"$T/devinfo" || return
	for name in transport node_guid sys_image_guid vendor_id vendor_part_id \
		phys_port_cnt max_mr_size max_qp max_qp_wr device_cap_flags max_sge \
		max_sge_rd max_cq max_cqe max_mr max_pd max_qp_rd_atom \
		max_qp_init_rd_atom max_ah state max_mtu active_mtu max_msg_sz \
		port_cap_flags gid_tbl_len pkey_tbl_len active_width active_speed \
		phys_state link_layer; do
		told "$name" || bad=1
	done
	return "$bad"
}

# field_is NAME TEXT
field_is() {
	[ -s "$T/devinfo" ] || a ibv_devinfo -v -d "$RA" >"$T/devinfo"
	echo "$1 is '$(field "$1")', wanted '$2'"
	[[ $(field "$1") == "$2"* ]]
}

# The numbers of GIDs that the tool shows are those of the kernel's table.
gids_shown() {
	local port=/sys/class/infiniband/$RA/ports/1 listed known

	a ibv_devinfo -v -d "$RA" >"$T/devinfo" || return
	listed=$(grep -c 'GID\[' "$T/devinfo")
	known=$(cat "$port"/gids/* | grep -vc '^0000:0000:0000:0000:0000:0000:0000:0000$')
	echo "$listed shown, $known in the table"
	[ "$listed" = "$known" ] && [ "$known" -ge "$(have_ipv6 && echo 3 || echo 1)" ]
}

# pingpong TOOL OPTION...
pingpong() {
	local tool=$1
	shift

	pair -- "$tool" -d "$RA" -g "$GID_A" "$@" -- "$tool" -d "$RB" -g "$GID_B" "$@" "$IP_A" &&
		client_says "iters in .* seconds"
}

# with_gid TOOL KIND OPTION...: between the GIDs of that kind.
with_gid() {
	local tool=$1 kind=$2 from to
	shift 2

	[ "$kind" = v4 ] || have_ipv6 || skip "no IPv6 here"
	from=$(gid_index "$RA" "$kind")
	to=$(gid_index "$RB" "$kind")
	echo "kind $kind: GID ${from:-(none)} and ${to:-(none)}"
	pair -- "$tool" -d "$RA" -g "$from" "$@" -- "$tool" -d "$RB" -g "$to" "$@" "$IP_A"
}

# The kernel's own address, which never leaves the host.
to_itself() {
	# shellcheck disable=SC2034 # of lib.sh
	AT_B=("${AT_A[@]}")
	pair -- "$1" -d "$RA" -g "$GID_A" "${@:2}" -- "$1" -d "$RA" -g "$GID_A" "${@:2}" "$IP_A"
}

# What is not there must be refused in words, not by a crash.
refuses() {
	local status=0 words=$1
	shift

	a timeout -k 2 "$LIMIT" "$@" >"$T/said" 2>&1 || status=$?
	cat "$T/said"
	echo "status $status"
	[ "$status" -gt 0 ] && [ "$status" -lt 124 ] && grep -qiE -- "$words" "$T/said"
}

no_odp() {
	a ibv_devinfo -v -d "$RA" | grep -q "ODP_SUPPORT$" &&
		skip "the device has on-demand paging"
	refuses odp ibv_rc_pingpong -d "$RA" -g "$GID_A" -o
}

# An entry of the table that holds no address: the client must say so and end.
unused_gid() {
	start_server "tcp:$PERFTEST_PORT" "$LIMIT" ibv_rc_pingpong -d "$RA" -g "$GID_A" || return
	run_client "$LIMIT" ibv_rc_pingpong -d "$RB" -g 63 "$IP_A"
	cat "$T/client"
	stop "$SERVER"
	[ "$CLIENT_STATUS" = 1 ] && grep -qiE "fail|can't|couldn't" "$T/client"
}

t "ibv_devices" devices
t "ibv_devinfo: no field is empty" devinfo
t "ibv_devinfo: port active" field_is state PORT_ACTIVE
t "ibv_devinfo: MTU of the netdev" field_is active_mtu 4096
t "ibv_devinfo: messages of up to 2 GiB" field_is max_msg_sz 0x80000000
t "ibv_devinfo: Ethernet" field_is link_layer Ethernet
t "ibv_devinfo: GIDs of all addresses" gids_shown

t "ibv_rc_pingpong" pingpong ibv_rc_pingpong -n "$ITERATIONS"
t "ibv_rc_pingpong, data checked" pingpong ibv_rc_pingpong -c -n "$ITERATIONS"
t "ibv_rc_pingpong, events" pingpong ibv_rc_pingpong -c -e -n "$ITERATIONS"
t "ibv_rc_pingpong, ibv_wr_*" pingpong ibv_rc_pingpong -c -N -n "$ITERATIONS"
t "ibv_rc_pingpong, ibv_wr_*, events" pingpong ibv_rc_pingpong -c -N -e -n "$ITERATIONS"
[ "$TYPE" = rxe ] || t "ibv_rc_pingpong, timestamps" pingpong ibv_rc_pingpong -c -t -n "$ITERATIONS"
for size in 1 2 3 31 33 1023 1024 1025 4095 4097 65537; do
	t "ibv_rc_pingpong of $size bytes" pingpong ibv_rc_pingpong -c -n 100 -s "$size"
done
t "ibv_rc_pingpong of 1 MiB" pingpong ibv_rc_pingpong -c -n 20 -s 1048576
for mtu in 256 512 1024 2048 4096; do
	t "ibv_rc_pingpong at path MTU $mtu" pingpong ibv_rc_pingpong -c -n 100 -s 16411 -m "$mtu"
done
t "ibv_rc_pingpong, receive queue of 1" pingpong ibv_rc_pingpong -c -r 1 -n 20
t "ibv_rc_pingpong, receive queue of 1000" pingpong ibv_rc_pingpong -c -r 1000 -n 100
for kind in v4 v6 ll; do
	t "ibv_rc_pingpong, GID of kind $kind" with_gid ibv_rc_pingpong "$kind" -c -n "$ITERATIONS"
done
t "ibv_rc_pingpong to the own address" to_itself ibv_rc_pingpong -c -n "$ITERATIONS"
t "ibv_rc_pingpong to the own address, events" to_itself ibv_rc_pingpong -c -e -n "$ITERATIONS"
t "ibv_rc_pingpong refuses on-demand paging" no_odp
t "ibv_rc_pingpong refuses a GID behind the table" \
	refuses gid ibv_rc_pingpong -d "$RA" -g 60000
t "ibv_rc_pingpong refuses an empty GID" unused_gid

t "ibv_ud_pingpong" pingpong ibv_ud_pingpong -n "$ITERATIONS"
t "ibv_ud_pingpong, data checked" pingpong ibv_ud_pingpong -c -n "$ITERATIONS"
t "ibv_ud_pingpong, events" pingpong ibv_ud_pingpong -c -e -n "$ITERATIONS"
for size in 1 3 255 1023 2048; do
	t "ibv_ud_pingpong of $size bytes" pingpong ibv_ud_pingpong -c -n 100 -s "$size"
done
for kind in v6 ll; do
	t "ibv_ud_pingpong, GID of kind $kind" with_gid ibv_ud_pingpong "$kind" -c -n 100
done
t "ibv_ud_pingpong to the own address" to_itself ibv_ud_pingpong -c -n 100

t "ibv_uc_pingpong" pingpong ibv_uc_pingpong -n "$ITERATIONS"
t "ibv_uc_pingpong, data checked" pingpong ibv_uc_pingpong -c -n "$ITERATIONS"
t "ibv_uc_pingpong, events" pingpong ibv_uc_pingpong -c -e -n "$ITERATIONS"
for size in 1 3 1023 1025 4097 65537; do
	t "ibv_uc_pingpong of $size bytes" pingpong ibv_uc_pingpong -c -n 100 -s "$size"
done
for kind in v6 ll; do
	t "ibv_uc_pingpong, GID of kind $kind" with_gid ibv_uc_pingpong "$kind" -c -n 100
done
t "ibv_uc_pingpong to the own address" to_itself ibv_uc_pingpong -c -n 100

t "nothing is left" leaves_nothing
run_tests
