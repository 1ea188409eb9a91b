#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Against rdma_rxe, both ways: the wire as somebody else reads it.  Needs rove
# at A and rxe at B, which the lab makes as topology "mixed".
#
# The tests by verbs are those that rove has with itself.  What rxe does in another way at
# its own end is in interop.skips.

# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
[ "${LAB_TOPOLOGY:-}" = mixed ] || skip_all "needs rxe at the other end (topology mixed)"
need_pair

COUNT=200
[ -z "$QUICK" ] || COUNT=20

# swapped COMMAND...: the server at rxe, the client at rove.
swapped() {
	local -a at=("${AT_A[@]}")
	local link=$RA gid=$GID_A na=$NA netdev=$EA

	NA=$NB NB=$na
	EA=$EB EB=$netdev
	RXE=answers
	AT_A=("${AT_B[@]}") AT_B=("${at[@]}")
	RA=$RB RB=$link
	GID_A=$GID_B GID_B=$gid
	TO=$IP_B
	"$@"
}
TO=$IP_A
RXE=asks

perftest() {
	local tool=$1
	shift

	pair -t 120 -- "$tool" -F -d "$RA" -x "$GID_A" "$@" -- "$tool" -F -d "$RB" -x "$GID_B" "$@" "$TO"
}

every_size() {
	local size

	for size in 1 2 3 31 32 33 255 1023 1024 1025 4095 4096 4097 65537; do
		perftest "$1" -s "$size" -n 50 || { echo "size $size"; return 1; }
	done
}

over_cm() {
	local tool=$1
	shift

	pair -t 60 -r "cm:$PERFTEST_PORT" -- "$tool" -F -d "$RA" -R "$@" \
		-- "$tool" -F -d "$RB" -R "$@" "$TO"
}

ping() {
	pair -t 60 -r "cm:$RPING_PORT" -- rping -s -a "$TO" -V "$@" -- rping -c -a "$TO" -V "$@"
}

pingpong() {
	local tool=$1
	shift

	pair -- "$tool" -d "$RA" -g "$GID_A" -c "$@" -- "$tool" -d "$RB" -g "$GID_B" -c "$@" "$TO"
}

verified() {
	by_verbs verify.py "$1"
}

# verbs PROGRAM: all its tests, but those that rxe fails by itself.  Who asks is at B.
verbs() {
	local program=$1 status=0

	has_pyverbs || skip "no pyverbs"
	awk -F '\t+' -v OFS='\t' -v rxe="$RXE" -v program="$program" \
		'!/^#/ && $1 == rxe && $2 == program { print $3, $4 }' \
		"$SELFTESTS/interop.skips" >"$T/left_out"
	LEFT_OUT=$T/left_out SLOW=$SLOW NA=$NB EA=$EB PYTHONDONTWRITEBYTECODE=1 \
		timeout -k 5 $((150 * SLOW)) python3 "$SELFTESTS/$program" \
		"$RB" "$RA" "$GID_B" "$GID_A" >"$T/verbs" 2>&1 || status=$?
	cat "$T/verbs"
	echo "$(grep '^ok' "$T/verbs" | grep -vc '# SKIP') tests went well"
	[ "$status" = 0 ] && grep '^ok' "$T/verbs" | grep -vq '# SKIP'
}

for way in "" swapped; do
	to="rxe to rove"
	[ -z "$way" ] || to="rove to rxe"
	for tool in ib_write_bw ib_read_bw ib_send_bw; do
		t "$to: $tool, every size" $way every_size "$tool"
		t "$to: $tool -a" $way perftest "$tool" -a -n 5
	done
	for kind in FETCH_AND_ADD CMP_AND_SWAP; do
		t "$to: ib_atomic_bw, $kind" $way perftest ib_atomic_bw -A "$kind" -n "$COUNT"
	done
	for tool in ib_write_lat ib_read_lat ib_send_lat ib_atomic_lat; do
		t "$to: $tool" $way perftest "$tool" -n "$COUNT"
	done
	for tool in ib_write_bw ib_read_bw ib_send_bw; do
		t "$to: $tool -R" $way over_cm "$tool" -n "$COUNT"
		t "$to: $tool -q 8 -b" $way perftest "$tool" -q 8 -b -n "$COUNT"
	done
	t "$to: ib_send_bw -c UD" $way perftest ib_send_bw -c UD -s 1024 -n "$COUNT"
	for tool in ib_write_bw ib_send_bw ib_write_lat ib_send_lat; do
		t "$to: $tool -c UC" $way perftest "$tool" -c UC -n "$COUNT"
	done
	t "$to: ibv_uc_pingpong" $way pingpong ibv_uc_pingpong -s 16411 -n "$COUNT"
	t "$to: rping" $way ping -C "$COUNT"
	t "$to: rping of 65535 bytes" $way ping -S 65535 -C 20
	t "$to: rping of 4097 bytes" $way ping -S 4097 -C 20
	for mtu in 256 512 1024 2048 4096; do
		t "$to: ibv_rc_pingpong at path MTU $mtu" $way pingpong ibv_rc_pingpong -s 16411 -n 100 -m "$mtu"
	done
	for program in rc_verbs.py datagram.py srq.py memory.py; do
		t "$to: ${program%.py}, every test" $way verbs "$program"
	done
	t "$to: ibv_ud_pingpong" $way pingpong ibv_ud_pingpong -n "$COUNT"
	t "$to: all operations verified" $way verified "$((COUNT / 20))"
done
t "nothing is left" leaves_nothing

run_tests
