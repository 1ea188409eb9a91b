#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What can be set of a link, and that it applies: the way to a peer on the same host, UDP
# checksums, who sees what is posted.

# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
need_pair

WAKEUPS=5
[ -z "$QUICK" ] || WAKEUPS=2
SETTINGS=/sys/class/infiniband/$RA/ports/1/settings

# with SETTING VALUE COMMAND...
with() {
	local file=$SETTINGS/$1 before status=0

	before=$(cat "$file") && put "$2" "$file" || return
	"${@:3}" || status=$?
	put "$before" "$file"
	return "$status"
}

put() { echo "$1" >"$2"; }

refuses() {
	! put "$1" "$2" 2>/dev/null || { echo "'$1' was taken"; return 1; }
}

defaults() {
	local name

	for name in same_host udp_csum; do
		[ "$(cat "$SETTINGS/$name")" = 1 ] || { echo "$name is not on"; return 1; }
		refuses 2 "$SETTINGS/$name" && refuses "" "$SETTINGS/$name" || return
		with "$name" off grep -qx 0 "$SETTINGS/$name" || { echo "$name stays on"; return 1; }
	done
}

# A to itself, both ends with one device.
itself() {
	AT_B=("${AT_A[@]}")
	RB=$RA GID_B=$GID_A "$@"
}

pingpong() {
	pair -- ibv_rc_pingpong -d "$RA" -g "$GID_A" -c "$@" \
		-- ibv_rc_pingpong -d "$RB" -g "$GID_B" -c "$@" "$IP_A"
}

write_and_read() {
	local tool

	for tool in ib_write_bw ib_read_bw ib_atomic_bw ib_send_bw; do
		pair -t 60 -- "$tool" -F -d "$RA" -x "$GID_A" -n 5000 \
			-- "$tool" -F -d "$RB" -x "$GID_B" -n 5000 "$IP_A" || return
	done
}

# trains_of COMMAND...: how many trains, and how many packets it sent.
trains_of() {
	local trains packets

	trains=$(counter "$RA" tx_trains)
	packets=$(counter "$RA" tx_packets)
	"$@" || return
	TRAINS=$(($(counter "$RA" tx_trains) - trains))
	PACKETS=$(($(counter "$RA" tx_packets) - packets))
	echo "$PACKETS packets in $TRAINS trains"
}

called() {
	trains_of pingpong -n 200 && [ "$TRAINS" = 0 ] && [ "$PACKETS" -gt 400 ] &&
		trains_of write_and_read && [ "$TRAINS" = 0 ]
}

over_loopback() {
	trains_of pingpong -n 200 && [ "$TRAINS" -gt 200 ] && trains_of write_and_read &&
		[ "$TRAINS" -gt 200 ]
}

# toggled SETTING COMMAND...: on and off under what COMMAND does, which is done again until
# that was often enough.
toggled() {
	local busy i

	rm -f "$T/enough"
	{
		until [ -e "$T/enough" ]; do
			"${@:2}" || exit
		done
	} &
	busy=$!
	for ((i = 0; i < 40; i++)); do
		kill -0 "$busy" 2>/dev/null || break
		put $((i % 2)) "$SETTINGS/$1"
		sleep "0.0$((RANDOM % 9))"
	done
	put 1 "$SETTINGS/$1"
	touch "$T/enough"
	wait "$busy" || return
	echo "toggled $i times"
	[ "$i" = 40 ]
}

single_packets() {
	trains_of pingpong -n 50 -s 65536 && [ "$TRAINS" = "$PACKETS" ]
}

# On one host packets cannot be told by who sends them.
apart() {
	[ "${LAB_TOPOLOGY:-}" != host ] || skip "needs two hosts"
	"$@"
}

# What B sees of A: without checksum, or with.
checksums() {
	local wanted=$1 dump

	: >"$T/tcpdump"
	"${AT_B[@]}" timeout 30 tcpdump -ni "$EB" -s 128 -c 20 -w "$T/dump" "src $IP_A and udp port 4791" \
		2>"$T/tcpdump" &
	dump=$!
	wait_until 10 grep -q listening "$T/tcpdump" || { cat "$T/tcpdump"; return 1; }
	pingpong -n 50 || return
	wait "$dump" || { cat "$T/tcpdump"; return 1; }
	[ "$(tcpdump -nr "$T/dump" "udp[6:2] = 0" 2>/dev/null | grep -c UDP)" = "$wanted" ]
}

# ---- doorbells

engine_settings() {
	local name engine=rove-$EA

	[ "$(cat "$SETTINGS/doorbell" "$SETTINGS/spin_us" | tr '\n' ' ')" = "auto 0 " ] || return
	for name in doorbell:on doorbell: spin_us:1000001 spin_us:-1 engine_cpus: engine_cpus:x \
		engine_cpus:100000; do
		refuses "${name#*:}" "$SETTINGS/${name%%:*}" || return
	done
	with spin_us 500 grep -qx 500 "$SETTINGS/spin_us" || return
	with engine_cpus 1 grep -qx 1 "$SETTINGS/engine_cpus" || return
	with engine_cpus 1 runs_on 1 "$engine" && runs_on "$(cat "$SETTINGS/engine_cpus")" "$engine"
}

