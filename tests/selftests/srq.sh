#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Shared receive queues and XRC: by verbs (srq.py, xrc.py), and by unmodified tools.

# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
need_pair

rules() {
	has_pyverbs || skip "no pyverbs"
	by_verbs "$1"
}

pingpong() {
	pair -- ibv_srq_pingpong -d "$RA" -g "$GID_A" "$@" -- \
		ibv_srq_pingpong -d "$RB" -g "$GID_B" "$@" "$IP_A" && leaves_nothing
}

xsrq_pingpong() {
	pair -- ibv_xsrq_pingpong -d "$RA" -g "$GID_A" "$@" -- \
		ibv_xsrq_pingpong -d "$RB" -g "$GID_B" "$@" "$IP_A" && leaves_nothing
}

# perftest COMMAND OPTION...
perftest() {
	pair -- "$1" -F -d "$RA" -x "$GID_A" "${@:2}" -- \
		"$1" -F -d "$RB" -x "$GID_B" "${@:2}" "$IP_A" && leaves_nothing
}

t "every rule, by verbs" rules srq.py
t "XRC, by verbs" rules xrc.py
t "ibv_srq_pingpong: 16 queue pairs" pingpong
t "ibv_srq_pingpong: events, 1000 messages of 8 KiB" pingpong -e -n 1000 -s 8192
t "ib_send_bw on one queue: 32 queue pairs" perftest ib_send_bw --use-srq -q 32 -s 4096 -n 100
t "ib_send_lat on one queue: datagrams" perftest ib_send_lat --use-srq -c UD -s 2048 -n 500
t "ib_send_lat on one queue" perftest ib_send_lat --use-srq -n 500
t "ibv_xsrq_pingpong" xsrq_pingpong
t "ibv_xsrq_pingpong: events, 8 KiB" xsrq_pingpong -e -s 8192
t "ib_send_lat -c XRC" perftest ib_send_lat -c XRC -n 200
t "ib_write_bw -c XRC" perftest ib_write_bw -c XRC -n 200
t "ib_read_lat -c XRC" perftest ib_read_lat -c XRC -n 200
run_tests
