#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Regions with addresses of their own, huge pages, moderated CQs, objects of several
# processes and threads: see objects.c.

# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
need_pair
need_program objects -libverbs -lpthread

in_c() {
	local status=0

	SLOW=$SLOW timeout -k 5 $((60 * SLOW)) "$PROGRAM" "$1" "$RA" "$RB" "$GID_A" "$GID_B" \
		>"$T/output" 2>&1 || status=$?
	[ "$status" != "$KSFT_SKIP" ] || skip "$(cat "$T/output")"
	cat "$T/output"
	return "$status"
}

# As many huge pages as were there before are there afterwards.
with_huge_pages() {
	local status=0

	more_huge_pages 4 || skip "no huge pages in this kernel"
	(in_c huge) || status=$?
	more_huge_pages -4
	return "$status"
}

t "a region with an address of its own" in_c iova
t "the memory's own address is not that region's" in_c iova_only
t "huge pages" with_huge_pages
t "transparent huge pages, split" in_c transparent
t "shared memory, and memory that is only read" in_c shared
t "a child writes over its copy of a region's memory" in_c fork
t "the same after ibv_fork_init" in_c fork_safe
t "moderation: after so many, after so long" in_c moderation
t "a completion vector for each CPU" in_c vectors
t "device, domain and region of another process" in_c imports
t "an XRC target that another process opens" in_c open_qp
t "threads share queues, CQs and domains" in_c threads
t "an error, and a new beginning at once" in_c error_and_again
t "nothing is left" leaves_nothing
run_tests
