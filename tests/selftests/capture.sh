#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What is on the wire, read by a decoder that shares nothing with the module.
# Trains are split before the tap, so that it sees packets.

# shellcheck disable=SC2015 # A && B || C: C if one of them is false
# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
DECODE=$SELFTESTS/../interop/decode.py
[ -e "$DECODE" ] || skip_all "no decoder beside the tests"
command -v tcpdump >/dev/null || skip_all "no tcpdump"
need_pair
export PYTHONDONTWRITEBYTECODE=1 SLOW

split_trains() {
	a ethtool -K "$EA" tx-udp-segmentation "$1" >/dev/null &&
		b ethtool -K "$EB" tx-udp-segmentation "$1" >/dev/null
}

# unchanged FILE: what is still on its way to it has arrived.
unchanged() {
	local size

	size=$(stat -c %s "$1")
	sleep 0.2
	[ "$size" = "$(stat -c %s "$1")" ]
}

# captured FILE COMMAND...
captured() {
	local file=$1 status=0 tap
	shift

	split_trains off || return
	: >"$T/tcpdump"
	"${AT_A[@]}" timeout "$((LIMIT * 4))" tcpdump -i "$EA" -s 0 -B 65536 -U \
		--immediate-mode -w "$file" udp port 4791 2>"$T/tcpdump" &
	tap=$!
	wait_until 10 grep -q listening "$T/tcpdump" || { cat "$T/tcpdump"; status=1; }
	"$@" || status=$?
	wait_until 10 unchanged "$file" || { echo "the capture does not end"; status=1; }
	stop "$tap"
	split_trains on
	return "$status"
}

# right FILE COMMAND...: and the decoder has nothing to complain of.
right() {
	local file=$T/$1.pcap
	shift

	captured "$file" "$@" || return
	python3 "$DECODE" "$file" >"$T/decoded" 2>&1 || { head -n 40 "$T/decoded"; return 1; }
	cat "$T/decoded"
	# None of nothing is not right.
	[ "$(sed -n 's/.*"packets": *\([0-9]*\).*/\1/p' "$T/decoded" | tail -n 1)" -gt 10 ]
}

rc_data() {
	local pattern

	for pattern in SEND: "SEND with immediate" WRITE: "WRITE with immediate" "READ:" atomics: mixture; do
		timeout "$LIMIT" python3 "$SELFTESTS/rc_verbs.py" "$RA" "$RB" "$GID_A" "$GID_B" "$pattern" ||
			return
	done
}

# Every opcode that programs can bring about was seen.
every_opcode() {
	local opcode missing=0

	right opcodes rc_data || return
	for opcode in SEND_FIRST SEND_MIDDLE SEND_LAST SEND_ONLY SEND_ONLY_IMM WRITE_FIRST \
		WRITE_MIDDLE WRITE_LAST WRITE_LAST_IMM WRITE_ONLY WRITE_ONLY_IMM READ_REQUEST \
		READ_RESPONSE_FIRST READ_RESPONSE_MIDDLE READ_RESPONSE_LAST READ_RESPONSE_ONLY \
		ACK ATOMIC_ACK CMP_SWAP FETCH_ADD; do
		grep -q "RC_$opcode\"" "$T/decoded" || { echo "no $opcode"; missing=1; }
	done
	return "$missing"
}

errors() {
	timeout "$LIMIT" python3 "$SELFTESTS/rc_verbs.py" "$RA" "$RB" "$GID_A" "$GID_B" "with a wrong key" &&
		timeout "$LIMIT" python3 "$SELFTESTS/rc_verbs.py" "$RA" "$RB" "$GID_A" "$GID_B" "no receive posted"
}

pingpong() {
	local tool=$1 kind=$2
	shift 2

	pair -- "$tool" -d "$RA" -g "$(gid_index "$RA" "$kind")" -n 100 "$@" \
		-- "$tool" -d "$RB" -g "$(gid_index "$RB" "$kind")" -n 100 "$@" "$IP_A"
}

connection() {
	pair -r "cm:$RPING_PORT" -- rping -s -a "$IP_A" -C 20 -V -S 5001 -- rping -c -a "$IP_A" -C 20 -V -S 5001
}

small_messages() {
	pair -- ib_write_bw -F -d "$RA" -x "$GID_A" -s 9 -n 2000 -- ib_write_bw -F -d "$RB" -x "$GID_B" -s 9 -n 2000 "$IP_A"
}

# tshark's own reading: nothing malformed.
by_tshark() {
	local bad

	command -v tshark >/dev/null || skip "no tshark"
	captured "$T/tshark.pcap" pingpong ibv_rc_pingpong v4 -s 3001 || return
	bad=$(tshark -r "$T/tshark.pcap" -Y _ws.malformed 2>"$T/said" | head -n 5)
	[ -n "$(tshark -r "$T/tshark.pcap" -c 5 -Y infiniband 2>/dev/null)" ] || skip "this tshark does not decode RoCE"
	echo "$bad"
	[ -z "$bad" ]
}

t "the decoder checks itself" python3 "$DECODE" --self-test
t "every opcode of RC" every_opcode
t "errors: NAK and RNR" right errors errors
for kind in v4 v6 ll; do
	t "ibv_rc_pingpong, GID of kind $kind" right "rc-$kind" pingpong ibv_rc_pingpong "$kind" -s 5001
	t "ibv_ud_pingpong, GID of kind $kind" right "ud-$kind" pingpong ibv_ud_pingpong "$kind" -s 1001
done
for mtu in 256 512 1024 2048 4096; do
	t "path MTU $mtu" right "mtu-$mtu" pingpong ibv_rc_pingpong v4 -s 16411 -m "$mtu"
done
t "small messages in trains" right small small_messages
t "connections by librdmacm" right cm connection
t "tshark finds nothing malformed" by_tshark
run_tests
