#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The module comes and goes, and netdevs change under the links.

# shellcheck disable=SC2015 # A && B || C: C if one of them is false
# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
[ "$TYPE" = rove ] || skip_all "the module is built in"
need_module
make_ends

CYCLES=100
[ -z "$QUICK" ] || CYCLES=10

loaded() { [ -d /sys/module/rove ]; }
gone() { ! kill -0 "$1" 2>/dev/null; }
no_links() { ! rdma link show | grep -qE "link ($RA|$RB)/"; }
port_is() { rdma link show "$1/1" | grep -q "state $2 "; }

cycles() {
	local i

	for ((i = 0; i < CYCLES; i++)); do
		rmmod rove || { echo "cycle $i: not unloaded"; return 1; }
		modprobe rove || { echo "cycle $i: not loaded"; return 1; }
	done
}

# Unloading takes the links with it.
cycles_with_links() {
	local i

	for ((i = 0; i < CYCLES / 5; i++)); do
		a rdma link add "$RA" type rove netdev "$EA" &&
			b rdma link add "$RB" type rove netdev "$EB" || return
		rmmod rove || { echo "cycle $i: not unloaded"; return 1; }
		no_links || { echo "cycle $i: links stay"; return 1; }
		modprobe rove || return
	done
}

# `rdma link add` brings the module.
loads_by_itself() {
	rmmod rove || return
	a rdma link add "$RA" type rove netdev "$EA" || return
	loaded && rdma link del "$RA"
}

# With a process that holds the device: refused, or the process loses it.
held() {
	local holder status=0

	make_links || return
	start_server "tcp:$PERFTEST_PORT" "$LIMIT" ibv_rc_pingpong -d "$RA" -g "$GID_A" || return
	holder=$SERVER
	timeout 60 rmmod rove 2>"$T/said" || status=$?
	cat "$T/said"
	[ "$status" != 124 ] || { echo "rmmod hangs"; return 1; }
	echo "rmmod with a user: status $status"
	stop "$holder"
	if [ "$status" = 0 ]; then
		modprobe rove && make_links || return
	fi
	works
}

works() {
	wait_until 10 both_have_gids && pingpong 1024
}

# pingpong MTU
pingpong() {
	pair -- ibv_rc_pingpong -d "$RA" -g "$GID_A" -m "$1" -c -n 100 \
		-- ibv_rc_pingpong -d "$RB" -g "$GID_B" -m "$1" -c -n 100 "$IP_A"
}

active_mtu() { a ibv_devinfo -d "$RA" | sed -n 's/^[[:space:]]*active_mtu:[[:space:]]*\([0-9]*\).*/\1/p'; }
active_mtu_is() { [ "$(active_mtu)" = "$1" ]; }

# IPv6 leaves a netdev whose MTU is below 1280, and comes back by hand.
ipv6_back() {
	a ip addr replace "$IP6_A/64" dev "$EA" nodad && b ip addr replace "$IP6_B/64" dev "$EB" nodad
}

# gids_settle MTU: where IPv6 leaves, its GIDs do, and a little later the default one, for
# which all of the netdev are made anew.
gids_settle() {
	GID_A=$(gid_index "$RA" v4) && GID_B=$(gid_index "$RB" v4) || return
	[ "$1" -ge 1280 ] || ! { gid_index "$RA" ll || gid_index "$RB" ll; } >/dev/null
}

# The largest path MTU that fits with all headers.
mtu_follows() {
	local pair

	wait_until 10 both_have_gids || return
	for pair in 1500:1024 620:512 400:256 2200:2048 9000:4096 4200:4096; do
		a ip link set "$EA" mtu "${pair%:*}"
		b ip link set "$EB" mtu "${pair%:*}"
		wait_until 2 active_mtu_is "${pair#*:}" || {
			echo "netdev ${pair%:*}: $(active_mtu), wanted ${pair#*:}"
			return 1
		}
		wait_until 5 gids_settle "${pair%:*}" || return
		pingpong "${pair#*:}" || return
	done
	ipv6_back && works
}

