#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Shared receive queues: by verbs (srq.py), and by unmodified tools.

# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
need_pair

by_verbs() {
	python3 -c 'import pyverbs.device' 2>/dev/null || skip "no pyverbs"
	SLOW=$SLOW PYTHONDONTWRITEBYTECODE=1 timeout -k 5 $((60 * SLOW)) \
		python3 "$SELFTESTS/srq.py" "$RA" "$RB" "$GID_A" "$GID_B"
}

pingpong() {
	pair -- ibv_srq_pingpong -d "$RA" -g "$GID_A" "$@" -- \
		ibv_srq_pingpong -d "$RB" -g "$GID_B" "$@" "$IP_A" && leaves_nothing
}

# perftest COMMAND OPTION...
perftest() {
	pair -- "$1" -d "$RA" -x "$GID_A" "${@:2}" -- \
		"$1" -d "$RB" -x "$GID_B" "${@:2}" "$IP_A" && leaves_nothing
}

t "every rule, by verbs" by_verbs
t "ibv_srq_pingpong: 16 queue pairs" pingpong
t "ibv_srq_pingpong: events, 1000 messages of 8 KiB" pingpong -e -n 1000 -s 8192
t "ib_send_bw on one queue: 32 queue pairs" perftest ib_send_bw --use-srq -q 32 -s 4096 -n 100
t "ib_send_lat on one queue: datagrams" perftest ib_send_lat --use-srq -c UD -s 2048 -n 500
t "ib_send_lat on one queue" perftest ib_send_lat --use-srq -n 500
run_tests
