#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# On a clean wire nothing is ever sent twice.

# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
need_pair
[ "$TYPE" = rove ] || skip_all "the counters are those of rove"

SECONDS_LONG=30
[ -z "$QUICK" ] || SECONDS_LONG=5
readonly REPEATS=(retransmits timeouts retry_exceeded duplicates out_of_sequence nak_seq_rcvd
	nak_seq_sent reads_resumed)

# A guest whose CPU stands still for 100 ms repeats, and rightly so; that does not
# happen twice in a row.
# without_repeats COMMAND...
without_repeats() {
	has_no_repeats "$@" || { echo "once more:"; has_no_repeats "$@"; }
}

has_no_repeats() {
	counters_of "$RA" >"$T/before.a"
	counters_of "$RB" >"$T/before.b"
	"$@" || return
	no_rise "$RA" "$T/before.a" "${REPEATS[@]}" && no_rise "$RB" "$T/before.b" "${REPEATS[@]}"
}

perftest() {
	local tool=$1
	shift

	pair -t 60 -- "$tool" -F -d "$RA" -x "$GID_A" "$@" -- "$tool" -F -d "$RB" -x "$GID_B" "$@" "$IP_A"
}

# A guest may stand still for 100 ms, and its programs for longer: no timer is to run
# out for that (those of the other tests are shorter), no receive queue to run dry.
readonly PATIENT=(-u 17) RECEIVES=(-r 4096)

for tool in ib_send_bw ib_write_bw ib_read_bw; do
	more=()
	[ "$tool" != ib_send_bw ] || more=("${RECEIVES[@]}")
	t "$tool for $((SECONDS_LONG / 3)) s on 8 queue pairs" \
		without_repeats perftest "$tool" -D "$((SECONDS_LONG / 3))" -q 8 "${PATIENT[@]}" "${more[@]}"
done
t "ib_send_bw for $SECONDS_LONG s, both ways" without_repeats perftest ib_send_bw -D "$SECONDS_LONG" -q 8 -b \
	"${PATIENT[@]}" "${RECEIVES[@]}"
t "ib_atomic_bw" without_repeats perftest ib_atomic_bw -n 5000 -q 4
t "ib_write_bw, small messages" without_repeats perftest ib_write_bw -s 8 -n 50000
t "ib_write_lat" without_repeats perftest ib_write_lat -n 5000
t "rping" without_repeats pair -r "cm:$RPING_PORT" -- rping -s -a "$IP_A" -V -C 200 \
	-- rping -c -a "$IP_A" -V -C 200
t "ibv_rc_pingpong of 1 MiB" without_repeats pair -- \
	ibv_rc_pingpong -d "$RA" -g "$GID_A" -s 1048576 -n 100 -- \
	ibv_rc_pingpong -d "$RB" -g "$GID_B" -s 1048576 -n 100 "$IP_A"
run_tests
