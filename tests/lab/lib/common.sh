# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# What every part of the lab uses: messages, locks, the cache.

# The lab's own exit codes, apart from what a script usually returns.
# shellcheck disable=SC2034 # used by the files that include this one
readonly EXIT_USAGE=2 EXIT_TIMEOUT=124 EXIT_FAULT=125 EXIT_LAB=126

say() {
	printf 'lab: %s\n' "$*" >&2
}

die() {
	say "error: $*"
	exit "$EXIT_LAB"
}

usage_error() {
	say "$*"
	say "see: lab help"
	exit "$EXIT_USAGE"
}

# step TEXT LOG COMMAND...: run a long step with its output in LOG, and say how
# long it took.  Of a step that fails the end of the log is shown.
step() {
	local text=$1 log=$2 begin=$SECONDS
	shift 2

	mkdir -p "${log%/*}"
	say "$text ..."
	if ("$@") >"$log" 2>&1 </dev/null; then
		say "$text: done in $((SECONDS - begin)) s"
		return 0
	fi
	say "$text: FAILED after $((SECONDS - begin)) s; the end of $log:"
	tail -n 40 "$log" | sed 's/^/  | /' >&2
	return 1
}

# A short name for content: the hash of standard input.
hash_of() {
	sha256sum | cut -c 1-12
}

# with_lock NAME COMMAND...: one lab at a time does this.  The lock goes with
# the process, so that nothing has to be cleaned up after a kill.
with_lock() {
	local file=$CACHE/lock/$1 fd status=0
	shift

	mkdir -p "$CACHE/lock"
	exec {fd}>"$file"
	if ! flock -n "$fd"; then
		say "waiting for another lab (${file##*/})"
		flock "$fd"
	fi
	"$@" || status=$?
	exec {fd}>&-
	return "$status"
}

need_root() {
	[ "$(id -u)" = 0 ] || die "must be run as root"
}

# Inside the root tree, in a mount namespace of its own, so that the mounts go
# when the command ends, however it ends.  BINDS are SOURCE:TARGET pairs,
# TARGET a path in the tree.
in_root() {
	local root=$1 binds=$2
	shift 2

	# shellcheck disable=SC2016 # for the inner shell
	BINDS=$binds unshare -m bash -c '
		set -e
		root=$1
		shift
		mount -t proc proc "$root/proc"
		mount --rbind /dev "$root/dev"
		mount -t tmpfs tmp "$root/tmp"
		for bind in $BINDS; do
			mkdir -p "$root/${bind#*:}"
			mount --bind "${bind%%:*}" "$root/${bind#*:}"
		done
		unset BINDS
		exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
			LC_ALL=C.UTF-8 TERM="${TERM:-dumb}" \
			chroot "$root" "$@"
	' in_root "$root" "$@"
}

# Where the kernel of a name comes from.
kernel_kind() {
	case $1 in
	perf | kasan | lockdep | ulp | ulp_kasan | ulp_lockdep | profile) echo uml ;;
	stock | stock73) echo stock ;;
	*) usage_error "no kernel '$1' (perf, kasan, lockdep, ulp, ulp_kasan, ulp_lockdep, profile, stock, stock73)" ;;
	esac
}
