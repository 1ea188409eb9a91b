#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# run.sh PROGRAM...: run test programs, count, end with "N passed, N failed".
# A program that dies counts as one failure more.

log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
passed=0
failed=0

# Some kernels place mappings where the thread sanitizer cannot live.
start() {
	case $1 in
	*/tsan_*)
		if setarch -R true 2>/dev/null; then
			setarch -R "$@"
			return
		fi
		;;
	esac
	"$@"
}

for prog in "$@"; do
	start "$prog" >"$log" 2>&1
	rc=$?
	cat "$log"
	ok=$(grep -c '^ok ' "$log")
	bad=$(grep -c '^not ok ' "$log")
	if [ "$rc" -ne 0 ] && [ "$bad" -eq 0 ]; then
		echo "not ok - ${prog##*/} ended with status $rc"
		bad=1
	fi
	passed=$((passed + ok))
	failed=$((failed + bad))
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
