#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What happens to connections when the netdev goes down, the peer vanishes, or
# the link is deleted under them.

# shellcheck disable=SC2015 # A && B || C: C if one of them is false
# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
need_pair

FLAPS=20
CROWD=300
[ -z "$QUICK" ] || { FLAPS=3; CROWD=60; }

port_is() { rdma link show "$1/1" | grep -q "state $2 "; }
gone() { ! kill -0 "$1" 2>/dev/null; }

received() { a cat "/sys/class/net/$EA/statistics/rx_bytes"; }
data_flows() { [ $(($(received) - FIRST)) -gt 1000000 ]; }

# start_writer [TIMEOUT]: a writer from B to A that runs until something happens to it: BUSY
# is its process.  With a timeout of 12 (the default) it gives up after some 130 ms.
start_writer() {
	start_server "tcp:$PERFTEST_PORT" "$((LIMIT * 2))" ib_write_bw -F -d "$RA" -x "$GID_A" \
		-u "${1:-12}" -D 60 || return
	FIRST=$(received)
	"${AT_B[@]}" timeout -k 2 "$((LIMIT * 2))" ib_write_bw -F -d "$RB" -x "$GID_B" \
		-u "${1:-12}" -D 60 "$IP_A" >"$T/client" 2>&1 &
	BUSY=$!
	wait_until 20 data_flows && return
	echo "no data flows; the client said:"
	cat "$T/client"
	stop "$BUSY"
	stop "$SERVER"
	return 1
}

# The writer must end by itself, with the right status, within 5 s.
writer_gives_up() {
	local status=0 begin=$SECONDS

	wait_until 5 gone "$BUSY" || { echo "the client still runs"; stop "$BUSY"; stop "$SERVER"; return 1; }
	echo "ended after $((SECONDS - begin)) s"
	wait "$BUSY" || status=$?
	stop "$SERVER"
	cat "$T/client"
	[ "$(status_text "$status")" = failed ] && grep -qE "status 12|transport retry" "$T/client"
}

# b_down, b_up: addresses of IPv6 go with the netdev, and come back by hand.
b_down() { b ip link set "$EB" down; }
b_up() {
	b ip link set "$EB" up
	b ip addr add "$IP6_B/64" dev "$EB" nodad 2>/dev/null
	wait_until 10 port_is "$RB" ACTIVE && wait_until 10 both_have_gids
}

peer_down() {
	local status=0 watch

	: >"$T/events"
	"${AT_B[@]}" timeout "$((LIMIT * 2))" stdbuf -oL ibv_asyncwatch -d "$RB" >"$T/events" 2>&1 &
	watch=$!
	start_writer || return
	b_down
	writer_gives_up || status=1
	wait_until 5 port_is "$RB" DOWN || { echo "the port is not down"; status=1; }
	wait_until 5 grep -qiE "port.err" "$T/events" || { echo "no port event"; status=1; }
	b_up || status=1
	wait_until 5 grep -qiE "port.active" "$T/events" || { echo "no event for the port's return"; status=1; }
	stop "$watch"
	cat "$T/events"
	return "$status"
}

peer_silent() {
	local status=0

	start_writer || return
	b tc qdisc add dev "$EB" root netem loss 100% || { stop "$BUSY"; stop "$SERVER"; skip "no netem"; }
	writer_gives_up || status=1
	b tc qdisc del dev "$EB" root
	return "$status"
}

# acks NAME [SINCE]: a counter of A, less what it was.
acks() { echo $(($(counter "$RA" "$1") - ${2:-0})); }

# What was under way has come, and B has nothing that it may send.
nothing_flows() {
	local before

	before=$(received)
	sleep 0.1
	[ "$(received)" = "$before" ]
}

# A owes an ACK and has no way to B. It is tried when something came, not all the time; and
# it comes when it can.
no_way_back() {
	local GID_A GID_B status=0 came tried

	GID_A=$(gid_index "$RA" v6) && GID_B=$(gid_index "$RB" v6) || return
	start_writer 18 || return
	a ip route add unreachable "$IP6_B" || { stop "$BUSY"; stop "$SERVER"; return 1; }
	wait_until 5 nothing_flows || { echo "the writer goes on"; status=1; }
	tried=$(acks acks_sent)
	came=$(acks rx_packets)
	# So long it is counted.
	sleep 1
	tried=$(acks acks_sent "$tried")
	came=$(acks rx_packets "$came")
	echo "$came packets came, $tried times an ACK was tried"
	[ "$tried" -le "$((came + 1))" ] || status=1
	a ip route del unreachable "$IP6_B" || status=1
	FIRST=$(received)
	wait_until 20 data_flows || { echo "no data flows again"; status=1; }
	stop "$BUSY"
	stop "$SERVER"
	return "$status"
}

peer_killed() {
	start_writer || return
	# Without a word of farewell, in the middle of it.
	kill -KILL "$(pgrep -P "$SERVER" ib_write_bw || echo "$SERVER")"
	wait_until 10 gone "$BUSY" || { echo "the client still runs"; stop "$BUSY"; return 1; }
	stop "$SERVER"
	leaves_nothing
}

