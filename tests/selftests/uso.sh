#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# NICs with UDP segmentation offload: they are given trains whole, and cut them without
# knowing what is inside; see uso_nic.py. What comes out of them is read by the decoder.

# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
[ "${LAB_TOPOLOGY:-none}" = none ] || skip_all "makes both ends itself (topology none)"
FRAMES=$SELFTESTS/../interop/frames.py
export PYTHONDONTWRITEBYTECODE=1
MTU=4200

end_nic() {
	[ -z "${NIC:-}" ] || stop "$NIC"
	NIC=
}
trap 'end_nic; cleanup' EXIT

# In place of the veth that the library would make.
make_veth() {
	[ -c /dev/net/tun ] || skip_all "no taps"
	python3 "$SELFTESTS/uso_nic.py" "$EA" "$EB" "$T/wire.pcap" >"$T/nic" 2>&1 &
	NIC=$!
	wait_until 10 grep -q ready "$T/nic" || skip_all "no taps with UDP segmentation: $(cat "$T/nic")"
	ip link set "$EA" mtu "$MTU" netns "$NS_A" && ip link set "$EB" mtu "$MTU" netns "$NS_B" &&
		set_address "$NS_A" "$EA" "$IP_A" "$IP6_A" &&
		set_address "$NS_B" "$EB" "$IP_B" "$IP6_B"
}

make_topology
both_have_gids || skip_all "no GIDs on $RA and $RB"

offloaded() {
	a ethtool -k "$EA" | grep -q "tx-udp-segmentation: on"
}

# READ one way, WRITE the other, SEND both ways, verified.
moved() {
	pair -r "cm:$RPING_PORT" -- rping -s -a "$1" -V -S 65535 -C 5 \
		-- rping -c -a "$1" -V -S 65535 -C 5
}

# 16 packets at a time: this NIC is a slow one.
sent() {
	pair -- ibv_rc_pingpong -d "$RA" -g "$GID_A" -c -m "$1" -s $(($1 * 15 + 1)) -n 10 \
		-- ibv_rc_pingpong -d "$RB" -g "$GID_B" -c -m "$1" -s $(($1 * 15 + 1)) -n 10 "$IP_A"
}

small_messages() {
	pair -- ib_write_bw -F -d "$RA" -x "$GID_A" -s 9 -l 16 -n 320 \
		-- ib_write_bw -F -d "$RB" -x "$GID_B" -s 9 -l 16 -n 320 "$IP_A"
}

# The NIC cut trains, and all that left it is right.
wire_is_right() {
	local trains

	end_nic
	cat "$T/nic"
	trains=$(sed -n 's/^\([0-9]*\) trains were cut into .*/\1/p' "$T/nic")
	[ "${trains:-0}" -ge 20 ] &&
		python3 "$FRAMES" --mtu "$MTU" --sums right "$T/wire.pcap"
}

t "the NIC has UDP segmentation offload" offloaded
t "WRITE and READ, IPv4" moved "$IP_A"
t "WRITE and READ, IPv6" need_ipv6 moved "$IP6_A"
for mtu in 256 1024 4096; do
	t "SEND at path MTU $mtu" sent "$mtu"
done
t "small messages in lists" small_messages
t "nothing is left" leaves_nothing
t "trains were cut into right packets" wire_is_right
run_tests
