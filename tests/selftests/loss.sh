#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Loss, reordering, duplication and corruption, with the data verified: with
# trains, of which netem then drops whole ones, and with single packets.

# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
need_pair
a tc qdisc add dev "$EA" root netem loss 0% 2>/dev/null || skip_all "no netem"
a tc qdisc del dev "$EA" root

need_program linger -shared -fPIC -ldl
LINGER=$PROGRAM

COUNT=200
[ -z "$QUICK" ] || COUNT=20

both() {
	a "${@//@/$EA}" && b "${@//@/$EB}"
}

calm() {
	both tc qdisc del dev @ root 2>/dev/null
	both ethtool -K @ tx-udp-segmentation on >/dev/null
}

# disturb NETEM...: at both ends, all but the request to disconnect of the CM.
# A program that exits takes its repeats along (cm_destroy_id), so that one lost
# packet would leave its peer waiting for ever, with any driver.
disturb() {
	# shellcheck disable=SC2046 # words
	both tc qdisc add dev @ root handle 1: prio bands 2 priomap $(yes 1 | head -n 16) &&
		both tc qdisc add dev @ parent 1:2 netem limit 20000 "$@" &&
		both tc filter add dev @ parent 1: protocol ip u32 \
			match u16 4791 0xffff at 22 match u8 0x64 0xff at 28 \
			match u16 0x0015 0xffff at 64 flowid 1:1
}

# disturbed TRAINS NETEM(with + for spaces) COMMAND...
disturbed() {
	local trains=$1 how=${2//+/ } status=0
	shift 2

	trap calm EXIT
	both ethtool -K @ tx-udp-segmentation "$trains" >/dev/null || return
	# shellcheck disable=SC2086 # words
	disturb $how || return
	counters_of "$RA" >"$T/before"
	counters_of "$RB" >>"$T/before"
	"$@" || status=$?
	tell_repeats
	calm
	trap - EXIT
	return "$status"
}

tell_repeats() {
	local dev

	[ "$TYPE" = rove ] || return 0
	for dev in "$RA" "$RB"; do
		echo "$dev: retransmits $(counter "$dev" retransmits), timeouts $(counter "$dev" timeouts)," \
			"out of sequence $(counter "$dev" out_of_sequence), ICRC $(counter "$dev" drop_icrc)"
	done
}

rping_verified() {
	pair -t 120 -r "cm:$RPING_PORT" -- rping -s -a "$IP_A" -V -S "$1" -C "$COUNT" \
		-- rping -c -a "$IP_A" -V -S "$1" -C "$COUNT"
}

# Neither goes before the other has all its acknowledgements: see linger.c.
pingpong() {
	local -a with=(env "LINGER=$T/linger.d" "LD_PRELOAD=$LINGER")

	rm -rf "$T/linger.d"
	mkdir "$T/linger.d" || return
	pair -t 120 -- "${with[@]}" ibv_rc_pingpong -d "$RA" -g "$GID_A" -c "$@" \
		-- "${with[@]}" ibv_rc_pingpong -d "$RB" -g "$GID_B" -c "$@" "$IP_A"
}

bandwidth() {
	local tool=$1
	shift

	pair -t 120 -- "$tool" -F -d "$RA" -x "$GID_A" "$@" -- "$tool" -F -d "$RB" -x "$GID_B" "$@" "$IP_A"
}

verified() {
	by_verbs -t 120 verify.py "$1"
}

# Packets that were kept for later find their memory gone when it is their turn.
stolen() {
	has_pyverbs || skip "no pyverbs"
	by_verbs -t 120 odp.py "pages taken away all the time"
}

# The disturbance was there, and was noticed.
repeats_seen() {
	local sum

	[ "$TYPE" = rove ] || skip "the counters are those of rove"
	sum=$(($(counter "$RA" retransmits) + $(counter "$RB" retransmits)))
	echo "$sum packets were sent again"
	[ "$sum" -gt 0 ]
}

corruption_seen() {
	local sum

	[ "$TYPE" = rove ] || skip "the counters are those of rove"
	sum=$(($(counter "$RA" drop_icrc) + $(counter "$RB" drop_icrc)))
	echo "$sum packets with a wrong ICRC"
	[ "$sum" -gt 0 ]
}

# all_of NAME TRAINS NETEM
all_of() {
	local name=$1 trains=$2 how=$3

	t "$name: rping -V" disturbed "$trains" "$how" rping_verified 64
	t "$name: rping -V -S 65535" disturbed "$trains" "$how" rping_verified 65535
	t "$name: ibv_rc_pingpong" disturbed "$trains" "$how" pingpong -n "$COUNT" -s 4097
	t "$name: ibv_rc_pingpong, 256 KiB" disturbed "$trains" "$how" pingpong -n "$((COUNT / 4))" -s 262144
	t "$name: all operations verified" disturbed "$trains" "$how" verified "$((COUNT / 20))"
}

for trains in on off; do
	all_of "1 % loss, trains $trains" "$trains" loss+1%
	all_of "5 % reordered, trains $trains" "$trains" delay+1ms+reorder+95%
done
for tool in ib_write_bw ib_send_bw; do
	t "1 % loss, trains off: $tool" disturbed off loss+1% bandwidth "$tool" -n "$((COUNT * 5))"
done
t "1 % loss, trains off: ib_read_bw of 8 MiB" disturbed off loss+1% bandwidth ib_read_bw -s 8388608 -n 20 -t 2
t "1 % loss, trains off: ib_atomic_bw" disturbed off loss+1% bandwidth ib_atomic_bw -n "$COUNT"
for trains in on off; do
	t "1 % loss, trains $trains: pages taken away under traffic" disturbed "$trains" loss+1% stolen
done
t "1 % loss both ways was felt" repeats_seen
all_of "reordered and duplicated, trains off" off delay+1ms+reorder+25%+duplicate+5%
all_of "1 % corrupted, trains off" off corrupt+1%
t "corrupted packets were counted" corruption_seen
t "nothing is left" leaves_nothing
run_tests