a_flap() {
	a ip link set "$EA" down
	wait_until 5 port_is "$RA" DOWN || { echo "the port is not down"; return 1; }
	sleep "$1"
	a ip link set "$EA" up
	a ip addr add "$IP6_A/64" dev "$EA" nodad 2>/dev/null
	# The peer's netdev may take a second longer, and drops what it is given until then.
	wait_until 10 port_is "$RA" ACTIVE && wait_until 10 port_is "$RB" ACTIVE &&
		wait_until 10 both_have_gids
}

start_rping() {
	"${AT_B[@]}" timeout -k 2 "$((LIMIT * 10))" rping -c -a "$IP_A" -C 0 >"$T/client" 2>&1 &
	BUSY=$!
}

# Connections survive a short absence or end with an error; they never hang,
# and new ones can be made.
flaps() {
	local i

	start_server "cm:$RPING_PORT" "$((LIMIT * 10))" rping -s -P -a 0.0.0.0 || return
	start_rping
	for ((i = 0; i < FLAPS; i++)); do
		a_flap "$((i % 4))" || return
		gone "$BUSY" || continue
		wait "$BUSY"
		start_rping
	done
	stop "$BUSY"
	stop "$SERVER"
	run_client "$LIMIT" true
	# The core does not ask for a neighbour again that the stack has just given up.
	wait_until 10 b ping -q -c 1 -W 1 "$IP_A" >/dev/null
	pair -r "cm:$RPING_PORT" -- rping -s -a "$IP_A" -V -C 10 -- rping -c -a "$IP_A" -V -C 10
}

link_back() {
	a rdma link add "$RA" type "$TYPE" netdev "$EA" && wait_until 10 both_have_gids
}

# within SECONDS COMMAND...
within() {
	local most=$(($1 * SLOW / 2)) begin=$SECONDS
	shift

	timeout "$((most * 10))" "$@" || return
	echo "$*: $((SECONDS - begin)) s"
	[ $((SECONDS - begin)) -le "$most" ]
}

# Deleted with a writer, a CM server and its client on it.
delete_in_use() {
	local status=0 writer writers

	start_writer || return
	writer=$BUSY writers=$SERVER
	start_server "cm:$RPING_PORT" "$((LIMIT * 2))" rping -s -P -a 0.0.0.0 || status=1
	start_rping
	wait_until 5 cm_connected || { echo "rping did not connect"; status=1; }
	within 5 rdma link del "$RA" || { echo "the link was not deleted in time"; status=1; }
	wait_until 10 gone "$writer" || { echo "the writer still runs"; status=1; }
	stop "$writer"
	stop "$writers"
	stop "$BUSY"
	stop "$SERVER"
	link_back || { echo "no link again"; status=1; }
	return "$status"
}

# start_crowd ARG...: queue pairs that all have much to send, from B to A. BUSY is their process.
start_crowd() {
	[ "${LAB_TOPOLOGY:-}" != two ] || skip "needs both ends in one process"
	[ -x "$T/many" ] ||
		gcc -O2 -o "$T/many" "$SELFTESTS/../../tools/bench/many.c" -libverbs || return
	FIRST=$(received)
	"$T/many" -q "$CROWD" -g "$GID_B" "$@" "$RB" "$RA" >"$T/client" 2>&1 &
	BUSY=$!
	wait_until 30 data_flows && return
	echo "no data flows; it said:"
	cat "$T/client"
	stop "$BUSY"
	return 1
}

# Each while all others, and its peer, go on.
crowd_destroyed() {
	start_crowd -x -t 2 || return
	wait_until 60 gone "$BUSY" || { echo "it still runs"; stop "$BUSY"; return 1; }
	wait "$BUSY" || { cat "$T/client"; return 1; }
	leaves_nothing
}

crowd_killed() {
	start_crowd -t 600 || return
	kill -KILL "$BUSY"
	wait_until 60 gone "$BUSY" || { echo "it still runs"; return 1; }
	wait "$BUSY"
	leaves_nothing
}

crowd_without_link() {
	local status=0

	start_crowd -t 600 || return
	within 20 rdma link del "$RA" || status=1
	# Its completion queues are memory that stays: it may wait for what does not come.
	stop "$BUSY"
	link_back || { echo "no link again"; return 1; }
	leaves_nothing && return "$status"
}

cm_connected() { rdma resource show cm_id 2>/dev/null | grep -q "state CONNECT.*:$RPING_PORT"; }

t "the peer's netdev goes down: given up in time, port events" peer_down
t "connections work again" works_again
t "the peer falls silent: given up in time" peer_silent
t "connections work again after silence" works_again
if [ "$TYPE" = rove ]; then
	t "the peer has no way to answer: it does not try all the time" no_way_back
	t "connections work again with a way back" works_again
fi
t "the peer is killed" peer_killed
t "the netdev goes down and up $FLAPS times under librdmacm" flaps
t "connections work again after flaps" works_again
t "the link is deleted in use" delete_in_use
t "connections work again after deletion" works_again
t "$CROWD queue pairs at work are destroyed" crowd_destroyed
t "$CROWD queue pairs at work: their process is killed" crowd_killed
t "$CROWD queue pairs at work: their link is deleted" crowd_without_link
t "connections work after the crowds" works_again
t "nothing is left" leaves_nothing
run_tests
