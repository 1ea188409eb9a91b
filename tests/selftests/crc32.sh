#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Whose CRC-32 is used where crypto may have a faster one than the library: crypto's is
# here one that can be told to be fast, slow or wrong, and counts its calls.

# shellcheck disable=SC2015 # A && B || C: C if one of them is false
# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
MODULE=${ROVE_MODULES:-}/rove_crc32.ko
PARAMETERS=/sys/module/rove_crc32/parameters
[ "$TYPE" = rove ] || skip_all "the module is built in"
need_module
[ -e "$MODULE" ] || skip_all "crc32_le() is the fast one here, or there is no rove_crc32.ko"

set_to() { echo "$2" >"$PARAMETERS/$1"; }
calls() { cat "$PARAMETERS/calls"; }
not_right() { dmesg | grep -c 'rove: crc32-rove-test does not give a right CRC-32'; }

# loaded_with PARAMETER=VALUE COMMAND...: rove is loaded while crypto's is like this, and
# COMMAND is run when it is right again.  It is right at first, as crypto tries it.
loaded_with() {
	local status=0 way=$1
	shift

	rmmod rove && insmod "$MODULE" || return
	set_to "${way%=*}" "${way#*=}"
	modprobe rove || status=1
	echo "rove was loaded with $way: $(calls) calls"
	[ "$(calls)" -gt 0 ] || { echo "it did not look at crypto's"; status=1; }
	set_to wrong 0
	set_to fast 0
	[ "$status" != 0 ] || "$@" || status=$?
	rmmod rove && rmmod rove_crc32 && modprobe rove || return
	return "$status"
}

# Packets, some long and some short, that another one has to find right.
packets() {
	env -u NA -u NB bash "$SELFTESTS/capture.sh" "path MTU 1024"
}

used() {
	local before

	before=$(calls)
	packets || return
	echo "$(($(calls) - before)) calls"
	# 100 messages of 16 packets each way and their ends, each summed by who sends it
	# and by who takes it, where it may lie in pieces that are too short.
	[ $(($(calls) - before)) -ge 3000 ]
}

not_used() {
	local before

	before=$(calls)
	packets || return
	echo "$(($(calls) - before)) calls"
	[ "$(calls)" = "$before" ]
}

fast() { loaded_with fast=1 used; }
slow() { loaded_with fast=0 not_used; }

wrong() {
	local before

	before=$(not_right)
	loaded_with wrong=1 not_used || return
	[ "$(not_right)" = $((before + 1)) ] || { echo "the log does not tell"; return 1; }
}

# Nobody has one: rove is loaded all the same.
none() {
	local helper status=0

	rmmod rove || return
	rmmod crc32_pclmul 2>/dev/null
	rmmod crc32_generic 2>/dev/null
	if grep -qE '^name *: crc32$' /proc/crypto; then
		modprobe rove
		skip "crypto's CRC-32 cannot be unloaded"
	fi
	helper=$(cat /proc/sys/kernel/modprobe)
	echo /bin/false >/proc/sys/kernel/modprobe
	modprobe rove || status=1
	echo "$helper" >/proc/sys/kernel/modprobe
	! grep -E '^name *: crc32$' /proc/crypto || { echo "crypto has one"; status=1; }
	[ "$status" != 0 ] || packets || status=1
	rmmod rove && modprobe rove || return
	return "$status"
}

t "crypto's is used where it is faster" fast
t "crypto's is not used where it is not" slow
t "crypto's is not used where it is wrong" wrong
t "crypto has none" none
run_tests
