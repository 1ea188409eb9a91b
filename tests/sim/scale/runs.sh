#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# runs.sh CHECKED FAST [SEEDS]: the program with sanitizers over small networks, the one
# without over large ones, each with so many seeds. What goodput and again ask for is far
# from what is reached now, and from what going back in full with each loss came to.

set -u
shopt -s inherit_errexit

readonly CHECKED=$1 FAST=$2 SEEDS=${3:-1}

# runs: PROGRAM, then its options
runs() {
	local small='hosts=9 len=20000 vary=1'

	cat <<-EOT
	$CHECKED $small flows=64
	$CHECKED $small flows=64 loss=5000
	$CHECKED $small flows=64 loss=5000 mtu=4096 depth=32 messages=100
	$CHECKED $small flows=64 incast=1 buffer=256
	$CHECKED $small flows=64 incast=1 buffer=256 mtu=256 window=64
	$CHECKED $small flows=64 backlog=64
	$FAST flows=1 hosts=2 op=3 messages=500 depth=16 goodput=90 again=0
	$FAST flows=1 hosts=2 op=3 messages=500 depth=16 loss=1000 goodput=60 again=20
	$FAST flows=1 hosts=2 op=3 messages=500 depth=16 loss=10000 goodput=15 again=35
	$FAST incast=1 flows=256 op=3 messages=32 goodput=40 again=45
	$FAST incast=1 flows=256 op=5 goodput=60 again=5
	$FAST incast=1 flows=256 goodput=30 again=45
	$FAST incast=1 flows=1024 op=3 goodput=40 again=50
	$FAST hosts=64 flows=10000 len=4096 vary=1 again=15
	$FAST hosts=64 flows=10000 len=65536 messages=4 vary=1 op=3 goodput=10 again=45
	EOT
}

main() {
	local run seed number=0 failed=0

	echo "1..$(($(runs | wc -l) * SEEDS))"
	while read -r run; do
		for ((seed = 1; seed <= SEEDS; seed++)); do
			number=$((number + 1))
			# shellcheck disable=SC2086 # words
			numbered "$number" $run seed="$seed" || failed=1
		done
	done < <(runs)
	return "$failed"
}

# numbered N COMMAND...: its result, which names what to run to see it again, as the Nth.
numbered() {
	local number=$1 status=0 said
	shift

	said=$("$@" 2>&1) || status=$?
	if [ "$status" = 0 ] || [[ $said == *"not ok scale"* ]]; then
		printf "%s\n" "$said" | sed "s/^\(not \)\?ok /&$number - /"
	else
		printf "%s\n" "$said" | sed "s/^/# /"
		echo "not ok $number - $* (status $status)"
	fi
	return "$status"
}

main
