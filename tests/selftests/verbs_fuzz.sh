#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Verbs at random, from two processes and from threads of one: see verbs_fuzz.c.
#
#	ROVE_FUZZ_SECONDS	how long each takes (30)
#	ROVE_FUZZ_SEED		where to begin (the time of day)

# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
need_pair
need_program verbs_fuzz -libverbs -lpthread

LONG=${ROVE_FUZZ_SECONDS:-30}
SEED=${ROVE_FUZZ_SEED:-$(date +%s)}

# fuzz PROCESSES THREADS
fuzz() {
	local i status=0
	local -a running=()

	for ((i = 0; i < $1; i++)); do
		echo "verbs_fuzz $LONG $2 $((SEED + i)) $RA $RB"
		timeout -k 5 $((LONG + 20 * SLOW)) "$PROGRAM" "$LONG" "$2" $((SEED + i)) "$RA" "$RB" &
		running+=($!)
	done
	for i in "${running[@]}"; do
		wait "$i" || { echo "ended with status $?"; status=1; }
	done
	return "$status"
}

# With all that it had just then.
killed() {
	local i

	for i in 1 2 3; do
		"$PROGRAM" 60 2 "$((SEED + i * 100))" "$RA" "$RB" &
		sleep "0.$((RANDOM % 900 + 100))"
		kill -KILL "$!"
		wait "$!"
	done
	return 0
}

t "two processes" fuzz 2 1
t "four threads" fuzz 1 4
t "killed in the middle of it" killed
t "connections work afterwards" works_again
t "nothing is left" leaves_nothing
run_tests
