#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Does libibverbs take the provider? RDMA_CORE_BUILD is a folder in which rdma-core
# and the provider were built. As root also: a faked device in sysfs.

build=$RDMA_CORE_BUILD
if [ -z "$build" ]; then
	echo "ok 1 - load # SKIP no build of the provider in RDMA_CORE_BUILD"
	exit 0
fi
n=0
rc=0

result() {
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n - load.$2"
	else
		echo "not ok $n - load.$2"
		rc=1
	fi
}

so=$(find "$build/lib" -name 'librove-rdmav*.so' | head -n 1)
[ -n "$so" ]
result $? library_is_built
[ -n "$so" ] || exit 1
version=$(basename "$so" .so)
version=${version#librove-rdmav}

# Only what a provider of this version may use, and nothing for others to use.
[ -z "$(nm -D --defined-only "$so")" ]
result $? exports_nothing
others=$(nm -D --undefined-only "$so" | grep -E ' _*(ibv|verbs)_' |
	grep -v "@IBVERBS_\(PRIVATE_$version\|1\.[0-9]*\)\$")
[ -z "$others" ]
result $? needs_only_its_version

# An executable that was built beside it, with the libibverbs of the same build.
tool=$build/bin/ibv_devices
# It may be missing, or made for another libc.
if [ ! -x "$tool" ] || LD_LIBRARY_PATH=$build/lib "$tool" 2>&1 | grep -q "not found"; then
	echo "ok $((n + 1)) - load.libibverbs_takes_it # SKIP no $tool that runs here"
	exit $rc
fi
if [ "$(id -u)" -ne 0 ] || ! unshare -m true 2>/dev/null; then
	echo "ok $((n + 1)) - load.libibverbs_takes_it # SKIP needs root"
	exit $rc
fi

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp/sys/class/infiniband_verbs/uverbs0" "$tmp/sys/class/infiniband/fake0"
echo 6 >"$tmp/sys/class/infiniband_verbs/abi_version"
echo fake0 >"$tmp/sys/class/infiniband_verbs/uverbs0/ibdev"
echo 231:192 >"$tmp/sys/class/infiniband_verbs/uverbs0/dev"
echo 100 >"$tmp/sys/class/infiniband_verbs/uverbs0/abi_version"
echo '1: CA' >"$tmp/sys/class/infiniband/fake0/node_type"
echo rove >"$tmp/sys/class/infiniband/fake0/node_desc"
echo 0200:00ff:fe00:0001 >"$tmp/sys/class/infiniband/fake0/node_guid"

# The device matches by driver id, which comes from the kernel alone; here it is
# enough that the library was loaded and had its say without a complaint.
# shellcheck disable=SC2016 # for the inner shell
unshare -m sh -c '
	mount -t tmpfs none /dev && mkdir /dev/infiniband && : >/dev/infiniband/uverbs0
	SYSFS_PATH=$1 RDMAV_DRIVERS=$2 LD_DEBUG=files LD_DEBUG_OUTPUT=$3 \
		IBV_SHOW_WARNINGS=1 LD_LIBRARY_PATH=$5 "$4" >"$3.out" 2>&1
' sh "$tmp/sys" "$build/lib/librove" "$tmp/ld" "$tool" "$build/lib"
cat "$tmp"/ld.[0-9]* | grep -q "calling init: .*librove-rdmav$version.so"
result $? libibverbs_loads_it
! grep "librove\|undefined symbol" "$tmp/ld.out"
result $? without_complaint
exit $rc
