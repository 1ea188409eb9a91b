#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Hostile packets while traffic runs: every one is dropped and counted under
# its own name, and the traffic does not notice.  See attack.py.

# shellcheck disable=SC2015 # A && B || C: C if one of them is false
# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
[ -e "$SELFTESTS/../interop/decode.py" ] || skip_all "no decoder beside the tests"
need_pair
export PYTHONDONTWRITEBYTECODE=1

LONG=8
[ -z "$QUICK" ] || LONG=4

received() { a cat "/sys/class/net/$EA/statistics/rx_bytes"; }
data_flows() { [ $(($(received) - FIRST)) -gt 100000 ]; }

# during COMMAND...: with a writer from B to A; STATUS_OF is that of the writer.
during() {
	local busy status=0

	start_server "tcp:$PERFTEST_PORT" "$((LIMIT * 4))" ib_write_bw -F -d "$RA" -x "$GID_A" \
		-D $((LONG + 6)) || return
	FIRST=$(received)
	"${AT_B[@]}" timeout -k 2 "$((LIMIT * 4))" ib_write_bw -F -d "$RB" -x "$GID_B" \
		-D $((LONG + 6)) "$IP_A" >"$T/client" 2>&1 &
	busy=$!
	wait_until 20 data_flows || { echo "no data flows"; status=1; }
	"$@" || status=1
	TRAFFIC=0
	wait "$busy" || TRAFFIC=$?
	[ "$TRAFFIC" = 0 ] || stop "$SERVER"
	wait "$SERVER"
	return "$status"
}

# attack KIND: from B's own address, at the queue pairs of A.
attack() {
	local -a at
	local to=$IP_A

	mapfile -t at < <(qpns)
	[ ${#at[@]} -gt 0 ] || { echo "no queue pair in use at A"; return 1; }
	[ "$1" != noise6 ] || to=$IP6_A
	b timeout -k 2 "$LIMIT" python3 "$SELFTESTS/attack.py" "$1" "$LONG" "$IP_B" "$to" "${at[@]}" |
		tee "$T/sent"
	awk '$2 < 100 { bad = 1 } END { exit bad || !NR }' "$T/sent"
}

# unharmed KIND COUNTER...: each of the counters rises.
unharmed() {
	local kind=$1 name was bad=0
	shift

	counters_of "$RA" >"$T/before"
	during attack "$kind" || return
	[ "$TRAFFIC" = 0 ] || { echo "the traffic suffered:"; cat "$T/client" "$T/server"; return 1; }
	for name in "$@"; do
		was=$(awk -v name="$name" '$1 == name { print $2 }' "$T/before")
		echo "$name: ${was:-(none)} before, $(counter "$RA" "$name") after"
		[ "$(counter "$RA" "$name")" -gt "$was" ] || bad=1
	done
	return "$bad"
}

# From the peer's address a packet may be taken for the peer's: the connection
# may break, and nothing else.
as_the_peer() {
	during attack peer || return
	echo "the connection ended with $TRAFFIC"
	[ "$(status_text "$TRAFFIC")" != crashed ]
}

rises() { [ "$TYPE" != rove ] || echo "$@"; }

# shellcheck disable=SC2046 # words
{
	t "all opcodes, pads, versions" unharmed headers $(rises drop_opcode drop_qpn drop_version)
	t "lengths from 0 to 60" unharmed lengths $(rises drop_short)
	t "wrong ICRC" unharmed icrc $(rises drop_icrc)
	t "impossible RDMA headers" unharmed reth
	t "queue pairs that are not there" unharmed qpn $(rises drop_qpn)
	t "strangers at queue pairs that are there" unharmed stranger $(rises drop_addr)
	t "noise over IPv6" unharmed noise6 $(rises drop_short)
	t "as if from the peer" as_the_peer
	t "connections work afterwards" works_again
	t "nothing is left" leaves_nothing
}
run_tests
