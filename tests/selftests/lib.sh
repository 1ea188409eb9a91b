# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# What every test here shares.
#
#	namespace A              namespace B
#	link  $RA (ra)           link  $RB (rb)
#	netdev $EA (ea) ---veth--- netdev $EB (eb)
#	10.0.0.1                 10.0.0.2
#	2001:db8::1              2001:db8::2
#
# The lab makes this and sets NA and NB, what to put before a command to run it
# at either end.  Where they are not set, it is made here and goes at the end.
#
# A test is a function that returns 0, or a status, or calls skip.  A script
# names its tests with t and ends with run_tests, which prints KTAP.  What a
# test prints is shown only if it fails (always with V=1).
#
#	ROVE_QUICK=1	smaller counts, for guests that are emulated
#	V=1		show what tests print
#	SCRIPT PATTERN	run only the tests whose name matches
#
# shellcheck disable=SC2034 # much here is for the scripts

set -u

SELFTESTS=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
readonly SELFTESTS
readonly KSFT_SKIP=4
export LC_ALL=C

QUICK=${ROVE_QUICK:-}
RA=${RA:-ra} RB=${RB:-rb} EA=${EA:-ea} EB=${EB:-eb}
readonly IP_A=10.0.0.1 IP_B=10.0.0.2 IP6_A=2001:db8::1 IP6_B=2001:db8::2
readonly PERFTEST_PORT=18515 CM_PORT=7471 RPING_PORT=7174

# Against rxe the tests tell a fault of a tool from one of ours.
TYPE=rove
[ "${LAB_TOPOLOGY:-}" != rxe ] || TYPE=rxe

# Debug kernels and emulated machines take longer; limits grow with that.
case ${LAB_KERNEL:-} in
kasan | ulp_kasan) SLOW=3 ;;
lockdep | ulp_lockdep) SLOW=5 ;;
stock*) SLOW=10 ;;
*) SLOW=2 ;;
esac
LIMIT=$((30 * SLOW))

T=$(mktemp -d "${TMPDIR:-/tmp}/rove-test.XXXXXX") || exit 1
TOPOLOGY_MADE=
ONLY=${1:-}

# ----------------------------------------------------------------- the topology

