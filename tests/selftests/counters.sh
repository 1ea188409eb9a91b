#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Counters of single queue pairs, and of kinds of them: rdma statistic qp.

# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
need_pair

# of_qp QPN NAME: from the counter that the queue pair is bound to; cntn: its number.
# Names and values come first, on as many lines as it likes, and then LQPN: <1,2>.
of_qp() {
	rdma statistic qp show link "$RA/1" | awk -v qpn="$1" -v name="$2" '
		{
			for (i = 1; i <= NF; i++) {
				if ($i == "cntn")
					value = name == "cntn" ? $(i + 1) : ""
				else if ($i == name)
					value = $(i + 1)
				if ($i != "LQPN:")
					continue
				list = $(i + 1)
				gsub(/[<>]/, ",", list)
				if (index(list, "," qpn ",") && value != "") { print value; found = 1 }
			}
		}
		END { exit !found }'
}

has_qpns() { [ "$(qpns | wc -l)" -ge "$1" ]; }
moves() { [ "$(counter "$RA" rx_packets)" -gt "$1" ]; }
more_than() {
	local value

	value=$(of_qp "$1" rx_packets) && [ "$value" -gt "$2" ]
}

# while_written QUEUE-PAIRS COMMAND...: with a writer from B to A.
while_written() {
	local number=$1 busy status=0
	shift

	start_server "tcp:$PERFTEST_PORT" "$((LIMIT * 4))" ib_write_bw -F -d "$RA" -x "$GID_A" \
		-D 30 -q "$number" || return
	"${AT_B[@]}" timeout -k 2 "$((LIMIT * 4))" ib_write_bw -F -d "$RB" -x "$GID_B" \
		-D 30 -q "$number" "$IP_A" >"$T/client" 2>&1 &
	busy=$!
	if wait_until 20 has_qpns "$number" && wait_until 20 moves "$(counter "$RA" rx_packets)"; then
		"$@" || status=1
	else
		echo "no data flows"
		cat "$T/client"
		status=1
	fi
	stop "$busy"
	stop "$SERVER"
	return "$status"
}

# One of two queue pairs is counted by itself; the port loses nothing, and counts
# nothing twice.
bound() {
	local qpn other total part number
	qpn=$(qpns | head -n 1) other=$(qpns | tail -n 1)

	rdma statistic qp bind link "$RA/1" lqpn "$qpn" || return
	wait_until 10 more_than "$qpn" 0 || { echo "nothing is counted"; return 1; }
	of_qp "$other" rx_packets && { echo "the other one is counted, too"; return 1; }
	total=$(counter "$RA" rx_packets)
	part=$(of_qp "$qpn" rx_packets)
	[ "$part" -lt "$total" ] || { echo "$part of $total"; return 1; }
	wait_until 10 more_than "$qpn" "$part" || return
	number=$(of_qp "$qpn" cntn)
	total=$(counter "$RA" rx_packets)
	rdma statistic qp unbind link "$RA/1" cntn "$number" lqpn "$qpn" || return
	of_qp "$qpn" rx_packets && { echo "still there"; return 1; }
	[ "$(counter "$RA" rx_packets)" -ge "$total" ] || { echo "the port lost some"; return 1; }
	wait_until 10 moves "$((total + 10))"
}

# All there are, and gone with their queue pairs.
by_type() {
	local qpn

	for qpn in $(qpns); do
		wait_until 10 more_than "$qpn" 0 && continue
		echo "nothing of $qpn"
		rdma statistic qp show link "$RA/1" | grep -E "link|LQPN|rx_packets"
		return 1
	done
	TOTAL=$(counter "$RA" rx_packets)
}

auto_mode() {
	local status=0

	rdma statistic qp set link "$RA/1" auto type on || return
	while_written 3 by_type || status=1
	if rdma statistic qp show link "$RA/1" | grep .; then
		echo "counters without queue pairs"
		status=1
	fi
	[ "$(counter "$RA" rx_packets)" -ge "${TOTAL:-0}" ] || { echo "the port lost some"; status=1; }
	rdma statistic qp set link "$RA/1" auto off || status=1
	return "$status"
}

refused() {
	"$@" 2>&1 && { echo "accepted: $*"; return 1; }
	return 0
}

refusals() {
	refused rdma statistic qp bind link "$RA/1" lqpn 5 &&
		refused rdma statistic qp unbind link "$RA/1" cntn 99 &&
		refused rdma statistic qp bind link "$RA/2" lqpn 16
}

# A counter dies with its queue pair.
killed() {
	local qpn
	qpn=$(qpns | head -n 1)

	rdma statistic qp bind link "$RA/1" lqpn "$qpn" && wait_until 10 more_than "$qpn" 0 || return
	pkill -KILL -P "$SERVER"
	wait_until 10 no_counters
}

no_counters() { ! rdma statistic qp show link "$RA/1" | grep -q .; }

t "one queue pair, bound and unbound" while_written 2 bound
t "all of a type" auto_mode
t "what cannot be bound" refusals
t "the process is killed" while_written 1 killed
t "nothing is left" leaves_nothing
run_tests
