#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Multicast: groups of IPv4 and IPv6, joined by verbs (see mcast.c) and by librdmacm.

# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
need_pair
need_program mcast -libverbs
readonly GROUP4=239.1.1.1 GROUP6=ff0e::1
COUNT=100

# maddr END FAMILY GROUP: the netdev's own list has it.
maddr() {
	"$1" ip -f "$2" maddr show dev "$([ "$1" = a ] && echo "$EA" || echo "$EB")" | grep -qiw "$3"
}

joined4() { maddr "$1" inet "$GROUP4" && maddr "$1" link 01:00:5e:01:01:01; }
left4() { ! maddr "$1" inet "$GROUP4" && ! maddr "$1" link 01:00:5e:01:01:01; }
joined6() { maddr "$1" inet6 "$GROUP6" && maddr "$1" link 33:33:00:00:00:01; }
left6() { ! maddr "$1" inet6 "$GROUP6"; }

group() {
	[ "$1" = 4 ] && echo "::ffff:$GROUP4" || echo "$GROUP6"
}

# gid END FAMILY
gid() {
	gid_index "$([ "$1" = a ] && echo "$RA" || echo "$RB")" "v$2"
}

# receiver NAME END FAMILY [QPS]: PIDS gets its process.
receiver() {
	local name=$1 end=$2 family=$3 dev=$RA
	local -a at=("${AT_A[@]}")

	[ "$end" = a ] || { dev=$RB at=("${AT_B[@]}"); }
	: >"$T/$name"
	"${at[@]}" timeout -k 2 "$LIMIT" "$PROGRAM" receive "$dev" "$(gid "$end" "$family")" \
		"$(group "$family")" "$COUNT" "${4:-1}" >"$T/$name" 2>&1 &
	PIDS+=($!)
	wait_until 10 grep -q ready "$T/$name" && return
	echo "receiver $name is not ready:"
	cat "$T/$name"
	return 1
}

all_well() {
	local pid bad=0

	for pid in "${PIDS[@]}"; do
		wait "$pid" || bad=1
	done
	[ "$bad" = 0 ] || tail -n 5 "$T"/r?
	return "$bad"
}

# from_a FAMILY
from_a() {
	a timeout -k 2 "$LIMIT" "$PROGRAM" send "$RA" "$(gid a "$1")" "$(group "$1")" "$COUNT"
}

# one FAMILY: a receiver at the other end, and the netdev's lists.
one() {
	PIDS=()
	receiver r1 b "$1" || return
	"joined$1" b || { echo "not in the lists:"; b ip maddr show dev "$EB"; return 1; }
	from_a "$1" && all_well || return
	wait_until 5 "left$1" b || { echo "still in the lists:"; b ip maddr show dev "$EB"; return 1; }
}

# three FAMILY: two processes at one end, one at the sender's own.
three() {
	PIDS=()
	receiver r1 b "$1" && receiver r2 b "$1" && receiver r3 a "$1" || return
	from_a "$1" && all_well || return
	wait_until 5 "left$1" a && "left$1" b
}

# many FAMILY: queue pairs of one process.
many() {
	PIDS=()
	receiver r1 b "$1" 5 && receiver r2 a "$1" 3 || return
	from_a "$1" && all_well
}

# Killed, it leaves nothing; the other member stays.
killed() {
	PIDS=()
	receiver r1 b 4 || return
	receiver r2 b 4 || return
	pkill -KILL -P "${PIDS[0]}" || kill -KILL "${PIDS[0]}"
	wait "${PIDS[0]}" 2>/dev/null
	unset 'PIDS[0]'
	joined4 b || { echo "left too early"; b ip maddr show dev "$EB"; return 1; }
	from_a 4 && all_well && wait_until 5 left4 b
}

# A link that goes while groups are joined on it.
link_gone() {
	PIDS=()
	receiver r1 b 4 && receiver r2 b 6 || return
	b rdma link del "$RB" || return
	if ! wait_until 5 left4 b || ! wait_until 5 left6 b; then
		b ip maddr show dev "$EB"
		return 1
	fi
	stop "${PIDS[0]}"
	stop "${PIDS[1]}"
	b rdma link add "$RB" type "$TYPE" netdev "$EB" && wait_until 10 both_have_gids
}

misuse() {
	a timeout -k 2 "$LIMIT" "$PROGRAM" misuse "$RA" "$GID_A" "$(group "$1")" && "left$1" a
}

# mckey [OPTION...]: over librdmacm, which joins and attaches.
mckey_pair() {
	start_server log:joined "$LIMIT" stdbuf -oL mckey -m "$GROUP4" -b "$IP_A" "$@" || {
		cat "$T/server"
		return 1
	}
	joined4 a || { echo "not in the lists:"; a ip maddr show dev "$EA"; return 1; }
	run_client "$LIMIT" mckey -m "$GROUP4" -b "$IP_B" -s "$@"
	end_pair 0 && wait_until 5 left4 a
}

limits() {
	a ibv_devinfo -v -d "$RA" | awk '
		/max_mcast_grp:|max_mcast_qp_attach:|max_total_mcast_qp_attach:/ { print; good += $2 >= 1024 }
		END { exit good != 3 }'
}

for family in 4 6; do
	t "IPv$family: one receiver, joined and left" one "$family"
	t "IPv$family: three receivers, one on the sender's host" three "$family"
	t "IPv$family: several queue pairs of a process" many "$family"
	t "IPv$family: what is wrong is refused" misuse "$family"
done
t "a member is killed" killed
t "the link goes" link_gone
t "mckey" mckey_pair
t "mckey -c 20" mckey_pair -c 20
t "ibv_devinfo shows limits" limits
t "nothing is left" leaves_nothing
run_tests
