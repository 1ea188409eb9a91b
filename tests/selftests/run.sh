#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Run several tests one after the other, in the manner of run_kselftest.sh:
#
#	run.sh [quick] TEST[:PATTERN]...
#
# so that one guest serves for all of them ("quick": with smaller counts).  Prints their output, and a line of
# "ok" or "not ok" for each, with a level of its own.

set -u
cd "$(dirname "$(readlink -f "$0")")" || exit

number=0
failed=0
if [ "${1:-}" = quick ]; then
	export ROVE_QUICK=1
	shift
fi
echo "TAP version 13"
echo "1..$#"
for word in "$@"; do
	number=$((number + 1))
	name=${word%%:*}
	pattern=
	[ "$name" = "$word" ] || pattern=${word#*:}
	begin=$SECONDS
	echo "# selftests: rove: $name"
	status=0
	bash "./$name" "$pattern" 2>&1 | sed -u 's/^/  /'
	status=${PIPESTATUS[0]}
	took=$((SECONDS - begin))
	case $status in
	0) echo "ok $number selftests: rove: $name # $took s" ;;
	4) echo "ok $number selftests: rove: $name # SKIP" ;;
	*)
		echo "not ok $number selftests: rove: $name # exit=$status, $took s"
		failed=$((failed + 1))
		;;
	esac
done
[ "$failed" = 0 ]
