#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Memory runs out: in every verb, each allocation fails once (failslab.py). The error is
# clear, nothing is left, and what was there before works on.

# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
need_pair
has_pyverbs || skip_all "no pyverbs"

readonly DEBUG=/sys/kernel/debug
[ -e /proc/self/fail-nth ] || skip_all "this kernel plants no failures"
[ -d $DEBUG/failslab ] || mount -t debugfs debugfs $DEBUG || skip_all "no debugfs"
# Allocations that may wait are left out if nothing is said, and each failure is told.
for kind in failslab fail_page_alloc; do
	[ -d "$DEBUG/$kind" ] || continue
	echo N >"$DEBUG/$kind/ignore-gfp-wait"
	echo 0 >"$DEBUG/$kind/verbose"
	[ ! -e "$DEBUG/$kind/min-order" ] || echo 0 >"$DEBUG/$kind/min-order"
done
[ ! -e $DEBUG/fail_usercopy/verbose ] || echo 0 >$DEBUG/fail_usercopy/verbose

verbs() { by_verbs -t 300 failslab.py; }

t "verbs" verbs
t "nothing is left" leaves_nothing
run_tests
