#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# On-demand paging: regions whose pages come and go, by verbs from Python (odp.py) and
# by the tools of libibverbs.

# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
need_pair

rules() {
	has_pyverbs || skip "no pyverbs"
	by_verbs -t 120 odp.py
}

# pingpong OPTION...: between A and B.
pingpong() {
	pair -- ibv_rc_pingpong -d "$RA" -g "$GID_A" -c -n 200 "$@" \
		-- ibv_rc_pingpong -d "$RB" -g "$GID_B" -c -n 200 "$@" "$IP_A"
}

t "every rule, by verbs" rules
t "ibv_rc_pingpong -o" pingpong -o
t "ibv_rc_pingpong -o -O" pingpong -o -O
t "ibv_rc_pingpong -o -P" pingpong -o -P
t "ibv_rc_pingpong -o -s 1 MiB" pingpong -o -s 1048576
t "nothing is left" leaves_nothing
run_tests
