#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# cost.sh PROGRAM: instructions that the core takes for a packet, as callgrind counts them,
# with 1, 100 and 10000 QPs. They are the same each time, so that they can be compared.

set -u
shopt -s inherit_errexit
export LC_ALL=C

readonly PROGRAM=$1 MANY=10000 PERCENT=1
# Each QP sends and answers all of its kinds of messages, 17 packets, the same number of times.
readonly PACKETS=$((17 * MANY))

# profile QPS PACKETS: packets, instructions and misses of the first cache, in wire/,
# proto/ and ring/ alone.
profile() {
	local out=$WORK/out packets

	packets=$(valgrind --tool=callgrind --callgrind-out-file="$out" --compress-strings=no \
		--compress-pos=no --cache-sim=yes --I1=32768,8,64 --D1=32768,8,64 \
		--LL=8388608,16,64 "$PROGRAM" "$@" 2>"$WORK/err") || {
		sed 's/^/# /' "$WORK/err" >&2
		return 1
	}
	# fl=, fi=, fe= name the file of the lines of costs that follow; one behind calls=
	# is that of a function that is called, and counted there.
	awk -v packets="$packets" '
		/^(fl|fi|fe)=/ { core = /\/rove\/(wire|proto|ring)\// }
		/^calls=/ { called = 1; next }
		/^[0-9]/ {
			if (core && !called) {
				instructions += $2
				misses += $6 + $7
			}
			called = 0
		}
		END { print packets, instructions + 0, misses + 0 }' "$out"
}

# cost QPS: of one packet more: instructions, misses. Setting up QPs is in both runs.
cost() {
	local few many

	few=$(profile "$1" "$PACKETS") && many=$(profile "$1" $((2 * PACKETS))) || return
	echo "$few $many" | awk '{ print ($5 - $2) / ($4 - $1), ($6 - $3) / ($4 - $1) }'
}

main() {
	local qps one='' this misses

	echo 1..1
	command -v valgrind >/dev/null || {
		echo "ok 1 - instructions for a packet # SKIP no valgrind"
		return
	}
	WORK=$(mktemp -d) || return
	trap 'rm -rf "$WORK"' EXIT
	for qps in 1 100 "$MANY"; do
		read -r this misses < <(cost "$qps")
		[ -n "$this" ] || break
		echo "# $qps QPs: $this instructions for a packet, $misses cache lines fetched"
		: "${one:=$this}"
	done
	if [ -n "$this" ] && awk -v one="$one" -v many="$this" -v percent="$PERCENT" \
		'BEGIN { exit !(one > 100 && many <= one * (1 + percent / 100)) }'; then
		echo "ok 1 - $MANY QPs: instructions for a packet within $PERCENT % of those with one"
	else
		echo "not ok 1 - $MANY QPs: instructions for a packet within $PERCENT % of those with one"
		return 1
	fi
}

main
