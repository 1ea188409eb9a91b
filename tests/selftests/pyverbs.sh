#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# rdma-core's own tests of verbs, written with pyverbs, unmodified: one process is
# both ends, of one device, whose packets to itself go over lo.
#
# Debian has them in the documentation of rdma-core; elsewhere, PYVERBS_TESTS is the
# folder tests/ of rdma-core's source.  Without a pattern each of them is a test here;
# "rounds" runs all of them ROVE_ROUNDS times.

# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
need_pair
has_pyverbs || skip_all "no pyverbs"

# What may be skipped, with the reasons.
readonly SKIPS=$SELFTESTS/pyverbs.skips
ROUNDS=${ROVE_ROUNDS:-20}

# A copy: Debian compresses files.  Tests of other drivers' own features stay away.
take_suite() {
	local from=${PYVERBS_TESTS:-/usr/share/doc/rdma-core/tests}

	mkdir "$T/tests"
	cp "$from"/*.py* "$T/tests" 2>/dev/null || skip_all "no tests of rdma-core in $from"
	gunzip -q "$T"/tests/*.gz 2>/dev/null
	rm -f "$T"/tests/test_{mlx5,efa,cuda}*
}

# suite OUTPUT [PATTERN...]: with some huge pages, where the kernel has any.
suite() {
	local output=$1 status=0 more=
	shift

	more_huge_pages 16 && more=1
	PYTHONDONTWRITEBYTECODE=1 a timeout -k 5 $((120 * SLOW)) python3 -W ignore \
		"$SELFTESTS/pyverbs_suite.py" "$T/tests" "$RA" "$GID_A" $((20 * SLOW)) "$@" \
		>"$output" 2>"$output.errors" || status=$?
	[ -z "$more" ] || more_huge_pages -16
	return "$status"
}

# all_well STATUS OUTPUT: none failed, none was left out.
all_well() {
	[ "$1" = 0 ] && [ "$(grep -c '^begin ' "$2")" = "$(grep -cE '^(ok|skip) ' "$2")" ] && return
	echo "status $1 ($(status_text "$1")); it said:"
	grep -vE '^(begin|ok|skip) ' "$2" | tail -n 60
	tail -n 2 "$2"
	tail -n 20 "$2.errors"
	return 1
}

# The reason in the list for which a test may be skipped.
allowed() {
	case $2 in "Huge pages"*) [ ! -w "$HUGE" ] || return ;; esac
	awk -v name="$1" -v reason="$2" '
		/^#/ || NF < 2 { next }
		{
			text = $0
			sub(/^[^ \t]+[ \t]+/, "", text)
			if (name ~ "^(" $1 ")$" && index(reason, text)) { found = 1; exit }
		}
		END { exit !found }' "$SKIPS"
}

# how_went ID: of the suite that was run.
how_went() {
	local how reason

	read -r how _ reason < <(grep -E "^(ok|skip|not) $1( |\$)" "$T/suite")
	case ${how:-} in
	ok) return 0 ;;
	skip)
		allowed "$1" "$reason" && skip "$reason"
		echo "skipped, which is not in pyverbs.skips: $reason"
		;;
	*)
		sed -n "/^begin ${1//./\\.}\$/,/^begin /p" "$T/suite"
		tail -n 30 "$T/suite.errors"
		;;
	esac
	return 1
}

runs_to_its_end() {
	grep -qE '^ok ' "$T/suite" && all_well "$SUITE_STATUS" "$T/suite"
}

vmalloc_used() {
	awk '$1 == "VmallocUsed:" { print $2 }' /proc/meminfo
}

# What is lost each time would add up.
rounds() {
	local i status first=

	for ((i = 1; i <= ROUNDS; i++)); do
		status=0
		suite "$T/round" || status=$?
		if ! all_well "$status" "$T/round" || ! leaves_nothing; then
			echo "in round $i of $ROUNDS"
			return 1
		fi
		# The first one brings in what stays: modules, pools.
		[ -n "$first" ] || first=$(vmalloc_used)
	done
	echo "vmalloc: $first kB after the first round, $(vmalloc_used) kB after the last"
	[ "$(vmalloc_used)" -le "$((first + 1024))" ]
}

# Reliable connections only; what may lose something does so.  The suite polls for
# some seconds at most, so that retries must be fast enough, too.
lossy() {
	local status=0 before

	a tc qdisc add dev lo root netem loss 0.5% || skip "no netem"
	trap 'a tc qdisc del dev lo root' EXIT
	before=$(counter "$RA" retransmits)
	suite "$T/lossy" '-*ud_*' '-*uc_*' '-*_ud*' '-*_uc*' '-*multicast*' '-*mcast*' || status=$?
	all_well "$status" "$T/lossy" || return
	echo "retransmits: $before before, $(counter "$RA" retransmits) after"
	[ "$(counter "$RA" retransmits)" -gt "$before" ]
}

# asked_for NAME COMMAND...: what takes minutes is run when it was asked for by name.
asked_for() {
	[ -n "$ONLY" ] || skip "takes minutes: ask for it by name"
	"$@"
}

take_suite
SUITE_STATUS=0
case $ONLY in
*rounds* | *loss*) ;;
*)
	suite "$T/suite" || SUITE_STATUS=$?
	while read -r _ id; do
		t "$id" how_went "$id"
	done < <(grep '^begin ' "$T/suite")
	t "the suite runs to its end" runs_to_its_end
	;;
esac
t "the suite with a loss of 0.5 %" lossy
t "the suite in $ROUNDS rounds" asked_for rounds
t "nothing is left" leaves_nothing
run_tests
