#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Checks of the lab itself: that what a script says and returns comes through,
# and that what goes wrong is noticed.  Prints TAP.
#
# usage: selftest.sh [KERNEL [TOPOLOGY [CHECK...]]]
#
# The default topology is rxe, so that this works when rove does not; CHECK is
# the name of one of the functions below without its check_.

set -u
LAB=$(dirname "$(readlink -f "$0")")/lab
KERNEL=${1:-perf}
TOPOLOGY=${2:-rxe}
TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT

NUMBER=0
FAILED=0

ok() {
	local text=$1
	shift

	NUMBER=$((NUMBER + 1))
	if "$@"; then
		echo "ok $NUMBER - $text"
		return
	fi
	FAILED=$((FAILED + 1))
	echo "not ok $NUMBER - $text"
	sed 's/^/# out: /' "$TMP/out" | tail -n 20
	sed 's/^/# err: /' "$TMP/err" | tail -n 20
}

# lab_run [OPTION...] -- [ARG...]: the script comes from standard input, its
# outputs go to $TMP/out and $TMP/err, its status to STATUS.
lab_run() {
	local -a options=()

	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	cat >"$TMP/script"
	"$LAB" run -k "$KERNEL" -t "$TOPOLOGY" "${options[@]}" "$TMP/script" "$@" \
		>"$TMP/out" 2>"$TMP/err"
	STATUS=$?
}

status_is() { [ "$STATUS" = "$1" ]; }
out_is() { [ "$(cat "$TMP/out")" = "$1" ]; }
err_has() { grep -q -- "$1" "$TMP/err"; }
out_has() { grep -q -- "$1" "$TMP/out"; }
# Found by the odd size of memory that its test asks for.
no_process_left() { ! pgrep -f 'mem=1111M|-m 1111 ' >/dev/null; }

check_status_and_output() {
	lab_run -- <<-'EOF'
		echo "to stdout"
		echo "to stderr" >&2
		exit 42
	EOF
	ok "exit status comes through" status_is 42
	ok "stdout comes through, alone" out_is "to stdout"
	ok "stderr comes through" err_has "^to stderr$"
	lab_run -- <<<'true'
	ok "success comes through" status_is 0
	lab_run -- <<<'kill -9 $$'
	ok "death by a signal comes through" status_is 137
}

check_arguments() {
	# shellcheck disable=SC2016 # for the guest
	lab_run -- "two words" "" "quote'\"s" '$HOME *' <<<'for a in "$@"; do echo "<$a>"; done'
	# shellcheck disable=SC2016 # not to be expanded at all
	ok "arguments come through as they are" out_is "$(printf '<%s>\n' "two words" "" "quote'\"s" '$HOME *')"
	lab_run -- <<<'echo $#'
	ok "no arguments are no arguments" out_is 0
}

check_bulk_output() {
	lab_run -- <<<'seq 1 200000; printf "no newline\t\001\377"'
	{
		seq 1 200000
		printf 'no newline\t\001\377'
	} >"$TMP/expected"
	ok "a megabyte of output comes through unchanged" cmp -s "$TMP/expected" "$TMP/out"
}

check_live_output() {
	"$LAB" run -k "$KERNEL" -t "$TOPOLOGY" - <<<'echo first; sleep 8; echo second' \
		>"$TMP/out" 2>"$TMP/err" &
	local pid=$! tries=600

	until [ -s "$TMP/out" ] || [ "$tries" = 0 ]; do
		sleep 0.1
		tries=$((tries - 1))
	done
	ok "output comes while the script runs" out_is first
	wait "$pid"
	ok "a script from standard input" out_is $'first\nsecond'
}

check_timeout() {
	lab_run -T 3 -m 1111 -- <<<'echo begun; sleep 1000'
	ok "124 on time-out" status_is 124
	ok "what was printed before is there" out_is begun
	ok "it is told what was running" err_has "sleep 1000"
	ok "nothing is left on the host" no_process_left
}

