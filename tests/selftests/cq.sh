#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Completion queues and parent domains, by verbs: see cq.py. rdma-core's own tests of
# the same, where they are installed.

# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
need_pair
has_pyverbs || skip_all "no pyverbs"

SUITE=/usr/share/doc/rdma-core/tests

# suite MODULE...: on one device, which is peer to itself
suite() {
	local gid

	[ -d "$SUITE" ] || skip "no $SUITE"
	# Distributions compress what they take for documents.
	cp -r "$SUITE" "$T/tests" && find "$T/tests" -name '*.gz' -exec gunzip {} +
	gid=$(gid_index "$RA" v4)
	(cd "$T" && a timeout -k 5 $((60 * SLOW)) python3 tests/run_tests.py \
		--dev "$RA" --gid "$gid" -v "$@")
	local status=$?
	rm -rf "$T/tests"
	return "$status"
}

t "every rule, by verbs" by_verbs cq.py
t "rdma-core: CQs" suite tests.test_cq tests.test_cqex tests.test_cq_events
t "rdma-core: SRQs" suite tests.test_srq
t "rdma-core: domains" suite tests.test_pd tests.test_parent_domain tests.test_shared_pd
run_tests