cleanup() {
	local job

	for job in $(jobs -p); do
		kill -TERM "$job" 2>/dev/null
	done
	[ -z "$TOPOLOGY_MADE" ] || unmake_topology
	rm -rf "${T:?}"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

skip_all() {
	echo "TAP version 13"
	echo "1..0 # SKIP $*"
	exit "$KSFT_SKIP"
}

unmake_topology() {
	rdma link del "$RA" 2>/dev/null
	rdma link del "$RB" 2>/dev/null
	ip netns del "$NS_A" 2>/dev/null
	ip netns del "$NS_B" 2>/dev/null
}

need_module() {
	[ "$(id -u)" = 0 ] || skip_all "must be run as root"
	modprobe rove 2>/dev/null || [ -d /sys/module/rove ] ||
		skip_all "there is no module rove"
}

# Two namespaces with addresses and no links; a and b run commands there.
make_ends() {
	NS_A=rove-$$-a NS_B=rove-$$-b
	RA=rt$$a RB=rt$$b
	NA="ip netns exec $NS_A"
	NB="ip netns exec $NS_B"
	read -ra AT_A <<<"$NA"
	read -ra AT_B <<<"$NB"
	TOPOLOGY_MADE=1
	if ! { ip netns add "$NS_A" && ip netns add "$NS_B" && make_veth; }; then
		skip_all "cannot make two namespaces"
	fi
}

make_veth() {
	ip link add "$EA" netns "$NS_A" mtu 4200 type veth \
		peer name "$EB" netns "$NS_B" mtu 4200 &&
		set_address "$NS_A" "$EA" "$IP_A" "$IP6_A" &&
		set_address "$NS_B" "$EB" "$IP_B" "$IP6_B"
}

make_links() {
	a rdma link add "$RA" type "$TYPE" netdev "$EA" &&
		b rdma link add "$RB" type "$TYPE" netdev "$EB" &&
		wait_until 10 both_have_gids
}

make_topology() {
	need_module
	make_ends
	make_links || skip_all "cannot make the links"
}

# set_address NAMESPACE NETDEV IPV4 IPV6
set_address() {
	! have_ipv6 || ip netns exec "$1" sysctl -qw "net.ipv6.conf.$2.accept_dad=0" \
		"net.ipv6.conf.$2.dad_transmits=0"
	ip -n "$1" link set lo up
	ip -n "$1" addr replace "$3/24" dev "$2" &&
		ip -n "$1" link set "$2" up || return
	! have_ipv6 ||
		ip -n "$1" addr replace "$4/64" dev "$2" nodad
}

# For scripts that need both ends.  Those that make their own leave it out.
need_pair() {
	[ -n "${NA:-}" ] || make_topology
	read -ra AT_A <<<"$NA"
	read -ra AT_B <<<"$NB"
	wait_until 10 both_have_gids || skip_all "no GIDs on $RA and $RB"
}

a() { "${AT_A[@]}" "$@"; }
b() { "${AT_B[@]}" "$@"; }

# ------------------------------------------------------------------ conditions

# wait_until SECONDS CONDITION...
wait_until() {
	local end=$((SECONDS + $1 * SLOW / 2 + 1))
	shift

	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.02
	done
}

# at DEVICE COMMAND...: what looks at a device, where it can be seen: two guests have one
# each, namespaces of one share them.
at() {
	local device=$1
	shift

	if [ "${LAB_TOPOLOGY:-}" = two ] && [ "$device" = "$RB" ]; then
		b "$@"
	else
		"$@"
	fi
}

# gid_index DEVICE v4|v6|ll: the first one of that kind, RoCE v2.
gid_index() {
	local what i value
	local -a gids=() types=()

	# shellcheck disable=SC2016 # for the inner shell
	while IFS=/: read -r what i value; do
		case $what in
		gids) gids[i]=$value ;;
		types) types[i]=$value ;;
		esac
	done < <(at "$1" sh -c 'cd "/sys/class/infiniband/$1/ports/1" && grep -Hs . gids/* &&
		cd gid_attrs && grep -Hs . types/*' sh "$1" 2>/dev/null)
	for i in "${!gids[@]}"; do
		if [ "$(gid_kind "${gids[i]}")" = "$2" ] && [ "${types[i]:-}" = "RoCE v2" ]; then
			echo "$i"
			return
		fi
	done
	return 1
}

gid_kind() {
	case $1 in
	0000:0000:0000:0000:0000:0000:0000:0000) echo none ;;
	0000:0000:0000:0000:0000:ffff:*) echo v4 ;;
	fe80:*) echo ll ;;
	*) echo v6 ;;
	esac
}

# Not on a machine with ipv6.disable=1.
have_ipv6() {
	[ -e /proc/net/if_inet6 ]
}

# need_ipv6 COMMAND...: what the machine has no IPv6 for is skipped.
need_ipv6() {
	have_ipv6 || skip "no IPv6 here"
	"$@"
}

both_have_gids() {
	GID_A=$(gid_index "$RA" v4) && GID_B=$(gid_index "$RB" v4) || return
	! have_ipv6 ||
		{ gid_index "$RA" v6 >/dev/null && gid_index "$RB" v6 >/dev/null; }
}

# Numbers of the queue pairs of A that programs use.
qpns() {
	rdma resource show qp link "$RA/1" | grep 'type RC' |
		sed -n 's/.* lqpn \([0-9]*\) .*/\1/p'
}

# counter DEVICE NAME
counter() {
	at "$1" rdma statistic show link "$1/1" | awk -v name="$2" '
		{ for (i = 1; i < NF; i++) if ($i == name) { print $(i + 1); found = 1; exit } }
		END { exit !found }'
}

# no_rise DEVICE BEFORE-FILE NAME...: counters are what they were when the file
# was written by counters_of.
counters_of() {
	at "$1" rdma statistic show link "$1/1" | awk '
		{ for (i = $1 == "link" ? 3 : 1; i < NF; i += 2) print $i, $(i + 1) }'
}

no_rise() {
	local dev=$1 before=$2 name was is bad=0
	shift 2

	for name in "$@"; do
		was=$(awk -v name="$name" '$1 == name { print $2 }' "$before")
		is=$(counter "$dev" "$name") || {
			echo "$dev has no counter $name"
			return 1
		}
		[ "$was" = "$is" ] && continue
		echo "$dev: $name rose from $was to $is"
		bad=1
	done
	return "$bad"
}

# over_rove COMMAND...: what it does must have gone over the link, and not by a way
# around that a program finds when RDMA does not work.
over_rove() {
	local before after

	before=$(counter "$RA" rx_packets)
	"$@" || return
	after=$(counter "$RA" rx_packets)
	echo "$RA received $((after - before)) packets"
	[ $((after - before)) -ge 20 ]
}

