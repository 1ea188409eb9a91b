#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Partition keys: the table (rove-pkey), what passes and what does not, by verbs
# (partitions.py), perftest and rdma_cm.

# shellcheck disable=SC2015 # A && B || C: C if one of them is false
# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
need_pair

PKEY=$SELFTESTS/../../tools/rove-pkey
[ -x "$PKEY" ] || PKEY=$(command -v rove-pkey) || skip_all "no rove-pkey"

key() { cat "/sys/class/infiniband/$1/ports/1/pkeys/$2"; }
key_is() { [ "$(key "$1" "$2")" = "$3" ]; }

# Both tables as they were.
reset_tables() {
	local link i

	for link in "$RA" "$RB"; do
		for i in $("$PKEY" "$link" | awk '$2 != 0 { print $2 }'); do
			"$PKEY" set "$link" "$i" 0 || return
		done
		"$PKEY" set "$link" 0 0xffff || return
	done
}

# with COMMAND...: tables are as they were afterwards.
with() {
	local status=0

	"$@" || status=$?
	reset_tables || return
	return "$status"
}

refused() {
	"$@" 2>"$T/said" && { echo "accepted: $*"; return 1; }
	cat "$T/said"
}

table() {
	[ "$("$PKEY" "$RA")" = "$RA:  0 0xffff full" ] || return
	"$PKEY" add "$RA" 0x8001 && "$PKEY" add "$RA" 2 && "$PKEY" add "$RA" 0x8001 || return
	"$PKEY" show | tee "$T/shown"
	printf '%s\n' "$RA:  0 0xffff full" "$RA:  1 0x8001 full" "$RA:  2 0x0002 limited" \
		"$RB:  0 0xffff full" | diff - "$T/shown" || return
	# The core's own view follows.
	wait_until 5 key_is "$RA" 1 0x8001 && wait_until 5 key_is "$RA" 2 0x0002 || return
	"$PKEY" del "$RA" 0x8001 && "$PKEY" set "$RA" 31 0x9999 || return
	wait_until 5 key_is "$RA" 1 0x0000 && wait_until 5 key_is "$RA" 31 0x9999
}

table_refuses() {
	local bad

	refused "$PKEY" set "$RA" 32 0x8001 &&
		refused "$PKEY" set "$RA" 1 0x8000 &&
		refused "$PKEY" set "$RA" 1 0xffff && grep -q "File exists" "$T/said" || return
	for bad in 65536 0x10000 -1 x "" 0x 0x12345; do
		refused "$PKEY" set "$RA" 1 "$bad" && refused "$PKEY" add "$RA" "$bad" || return
	done
	refused "$PKEY" add "$RA" 0 && refused "$PKEY" add "$RA" 0x8000 &&
		refused "$PKEY" del "$RA" 0x8001 && refused "$PKEY" add none 0x8001 &&
		refused "$PKEY" add "$RA" && refused "$PKEY" nothing at all || return
	[ "$("$PKEY" "$RA")" = "$RA:  0 0xffff full" ]
}

full_table() {
	local i

	for ((i = 1; i < 32; i++)); do
		"$PKEY" add "$RA" $((i + 0x8000)) || return
	done
	refused "$PKEY" add "$RA" 0x9000 && grep -q full "$T/said"
}

rules() {
	has_pyverbs || skip "no pyverbs"
	PKEY=$PKEY by_verbs partitions.py
}

# In a namespace the core shows links of shared mode without their tables.
where_no_table_is() {
	local what

	! a test -d "/sys/class/infiniband/$RA/ports/1/partitions" || skip "the table is seen everywhere"
	for what in show "show $RA" "add $RA 0x8001"; do
		# shellcheck disable=SC2086 # words
		refused a "$PKEY" $what && grep -q 'first network namespace' "$T/said" || return
	done
}

in_partition() {
	"$PKEY" set "$RA" 3 0x8123 && "$PKEY" set "$RB" 7 0x0123 || return
	pair -- ib_write_bw -F -d "$RA" -x "$GID_A" -n 500 -s 8192 --pkey_index=3 \
		-- ib_write_bw -F -d "$RB" -x "$GID_B" -n 500 -s 8192 --pkey_index=7 "$IP_A"
}

rping_once() {
	pair -r "cm:$RPING_PORT" -- rping -s -a "$IP_A" -C 5 -V -- rping -c -a "$IP_A" -C 5 -V
}

cm_limited() {
	"$PKEY" set "$RB" 0 0x7fff && wait_until 5 key_is "$RB" 0 0x7fff && rping_once || return
	# Two limited members: not a word passes.
	"$PKEY" set "$RA" 0 0x7fff && wait_until 5 key_is "$RA" 0 0x7fff || return
	dropped=$(counter "$RA" drop_pkey)
	b timeout -k 1 2 rping -c -a "$IP_A" -C 1 && { echo "it connected"; return 1; }
	[ "$(counter "$RA" drop_pkey)" -gt "$dropped" ] || return
	"$PKEY" set "$RA" 0 0xffff && wait_until 5 key_is "$RA" 0 0xffff && rping_once
}

t "the table is shown and set" with table
t "what is no key is refused" with table_refuses
t "a full table" with full_table
t "in a namespace it is told where the table is" where_no_table_is
t "every rule, by verbs" with rules
t "ib_write_bw in a partition" with in_partition
t "rdma_cm, a limited member" with cm_limited
t "nothing is left" leaves_nothing
run_tests