# The name of a netdev is not what a link hangs on.
netdev_renamed() {
	a ip link set "$EA" down
	a ip link set "$EA" name other || return
	a ip link set other up
	wait_until 5 port_is "$RA" ACTIVE || return
	a rdma link show "$RA/1" | grep -q "netdev other" || { echo "the old name is shown"; return 1; }
	a ip link set other down
	a ip link set other name "$EA"
	a ip link set "$EA" up
	a ip addr add "$IP6_A/64" dev "$EA" nodad 2>/dev/null
	works
}

link_renamed() {
	rdma dev set "$RA" name "${RA}n" || return
	RA=${RA}n works || return
	rdma dev set "${RA}n" name "$RA" && works
}

# A netdev that moves to another namespace leaves its link behind.
netdev_moved() {
	ip netns add "$NS_A-c" || return
	a ip link set "$EA" netns "$NS_A-c" || return
	wait_until 5 link_gone || { echo "the link stays"; return 1; }
	[ -z "$(a ss -Huln sport = :4791)" ] || { echo "the listener stays"; return 1; }
	ip netns exec "$NS_A-c" ip link set "$EA" netns "$NS_A"
	ip netns del "$NS_A-c"
	set_address "$NS_A" "$EA" "$IP_A" "$IP6_A"
	a rdma link add "$RA" type rove netdev "$EA" && works
}

link_gone() { ! rdma link show "$RA/1" >/dev/null 2>&1; }

received() { b cat "/sys/class/net/$EB/statistics/rx_bytes"; }
data_flows() { [ $(($(received) - FIRST)) -gt 1000000 ]; }

# The netdev is deleted with traffic on: never a wait for its last reference.
unregister_in_use() {
	local begin status=0 i

	for i in 1 2 3; do
		wait_until 10 both_have_gids || return
		start_server "tcp:$PERFTEST_PORT" "$LIMIT" ib_send_bw -F -d "$RA" -x "$GID_A" -u 12 -D 60 -b ||
			return
		FIRST=$(received)
		"${AT_B[@]}" timeout -k 2 "$LIMIT" ib_send_bw -F -d "$RB" -x "$GID_B" -u 12 -D 60 -b \
			"$IP_A" >"$T/client" 2>&1 &
		wait_until 20 data_flows || { echo "no data flows"; cat "$T/client"; status=1; }
		begin=$SECONDS
		timeout 60 ip -n "$NS_A" link del "$EA" || { echo "round $i: not deleted"; return 1; }
		echo "round $i: deleted in $((SECONDS - begin)) s"
		[ $((SECONDS - begin)) -le $((5 * SLOW / 2)) ] || status=1
		stop "$!"
		stop "$SERVER"
		wait_until 10 no_links || { echo "round $i: links stay"; return 1; }
		make_veth && make_links || return
	done
	works && return "$status"
}

# A namespace goes with all that is in it.
namespace_deleted() {
	stop_nothing=$(ip netns pids "$NS_A")
	[ -z "$stop_nothing" ] || { echo "processes $stop_nothing in the namespace"; return 1; }
	ip netns del "$NS_A" || return
	wait_until 20 no_links || { echo "links stay: $(rdma link show)"; return 1; }
	ip netns add "$NS_A" && make_veth && make_links && works
}

t "unloaded and loaded $CYCLES times" cycles
t "unloaded and loaded with links" cycles_with_links
t "loaded by rdma link add" loads_by_itself
t "unloaded while a process holds the device" held
t "active MTU follows the netdev" mtu_follows
t "the netdev is renamed" netdev_renamed
t "the link is renamed" link_renamed
t "the netdev moves to another namespace" netdev_moved
t "the netdev is deleted with traffic on" unregister_in_use
t "the namespace is deleted" namespace_deleted
t "nothing is left" leaves_nothing
run_tests
