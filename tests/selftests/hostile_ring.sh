#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Programs that scribble over the rings they share with the module: see
# hostile_ring.c.  The kernel log is looked at by whoever runs this.

# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
need_pair
need_program hostile_ring -libverbs -lpthread

LONG=10
[ -z "$QUICK" ] || LONG=5

hostile() {
	ulimit -c 0
	a timeout -k 2 "$((LONG * 4 + LIMIT))" "$PROGRAM" "${@:2}" "$RA" "$GID_A" "$LONG" "$1"
}

# beside SEED [-d]: with somebody else's traffic on the same device.
beside() {
	local status=0 busy

	start_server "tcp:$PERFTEST_PORT" "$((LIMIT * 4))" ib_write_bw -F -d "$RA" -x "$GID_A" -D "$LONG" ||
		return
	"${AT_B[@]}" timeout -k 2 "$((LIMIT * 4))" ib_write_bw -F -d "$RB" -x "$GID_B" -D "$LONG" \
		"$IP_A" >"$T/client" 2>&1 &
	busy=$!
	hostile "$@" || status=1
	wait "$busy" || { echo "the other's traffic suffered:"; cat "$T/client"; status=1; }
	[ "$status" = 0 ] || stop "$SERVER"
	wait "$SERVER"
	return "$status"
}

for seed in 1 2; do
	t "rings scribbled over, seed $seed" hostile "$seed"
	t "connections work, seed $seed" works_again
done
t "rings scribbled over beside another's traffic" beside 3
t "connections work after that" works_again
t "doorbell page scribbled over, polls by call, beside another's traffic" beside 4 -d
t "connections work afterwards" works_again
t "nothing is left" leaves_nothing
run_tests
