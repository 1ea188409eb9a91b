#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Links: added and deleted, in namespaces, with bad input, on netdevs of other
# kinds, and their addresses.

# shellcheck disable=SC2015 # A && B || C: C if one of them is false
# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
[ "$TYPE" = rxe ] || need_module
make_ends

ROUNDS=200
[ -z "$QUICK" ] || ROUNDS=20

# Somebody listens on UDP 4791 there.
listener() { [ -n "$("$@" ss -Huln sport = :4791)" ]; }
no_listener() { ! listener "$@"; }

add() { a rdma link add "$RA" type "$TYPE" netdev "$EA"; }
del() { rdma link del "$RA"; }

linked() { rdma link show "$1/1" >/dev/null 2>&1; }

# fresh COMMAND...: without links, whatever the test before left.
fresh() {
	local link

	for link in "$RA" "$RB" "${RA}x" rtrxe; do
		rdma link del "$link" 2>/dev/null
	done
	a ip link del more0 2>/dev/null
	a ip link del tunnel 2>/dev/null
	"$@"
}

# Listener and device come and go, in that namespace and no other.
add_and_delete() {
	local i

	for ((i = 0; i < ROUNDS; i++)); do
		add || return
		listener a || { echo "round $i: no listener in A"; return 1; }
		no_listener b && no_listener command || { echo "round $i: a listener elsewhere"; return 1; }
		del || return
		no_listener a || { echo "round $i: the listener stays"; return 1; }
	done
	! linked "$RA"
}

# The listener goes with the last link of the namespace.
two_links() {
	a ip link add more0 type veth peer name more1
	a ip link set more0 up
	a ip link set more1 up
	add && a rdma link add "${RA}x" type "$TYPE" netdev more0 || return
	del && listener a || { echo "the listener went with the first link"; return 1; }
	rdma link del "${RA}x" && no_listener a && a ip link del more0
}

# fails ERRNO-TEXT COMMAND...: with this error, and nothing is left of it.
fails() {
	local text=$1 said status=0
	shift

	said=$("$@" 2>&1) || status=$?
	echo "$*: status $status, $said"
	[ "$status" != 0 ] && [[ $said == *"$text"* ]]
}

name_taken() {
	add || return
	fails "File exists" b rdma link add "$RA" type "$TYPE" netdev "$EB" &&
		no_listener b && del
}

netdev_taken() {
	add || return
	fails "File exists" a rdma link add "${RA}x" type "$TYPE" netdev "$EA" || return
	listener a || { echo "the listener went"; return 1; }
	del && no_listener a
}

no_netdev() {
	# iproute2 itself looks the name up, where the caller is.
	fails "" a rdma link add "$RA" type "$TYPE" netdev nothere && no_listener a && ! linked "$RA"
}

wrong_kind() {
	# The device node comes with the module.
	modprobe -q tun
	a ip tuntap add dev tunnel mode tun || return
	a ip link set tunnel up
	fails "not supported" a rdma link add "$RA" type "$TYPE" netdev tunnel && no_listener a &&
		! linked "$RA" && a ip link del tunnel
}

loopback_refused() {
	fails "not supported" a rdma link add "$RA" type "$TYPE" netdev lo && no_listener a &&
		! linked "$RA"
}

# Another program has the port there.
port_taken() {
	local holder

	"${AT_A[@]}" timeout "$LIMIT" python3 -c '
import socket, time
s = [socket.socket(f, socket.SOCK_DGRAM) for f in (socket.AF_INET, socket.AF_INET6)]
s[1].setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
for one in s:
    one.bind(("", 4791))
time.sleep(600)' &
	holder=$!
	wait_until 10 listener a || return
	fails "in use" a rdma link add "$RA" type "$TYPE" netdev "$EA" && ! linked "$RA" || return
	stop "$holder"
	add && del
}

# And rxe in the same namespace.
rxe_has_port() {
	modprobe -q rdma_rxe && [ "$TYPE" = rove ] || skip "no rdma_rxe here"
	[ "${LAB_KERNEL:-}" != stock ] || skip "rxe of this kernel knows one namespace only"
	a ip link add more0 type veth peer name more1
	a ip link set more0 up
	a rdma link add rtrxe type rxe netdev more0 2>"$T/said" || skip "rxe: $(cat "$T/said")"
	fails "in use" a rdma link add "$RA" type "$TYPE" netdev "$EA"
	local status=$?
	rdma link del rtrxe
	a ip link del more0
	[ "$status" = 0 ] && ! linked "$RA" && add && del
}

bad_name() {
	fails "" a rdma link add "" type "$TYPE" netdev "$EA" &&
		fails "" a rdma link add "$(printf 'x%.0s' {1..100})" type "$TYPE" netdev "$EA" &&
		no_listener a
}

no_such_type() { fails "" a rdma link add "$RA" type nosuch netdev "$EA"; }

delete_twice() {
	add && del && fails "" rdma link del "$RA"
}

# ---------------------------------------------------------------------- addresses

# All GIDs of a device, in the form of the address they stand for.
gids() {
	cat "/sys/class/infiniband/$1/ports/1/gids/"* 2>/dev/null |
		grep -v '^0000:0000:0000:0000:0000:0000:0000:0000$' | sort -u
}