# What user space still holds of our two devices; the kernel's own objects have
# the user's name in brackets.
left_over() {
	local device

	for device in "$RA" "$RB"; do
		# shellcheck disable=SC2016 # for the inner shell
		at "$device" sh -c 'for kind in qp cq mr pd cm_id ctx srq; do
			rdma resource show "$kind" 2>/dev/null | sed "s/^/$kind: /"
		done' | grep -E "^[a-z_]+: (dev|link) ${device}[ /]" | grep -v 'comm \['
	done
}

nothing_left() {
	[ -z "$(left_over)" ]
}

leaves_nothing() {
	wait_until 5 nothing_left && return
	left_over
	return 1
}

readonly HUGE=/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages

# more_huge_pages NUMBER: than there are (-NUMBER afterwards); false where there are none.
more_huge_pages() {
	[ -w "$HUGE" ] && echo $(($(cat "$HUGE") + $1)) >"$HUGE"
}

# ------------------------------------------------------------ helper programs

# need_program NAME [LIBRARY...]: PROGRAM is the one of NAME.c, built here if make
# has not done it.
need_program() {
	PROGRAM=$SELFTESTS/$1
	[ ! -x "$PROGRAM" ] || return 0
	command -v gcc >/dev/null || skip_all "no compiler"
	gcc -E -include infiniband/verbs.h -x c /dev/null >/dev/null 2>&1 ||
		skip_all "no headers of libibverbs"
	PROGRAM=$T/$1
	gcc -O2 -Wall -Wextra -o "$PROGRAM" "$SELFTESTS/$1.c" "${@:2}" || exit 1
}

has_pyverbs() {
	python3 -c 'import pyverbs.device' 2>/dev/null
}

# by_verbs [-t SECONDS] PROGRAM [ARG...]: a script in Python here, which has both ends
# in its hands.
by_verbs() {
	local limit=60

	[ "${LAB_TOPOLOGY:-}" != two ] || skip "needs both ends in one process"
	if [ "$1" = -t ]; then
		limit=$2
		shift 2
	fi
	SLOW=$SLOW NA=$NA NB=$NB EA=$EA EB=$EB PYTHONDONTWRITEBYTECODE=1 timeout -k 5 $((limit * SLOW)) \
		python3 "$SELFTESTS/$1" "$RA" "$RB" "$GID_A" "$GID_B" "${@:2}"
}

# all_by_verbs PROGRAM: for scripts that have no tests but those of PROGRAM, which
# prints KTAP itself.
all_by_verbs() {
	local status=0

	has_pyverbs || skip_all "no pyverbs"
	[ "${LAB_TOPOLOGY:-}" != two ] || skip_all "needs both ends in one process"
	by_verbs "$1" "$ONLY" || status=$?
	[ "$status" -le 1 ] ||
		echo "# the program ended with status $status ($(status_text "$status"))"
	exit "$status"
}

# -------------------------------------------------------------- server, client

# pair [-r READY] [-t SECONDS] [-S STATUS] -- SERVER... -- CLIENT...
#
# Starts SERVER in A, waits until it is READY, runs CLIENT in B; both must
# return 0.  READY is tcp:PORT or cm:PORT (listens there) or log:REGEX (of what
# the server prints).
# -S any: the server may return what it wants (it is ended if it does not end).
pair() {
	local ready=tcp:$PERFTEST_PORT limit=$LIMIT serverstatus=0
	local -a server=()

	while [ "$1" != -- ]; do
		case $1 in
		-r) ready=$2 ;;
		-t) limit=$(($2 * SLOW)) ;;
		-S) serverstatus=$2 ;;
		esac
		shift 2
	done
	shift
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift

	echo "A: ${server[*]}"
	echo "B: $*"
	start_server "$ready" "$limit" "${server[@]}" || return
	run_client "$limit" "$@"
	end_pair "$serverstatus"
}

# start_server READY SECONDS COMMAND...: SERVER is its process.
start_server() {
	local ready=$1 limit=$2
	shift 2

	# Before the job: what the last server said must not be taken for this one's.
	: >"$T/server"
	"${AT_A[@]}" timeout -k 2 "$limit" "$@" >"$T/server" 2>&1 &
	SERVER=$!
	if ! wait_until 10 server_is_up "$ready" || ! kill -0 "$SERVER" 2>/dev/null; then
		stop "$SERVER"
		echo "the server is not ready ($ready); it said:"
		cat "$T/server"
		return 1
	fi
}

# Also true when it is gone, so that nobody waits for it.
server_is_up() {
	kill -0 "$SERVER" 2>/dev/null || return 0
	case $1 in
	tcp:*) listens "$SERVER" "${1#*:}" ;;
	cm:*) cm_listens "${1#*:}" ;;
	log:*) grep -qE -- "${1#*:}" "$T/server" ;;
	esac
}

# A TCP port in the namespace of a process; no command is run for it.
listens() {
	local port line

	printf -v port '%04X' "$2"
	while read -r line; do
		case $line in
		*": "*":$port "*":0000 0A "*) return 0 ;;
		esac
	done 2>/dev/null < <(cat "/proc/$1/net/tcp" "/proc/$1/net/tcp6")
	return 1
}