# runs_on CPUS NAME: that thread may use just those.
runs_on() {
	[ "$(sed -n 's/^Cpus_allowed_list:\t//p' "/proc/$(pgrep -x "$2")/status")" = "$1" ]
}

# posts_with MODE: how many doorbells and kicks a thousand WRITEs of A took.
posts_with() {
	local rung kicked

	rung=$(counter "$RA" doorbells)
	kicked=$(counter "$RA" kicks)
	with doorbell "$1" pair -- ib_write_bw -F -d "$RB" -x "$GID_B" -n 1000 \
		-- ib_write_bw -F -d "$RA" -x "$GID_A" -n 1000 "$IP_B" || return
	RUNG=$(($(counter "$RA" doorbells) - rung))
	KICKED=$(($(counter "$RA" kicks) - kicked))
	echo "$1: rung $RUNG, kicked $KICKED"
}

# The client is to be A.
from_a() {
	local -a at=("${AT_A[@]}")

	AT_A=("${AT_B[@]}")
	AT_B=("${at[@]}")
	"$@"
}

inline() {
	posts_with inline && [ "$RUNG" = 0 ] && [ "$KICKED" -gt 0 ]
}

# It has to take over first.
polled() {
	posts_with poll && [ "$RUNG" -gt 0 ] && [ "$KICKED" -le 1 ]
}

# Both programs poll on the only CPU that the engine has: no call for most of the posts.
crowded() {
	local watched polled kicked i

	for i in {1..10}; do
		watched=$(counter "$RA" watches)
		polled=$(counter "$RA" polls)
		kicked=$(counter "$RA" kicks)
		with engine_cpus 0 pair -- taskset -c 0 ib_send_bw -F -d "$RB" -x "$GID_B" -s 64 -n 5000 \
			-- taskset -c 0 ib_send_bw -F -d "$RA" -x "$GID_A" -s 64 -n 5000 "$IP_B" || return
		watched=$(($(counter "$RA" watches) - watched))
		polled=$(($(counter "$RA" polls) - polled))
		kicked=$(($(counter "$RA" kicks) - kicked))
		echo "round $i: $watched watches, $polled polls, $kicked kicks"
		((watched + polled > 10 && kicked < 2500)) && return 0
	done
	skip "calls never follow each other closely enough here"
}

# wakeups OPTION...: threads that share a page, and wait each in another way.
wakeups() {
	[ "${LAB_TOPOLOGY:-}" != two ] || skip "needs both ends in one process"
	[ -x "$T/wakeups" ] ||
		gcc -O2 -o "$T/wakeups" "$SELFTESTS/wakeups.c" -libverbs -lpthread || return
	"$T/wakeups" -t "$WAKEUPS" -s "$RANDOM" "$@" -g "$GID_A" -G "$GID_B" "$RA" "$RB"
}

# Where the engine goes to sleep at once, where it need not, and in another way each moment.
nothing_forgotten() {
	with engine_cpus 0 wakeups -T 2 -q 40 && wakeups -T 3 -q 12 && switched wakeups -T 3 -q 12
}

# switched COMMAND...: who sees what is posted changes meanwhile.
switched() {
	local -a modes=(auto inline poll)
	local busy i

	"$@" &
	busy=$!
	for ((i = 0; i < 60; i++)); do
		put "${modes[RANDOM % 3]}" "$SETTINGS/doorbell"
		put "$((RANDOM % 300))" "$SETTINGS/spin_us"
		put "$((RANDOM % 2))" "$SETTINGS/engine_cpus"
		sleep "0.0$((RANDOM % 9))"
	done
	put auto "$SETTINGS/doorbell"
	put 0 "$SETTINGS/spin_us"
	put 0-1 "$SETTINGS/engine_cpus"
	wait "$busy"
}

t "all is on; what is no switch is refused" defaults
t "to itself: called, nothing goes to the stack" itself called
t "to itself with same_host off: over the loopback netdev" itself with same_host 0 over_loopback
t "same_host switched under traffic" itself toggled same_host pingpong -n 3000 -s 65536
t "same_host switched under READs and atomics" itself toggled same_host write_and_read
t "udp_csum on: a checksum in each packet" apart checksums 0
t "udp_csum off: none" apart with udp_csum 0 checksums 20
t "udp_csum off: single packets" apart with udp_csum 0 single_packets
t "udp_csum switched under traffic" toggled udp_csum pingpong -n 3000 -s 65536
t "who sees posts, where and how long: taken and refused" engine_settings
t "doorbell inline: calls only" from_a inline
t "doorbell poll: no calls" from_a polled
t "no CPU for the engine: polls do its work, or a timer" from_a crowded
t "doorbell, CPUs and spinning changed under traffic" switched pingpong -n 20000 -s 2048
t "nothing that was posted is forgotten" nothing_forgotten
t "nothing is left" leaves_nothing
run_tests