# The netdev's addresses in the form that the table has.
addresses() {
	"$@" python3 -c '
import ipaddress, json, subprocess, sys
out = subprocess.run(["ip", "-j", "addr", "show", "dev", sys.argv[1]],
                     stdout=subprocess.PIPE, check=True).stdout
for one in json.loads(out)[0]["addr_info"]:
    address = one["local"] if one["family"] == "inet6" else "::ffff:" + one["local"]
    print(ipaddress.IPv6Address(address).packed.hex(":", 2))' "$EA" | sort -u
}

same_gids() { [ "$(gids "$RA")" = "$(addresses a)" ]; }

# GIDs are the netdev's addresses, no more and no less, within a second.
table_is_right() {
	wait_until 1 same_gids && return
	echo "$1: GIDs:"
	gids "$RA"
	echo "addresses:"
	addresses a
	return 1
}

gids_follow() {
	make_links || return
	table_is_right "at first" || return
	a ip addr add 10.0.7.7/24 dev "$EA"
	table_is_right "10.0.7.7 added" || return
	a ip addr add 2001:db8:7::7/64 dev "$EA" nodad
	table_is_right "2001:db8:7::7 added" || return
	a ip addr del 10.0.7.7/24 dev "$EA"
	table_is_right "10.0.7.7 deleted" || return
	a ip addr del 2001:db8:7::7/64 dev "$EA"
	table_is_right "2001:db8:7::7 deleted" || return
	local own
	own=$(a ip -6 -o addr show dev "$EA" scope link | awk '{ print $4; exit }')
	a ip -6 addr flush dev "$EA" scope link
	table_is_right "link-local address deleted" || return
	# Without one the kernel cannot find neighbours for others than its own packets.
	a ip addr add "$own" dev "$EA" nodad
	table_is_right "link-local address added"
}

# every_gid [BEFORE...]: every entry of both tables can be talked to.
every_gid() {
	local kind from to

	wait_until 5 both_have_gids || return
	for kind in v4 v6 ll; do
		from=$(gid_index "$RA" "$kind") && to=$(gid_index "$RB" "$kind") || continue
		"$@"
		pair -- ibv_rc_pingpong -d "$RA" -g "$from" -n 1000 \
			-- ibv_rc_pingpong -d "$RB" -g "$to" -n 1000 "$IP_A" || return
	done
}

# The index an IPv4 address has: programs look for it early in the table.
v4_is_early() {
	echo "index $(gid_index "$RA" v4)"
	[ "$(gid_index "$RA" v4)" -le 3 ]
}

unlink_both() {
	rdma link del "$RA"
	rdma link del "$RB"
	! linked "$RA" && ! linked "$RB" && no_listener a && no_listener b
}

with_ipv6() {
	local end

	for end in a b; do
		"$end" sysctl -qw "net.ipv6.conf.all.disable_ipv6=$((!$1))" || return
	done
}

both_have_v4() {
	GID_A=$(gid_index "$RA" v4) && GID_B=$(gid_index "$RB" v4)
}

no_ipv6() {
	with_ipv6 0
	a rdma link add "$RA" type "$TYPE" netdev "$EA" &&
		b rdma link add "$RB" type "$TYPE" netdev "$EB" || return
	wait_until 5 both_have_v4 || return
	table_is_right "without IPv6" || return
	! gids "$RA" | grep -qv '^0000:0000:0000:0000:0000:ffff:' || { echo "an IPv6 GID"; return 1; }
	pair -r "cm:$RPING_PORT" -- rping -s -a "$IP_A" -V -C 10 -- rping -c -a "$IP_A" -V -C 10 &&
		pair -- ibv_rc_pingpong -d "$RA" -g "$GID_A" -- ibv_rc_pingpong -d "$RB" -g "$GID_B" "$IP_A"
}

# fe80 addresses that are not made: none is listed.
no_link_local() {
	with_ipv6 1
	a ip link set "$EA" down
	b ip link set "$EB" down
	a ip link set "$EA" addrgenmode none
	b ip link set "$EB" addrgenmode none
	set_address "$NS_A" "$EA" "$IP_A" "$IP6_A" && set_address "$NS_B" "$EB" "$IP_B" "$IP6_B" ||
		return
	make_links || return
	table_is_right "no link-local address" || return
	! gids "$RA" | grep '^fe80' || return
	every_gid find_neighbours
}

# Here the RDMA core cannot look for a neighbour; any packet does it in its stead.
find_neighbours() {
	a bash -c "echo >/dev/udp/$IP6_B/9"
	b bash -c "echo >/dev/udp/$IP6_A/9"
}

t "link add and del, $ROUNDS times" fresh add_and_delete
t "two links of a namespace share a listener" fresh two_links
t "refused: the name is taken" fresh name_taken
t "refused: the netdev has a link" fresh netdev_taken
t "refused: no such netdev" fresh no_netdev
t "refused: not an Ethernet netdev" fresh wrong_kind
t "refused: the loopback netdev" fresh loopback_refused
t "refused: port 4791 is taken" fresh port_taken
t "refused: rxe has port 4791" fresh rxe_has_port
t "refused: bad names" fresh bad_name
t "refused: no such type" fresh no_such_type
t "refused: deleted twice" fresh delete_twice
t "GIDs are the netdev's addresses" fresh gids_follow
t "every GID works" every_gid
t "the GID of the IPv4 address comes early" v4_is_early
t "both links deleted" unlink_both
t "IPv6 off: IPv4 works" fresh no_ipv6
t "both links deleted again" unlink_both
t "no link-local addresses: no such GIDs" fresh no_link_local
t "both links deleted at last" unlink_both
run_tests