check_faults() {
	lab_run -- <<<'echo "<4>WARNING: planted by the self test" >/dev/kmsg; exit 3'
	ok "125 for a WARNING in the kernel log" status_is 125
	ok "the line is shown" err_has "planted by the self test"
	lab_run -- <<-'EOF'
		{
			echo "WARNING: CPU: 0 PID: 1 at drivers/infiniband/sw/rxe/rxe_x.c:1 rxe_x+0x1/0x2"
			echo "RIP: 0010:rxe_x+0x1/0x2 [rdma_rxe]"
			echo "---[ end trace 0000000000000000 ]---"
		} | while read -r line; do echo "$line" >/dev/kmsg; done
	EOF
	ok "a fault of rxe is not counted" status_is 0
	ok "but shown" err_has "rxe_x.c"
	lab_run -- <<<'echo "<4>WARNING: drivers/x.c:1 at srpt_cache_put+0x1/0x2" >/dev/kmsg'
	ok "a fault that is known not to be ours is not counted" status_is 0
	lab_run -- <<-'EOF'
		{
			echo "WARNING: possible circular locking dependency detected"
			echo "rm/1831 is trying to acquire lock:"
			echo "(&id_priv->handler_mutex){+.+.}-{3:3}, at: rdma_destroy_id+0x19/0x30"
			echo "(nvmet_config_sem){++++}-{3:3}, at: nvmet_port_subsys_drop_link+0x32/0x130 [nvmet]"
			echo "softirqs last  enabled at (570762): rove_qp_destroy+0xa1/0x220 [rove]"
		} | while read -r line; do echo "$line" >/dev/kmsg; done
	EOF
	ok "nor are locks that are known not to be ours" status_is 0
	lab_run -- <<-'EOF'
		{
			echo "WARNING: possible circular locking dependency detected"
			echo "(nvmet_config_sem){++++}-{3:3}, at: nvmet_port_subsys_drop_link+0x32/0x130 [nvmet]"
			echo "rove_qp_destroy+0xa1/0x220 [rove]"
		} | while read -r line; do echo "$line" >/dev/kmsg; done
	EOF
	ok "125 if a path of ours is among them" status_is 125
	lab_run -- <<<'echo "unregister_netdevice: waiting for eth7 to become free" >/dev/kmsg'
	ok "125 for a netdev that is held" status_is 125
}

check_crash() {
	lab_run -- <<<'echo 1 >/proc/sys/kernel/panic_on_oops; echo c >/proc/sysrq-trigger; sleep 5'
	ok "125 for a guest that dies" status_is 125
	ok "with its last words" err_has "crash"
}

check_leftovers() {
	lab_run -- <<-'EOF'
		setsid sleep 1000 &
		(trap "" TERM HUP; sleep 1000) &
		$NA iperf3 -s -D
		echo done
	EOF
	ok "processes left behind do no harm" status_is 0
	ok "nor hold the output" out_is "done"
}

check_environment() {
	# shellcheck disable=SC2016 # for the guest
	lab_run -o "$TMP/files" -- <<-'EOF'
		echo "$LAB_KERNEL $LAB_TOPOLOGY"
		[ -f /rove/tests/lab/lab ] && touch /rove/lab-selftest /usr/lab-selftest && echo writable
		echo kept >"$LAB_OUT/file"
	EOF
	ok "the environment" out_has "^$KERNEL $TOPOLOGY\$"
	ok "the guest may write to its copies" out_has writable
	ok "and alters nothing of the host" test ! -e "$(dirname "$LAB")/../../lab-selftest"
	ok "but for the folder given" test "$(cat "$TMP/files/file")" = kept
	ok "where the kernel log is too" test -s "$TMP/files/kernel.log"
}

check_links() {
	[ "$TOPOLOGY" != none ] || return
	lab_run -T 120 -- <<-'EOF'
		$NA ping -c 1 -W 5 -q 10.0.0.2 >/dev/null || exit 1
		$NA ping -c 1 -W 5 -q 2001:db8::2 >/dev/null || exit 2
		$NB timeout 60 rping -s -C 10 -a 10.0.0.2 &
		sleep 1
		$NA timeout 60 rping -c -C 10 -a 10.0.0.2 || exit 3
		wait $!
	EOF
	ok "both ends reach each other" status_is 0
}

check_two_at_once() {
	local first second

	"$LAB" run -k "$KERNEL" -t "$TOPOLOGY" - >"$TMP/one" 2>&1 <<<'sleep 3; echo one; exit 1' &
	first=$!
	"$LAB" run -k "$KERNEL" -t "$TOPOLOGY" - >"$TMP/two" 2>&1 <<<'sleep 3; echo two; exit 2' &
	second=$!
	wait "$first"
	STATUS=$?
	ok "two at once, the first" status_is 1
	wait "$second"
	STATUS=$?
	ok "two at once, the second" status_is 2
	grep -v '^lab: ' "$TMP/one" "$TMP/two" >"$TMP/out"
	ok "each has its own output" out_is "$(printf '%s:one\n%s:two' "$TMP/one" "$TMP/two")"
}

