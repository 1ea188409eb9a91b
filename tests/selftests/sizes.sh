#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Message sizes: odd ones, and very big ones.

# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
need_pair

one_size() {
	local tool=$1 size=$2 count=$3
	shift 3

	pair -t 60 -- "$tool" -F -d "$RA" -x "$GID_A" -s "$size" -n "$count" "$@" \
		-- "$tool" -F -d "$RB" -x "$GID_B" -s "$size" -n "$count" "$@" "$IP_A"
}

# Odd sizes need padding, and make a mess of what was counted on to be even.
odd_sizes() {
	local size

	for size in 1 2 3 31 32 33 255 1023 1024 1025 4095 4096 4097 65537; do
		one_size "$1" "$size" 50 || { echo "size $size"; return 1; }
	done
}

memory_mb() { awk '/^MemAvailable/ { print int($2 / 1024) }' /proc/meminfo; }

# Both ends have two buffers of the size.
big() {
	local tool=$1 size=$2

	[ "$(memory_mb)" -gt $((size / 262144 + 512)) ] ||
		skip "needs $((size / 262144 + 512)) MB of memory"
	one_size "$tool" "$size" 5 -t 2
}

for tool in ib_write_bw ib_send_bw ib_read_bw; do
	t "$tool, odd sizes in bytes" odd_sizes "$tool"
done
t "ibv_rc_pingpong of 4097 bytes, data checked" pair -- \
	ibv_rc_pingpong -c -d "$RA" -g "$GID_A" -s 4097 -- \
	ibv_rc_pingpong -c -d "$RB" -g "$GID_B" -s 4097 "$IP_A"
t "rping of 65535 bytes, data checked" pair -r "cm:$RPING_PORT" -- \
	rping -s -a "$IP_A" -V -S 65535 -C 100 -- rping -c -a "$IP_A" -V -S 65535 -C 100
t "ib_read_bw of 8 MiB" one_size ib_read_bw 8388608 100
t "ib_write_bw of 1 GiB" big ib_write_bw 1073741824
t "ib_read_bw of 1 GiB" big ib_read_bw 1073741824
t "ib_send_bw of 1 GiB" big ib_send_bw 1073741824
t "nothing is left" leaves_nothing
run_tests
