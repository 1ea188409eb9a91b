#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# perftest: bandwidth and latency tools with the options that people use.  They
# check no data, but every option takes another path through post and poll.

# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
need_pair

ITERATIONS=1000
[ -z "$QUICK" ] || ITERATIONS=100
LONG=60

# perftest TOOL OPTION...: with -F, since the tools would have us set the
# clock rate.
perftest() {
	local tool=$1
	shift

	pair -t "$LONG" -- "$tool" -F -d "$RA" -x "$GID_A" "$@" \
		-- "$tool" -F -d "$RB" -x "$GID_B" "$@" "$IP_A" && has_results 1
}

# over_cm TOOL OPTION...: connected by librdmacm. The tools crash when their second connection
# comes before the server listens again: their own race, which is no reason to give up.
over_cm() {
	local tool=$1 i
	shift

	for i in {1..5}; do
		pair -t "$LONG" -r "cm:$PERFTEST_PORT" -- "$tool" -F -d "$RA" -R "$@" \
			-- "$tool" -F -d "$RB" -R "$@" "$IP_A" && has_results 1 && return
		grep -q 'RDMA_CM_EVENT_REJECTED; error: 8' "$T/client" || return
		echo "try $i: the server did not listen"
	done
	return 1
}

# over_uc TOOL OPTION...: waits for all that was sent, and between two hosts some may be lost.
over_uc() {
	[ "${LAB_TOPOLOGY:-}" = two ] && skip "what is lost is not sent again"
	perftest "$@"
}

# all_sizes TOOL OPTION...: from 2 bytes to 8 MiB.
all_sizes() {
	perftest "$@" -a -n "$([ -n "$QUICK" ] && echo 5 || echo 20)" && has_results 23
}

# has_results COUNT: lines of numbers that the client printed ("inf" where it does
# not trust the clock).
has_results() {
	local lines

	lines=$(grep -cE '^ *[0-9]+ +[0-9]+ +([0-9.]+|inf)' "$T/client")
	[ "$lines" -ge "$1" ] && return
	echo "$lines lines of results, not $1:"
	cat "$T/client"
	return 1
}

# Cut off in the middle: neither end may leave anything, nor hang.
cut_off() {
	local tool=$1 status=0 busy
	shift

	start_server "tcp:$PERFTEST_PORT" "$((LIMIT * 2))" "$tool" -F -d "$RA" -x "$GID_A" \
		--run_infinitely "$@" || return
	"${AT_B[@]}" timeout -k 2 "$((LIMIT * 2))" "$tool" -F -d "$RB" -x "$GID_B" \
		--run_infinitely "$@" "$IP_A" >"$T/client" 2>&1 &
	busy=$!
	if ! wait_until 10 data_flows; then
		echo "no data flows; the client said:"
		cat "$T/client"
		status=1
	fi
	kill -INT "$busy"
	wait_until 10 gone "$busy" || { echo "the client does not end"; status=1; }
	kill -INT "$SERVER"
	wait_until 10 gone "$SERVER" || { echo "the server does not end"; status=1; }
	stop "$busy"
	stop "$SERVER"
	[ "$status" = 0 ] && leaves_nothing
}

gone() {
	! kill -0 "$1" 2>/dev/null
}

# More than what set-up sends. Rove's own counter also has what takes no netdev.
data_flows() {
	local bytes

	bytes=$({
		"${AT_A[@]}" cat "/sys/class/net/$EA/statistics/rx_bytes" \
			/sys/class/net/lo/statistics/rx_bytes
		cat "/sys/class/infiniband/$RA/ports/1/hw_counters/rx_bytes" 2>/dev/null
	} | awk '{ sum += $1 } END { print sum }')
	FIRST=${FIRST:-$bytes}
	[ "$((bytes - FIRST))" -gt 100000 ]
}

# side_by_side QPS: so many queue pairs of one process, with WRITEs all the time: none is
# left behind, and the local stack, whose queues are short, drops nothing.
side_by_side() {
	local all least most

	gcc -O2 -o "$T/many" "$SELFTESTS/../../tools/bench/many.c" -libverbs || return
	counters_of "$RA" >"$T/before.a"
	counters_of "$RB" >"$T/before.b"
	timeout "$LONG" "$T/many" -q "$1" -d 4 -t 2 -g "$GID_A" "$RA" "$RB" >"$T/many.out" || return
	read -r all least most <"$T/many.out"
	echo "$all a second, the slowest $least, the fastest $most"
	awk -v least="$least" -v most="$most" 'BEGIN { exit !(4 * least >= most) }' || return
	no_rise "$RA" "$T/before.a" tx_dropped && no_rise "$RB" "$T/before.b" tx_dropped
}

for tool in ib_write_bw ib_read_bw ib_send_bw ib_write_lat ib_read_lat ib_send_lat; do
	t "$tool -a" all_sizes "$tool"
done
for tool in ib_atomic_bw ib_atomic_lat; do
	for kind in FETCH_AND_ADD CMP_AND_SWAP; do
		t "$tool, $kind" perftest "$tool" -A "$kind" -n "$ITERATIONS"
	done
done
for tool in ib_write_bw ib_read_bw ib_send_bw ib_atomic_bw ib_write_lat ib_read_lat ib_send_lat \
	ib_atomic_lat; do
	t "$tool -R" over_cm "$tool" -n "$ITERATIONS"
done
# The tools refuse events for WRITE.
for tool in ib_read_bw ib_send_bw ib_atomic_bw ib_read_lat ib_send_lat; do
	t "$tool -e" perftest "$tool" -e -n "$ITERATIONS"
done
for tool in ib_write_bw ib_read_bw ib_send_bw ib_atomic_bw; do
	t "$tool -q 16" perftest "$tool" -q 16 -n "$ITERATIONS"
	t "$tool -t 1" perftest "$tool" -t 1 -n "$ITERATIONS"
	t "$tool -t 128" perftest "$tool" -t 128 -n "$ITERATIONS"
	t "$tool -b" perftest "$tool" -b -n "$ITERATIONS"
done
t "512 queue pairs side by side" side_by_side 512
t "ib_write_bw -l 8, lists of requests" perftest ib_write_bw -l 8 -n "$((ITERATIONS / 8 * 8))"
t "ib_write_bw, 8 bytes" perftest ib_write_bw -s 8 -n "$ITERATIONS"
t "ib_write_bw, inline" perftest ib_write_bw -s 32 -I 64 -n "$ITERATIONS"
t "ib_send_bw, inline" perftest ib_send_bw -s 32 -I 64 -n "$ITERATIONS"
t "ib_write_bw, one completion for each" perftest ib_write_bw -Q 1 -n "$ITERATIONS"
t "ib_send_bw -c UD" perftest ib_send_bw -c UD -s 2048 -n "$ITERATIONS"
t "ib_send_lat -c UD" perftest ib_send_lat -c UD -s 2048 -n "$ITERATIONS"
for tool in ib_write_bw ib_send_bw ib_write_lat ib_send_lat; do
	t "$tool -c UC" over_uc "$tool" -c UC -n "$ITERATIONS"
	t "$tool -c UC, 8 bytes" over_uc "$tool" -c UC -s 8 -n "$ITERATIONS"
done
t "ib_send_lat -c UD -e" perftest ib_send_lat -c UD -e -s 64 -n "$ITERATIONS"
for tool in ib_write_bw ib_read_bw ib_send_bw ib_atomic_bw; do
	t "$tool --run_infinitely, cut off" cut_off "$tool"
done
t "nothing is left" leaves_nothing
run_tests