# It is shown as listening before requests are taken (the core sets the state first): so
# its process must have come to rest too; one that polls must have run for half a second.
cm_listens() {
	local pid ran
	local -a stat

	pid=$(a rdma resource show cm_id 2>/dev/null |
		sed -nE "s/.*state LISTEN.* pid ([0-9]+) .*src-addr [^ ]*:$1( .*)?\$/\1/p" | head -n 1)
	[ -n "$pid" ] && read -ra stat 2>/dev/null <"/proc/$pid/stat" || return
	[ "${stat[2]}" = S ] && return
	ran=$((stat[13] + stat[14]))
	RAN_BEFORE[pid]=${RAN_BEFORE[pid]:-$ran}
	[ "$ran" -ge $((RAN_BEFORE[pid] + $(getconf CLK_TCK) / 2)) ]
}
RAN_BEFORE=()

run_client() {
	local limit=$1
	shift

	"${AT_B[@]}" timeout -k 2 "$limit" "$@" >"$T/client" 2>&1
	CLIENT_STATUS=$?
}

end_pair() {
	local status=0

	if [ "$CLIENT_STATUS" != 0 ] || [ "$1" = any ]; then
		stop "$SERVER"
	else
		wait "$SERVER"
		status=$?
	fi
	[ "$1" != any ] || status=0
	[ "$CLIENT_STATUS" = 0 ] && [ "$status" = 0 ] && return
	echo "client: status $CLIENT_STATUS ($(status_text "$CLIENT_STATUS")); it said:"
	tail -n 40 "$T/client"
	echo "server: status $status ($(status_text "$status")); it said:"
	tail -n 40 "$T/server"
	return 1
}

status_text() {
	case $1 in
	124 | 137) echo "out of time" ;;
	134 | 135 | 139) echo "crashed" ;;
	0) echo "well" ;;
	*) echo "failed" ;;
	esac
}

# End a background job that timeout bounds: it passes TERM on, and KILL. Again and again,
# since bash loses one that comes before the job has become its command.
stop() {
	while kill -TERM "$1" 2>/dev/null; do
		sleep 0.05
	done
	wait "$1" 2>/dev/null
	return 0
}

client_says() {
	grep -qE -- "$1" "$T/client" && return
	echo "the client did not say '$1', but:"
	tail -n 40 "$T/client"
	return 1
}

# A connection from B to A works, whatever was there before.
works_again() {
	pair -- ibv_rc_pingpong -d "$RA" -g "$GID_A" -c -n 100 \
		-- ibv_rc_pingpong -d "$RB" -g "$GID_B" -c -n 100 "$IP_A"
}

# ------------------------------------------------------------------------ KTAP

TEST_NAMES=()
TEST_COMMANDS=()

# t NAME COMMAND...: a test.  Words of the command have no spaces.
t() {
	TEST_NAMES+=("$1")
	shift
	TEST_COMMANDS+=("$*")
}

# Called in a test: skip REASON.
skip() {
	echo "$*" >"$T/skip"
	exit "$KSFT_SKIP"
}

run_tests() {
	local i status begin failed=0 number=0
	local -a wanted=()

	for i in "${!TEST_NAMES[@]}"; do
		[ -n "$ONLY" ] && [[ ${TEST_NAMES[i]} != *$ONLY* ]] && continue
		wanted+=("$i")
	done
	echo "TAP version 13"
	echo "1..${#wanted[@]}"
	for i in "${wanted[@]}"; do
		number=$((number + 1))
		rm -f "$T/skip"
		status=0
		begin=$SECONDS
		# shellcheck disable=SC2086 # words
		one_test ${TEST_COMMANDS[i]} >"$T/log" 2>&1 || status=$?
		[ $((SECONDS - begin)) -lt 5 ] || echo "# $((SECONDS - begin)) s:"
		tell "$number" "$status" "${TEST_NAMES[i]}"
		case $status in 0 | "$KSFT_SKIP") ;; *) failed=$((failed + 1)) ;; esac
	done
	[ "$failed" = 0 ] || exit 1
	exit 0
}

# In a process of its own, which takes what it started with it.
one_test() (
	trap 'for job in $(jobs -p); do stop "$job"; done' EXIT
	"$@"
)

# tell NUMBER STATUS NAME
tell() {
	case $2 in
	0)
		[ -z "${V:-}" ] || sed 's/^/# /' "$T/log"
		echo "ok $1 $3"
		;;
	"$KSFT_SKIP") echo "ok $1 $3 # SKIP $(cat "$T/skip" 2>/dev/null)" ;;
	*)
		tail -n 100 "$T/log" | sed 's/^/# /'
		echo "# status $2"
		echo "not ok $1 $3"
		;;
	esac
}