# Debian's kernel, without a first program to run.
check_boot() {
	case $KERNEL in stock*) ;; *) return 0 ;; esac
	lab_run -a rdinit=/nonesuch -- <<<'true'
	ok "a guest that panics at boot is booted once more" err_has "booting once more"
	ok "and then given up" status_is 126
}

pinned_to() { [[ $1 =~ ^[0-9]+\ [0-9]+$ ]] && { [ "${1% *}" != "${1#* }" ] || [ "$(nproc)" = 1 ]; }; }

check_pins() {
	local thread found='' i

	case $KERNEL in stock*) return 0 ;; esac
	mkdir "$TMP/shared"
	# shellcheck disable=SC2016 # for the guest
	lab_run -p -m 1111 -o "$TMP/shared" -- <<-'EOF' &
		touch "$LAB_OUT/go"
		until [ -e "$LAB_OUT/stop" ]; do sleep 0.1; done
	EOF
	for ((i = 0; i < 600; i++)); do
		[ ! -e "$TMP/shared/go" ] || break
		sleep 0.1
	done
	for thread in $(find "/proc/$(pgrep -f mem=1111M)/task" -maxdepth 1 -name '[0-9]*' \
			-printf '%f\n' | sort -n | head -n 2); do
		found+="$(sed -n 's/^Cpus_allowed_list:\t//p' "/proc/$thread/status") "
	done
	touch "$TMP/shared/stop"
	wait
	ok "with -p each CPU of the guest has one of the machine's ($found)" pinned_to "${found% }"
}

# Of topology two: what is wrong at the other end is noticed.
check_other() {
	[ "$TOPOLOGY" = two ] || return 0
	# shellcheck disable=SC2016 # for the guest
	lab_run -- <<-'EOF'
		cd /tmp && export WORD="two words"
		$NB sh -c 'echo "$WORD $PWD"; echo there >&2; exit 7' || echo "status $?"
		$NB sleep 1000 &
		sleep 2
		kill -TERM $!
		wait $!
		echo "status $?"
		$NB sleep 2000 &
		sleep 2
		kill -KILL $!
		wait $! 2>/dev/null
		for i in 1 2 3 4 5 6 7 8 9 10; do $NB pgrep sleep || break; sleep 1; done
		$NB sh -c 'echo "<4>WARNING: planted at end B" >/dev/kmsg'
	EOF
	ok "output, status, signals of the other end" \
		out_is $'two words /tmp\nstatus 7\nstatus 143'
	ok "its stderr" err_has "^there$"
	ok "125 for a WARNING in its log" status_is 125
	ok "and the line is shown" err_has "planted at end B"
	# shellcheck disable=SC2016 # for the guest
	lab_run -- <<<'$NB sh -c "echo c >/proc/sysrq-trigger"; echo "status $?"'
	ok "125 for another guest that dies" status_is 125
	ok "with its last words" err_has "crash"
	ok "and the script knows" out_is "status 126"
}

check_usage() {
	: >"$TMP/out"
	"$LAB" run -k nonesuch - </dev/null >"$TMP/out" 2>"$TMP/err"
	STATUS=$?
	ok "an unknown kernel is refused" status_is 2
	"$LAB" run -t nonesuch - </dev/null >"$TMP/out" 2>"$TMP/err"
	STATUS=$?
	ok "an unknown topology is refused" status_is 2
	"$LAB" run -k "$KERNEL" -t "$TOPOLOGY" "$TMP/nonesuch" >"$TMP/out" 2>"$TMP/err"
	STATUS=$?
	ok "a script that is not there is told" status_is 126
}

CHECKS=("${@:3}")
[ ${#CHECKS[@]} -gt 0 ] ||
	CHECKS=(usage status_and_output arguments environment bulk_output live_output
		leftovers links faults crash boot pins timeout other two_at_once)
for check in "${CHECKS[@]}"; do
	"check_$check"
done

echo "1..$NUMBER"
[ "$FAILED" = 0 ]
