#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# RDMA's exclusive mode, in which a link is seen in one namespace only, and can be
# moved to another. All other tests run in the shared mode, which is the default.
#
# The mode can be changed only while there is but one network namespace.

# shellcheck disable=SC2015 # A && B || C: C if one of them is false
# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
need_module
rdma system show | grep -q "netns shared" || skip_all "not in shared mode"
rdma system set netns exclusive 2>/dev/null ||
	skip_all "the mode cannot be changed: there are network namespaces"
# Namespaces die a little later than they are deleted.
trap 'cleanup; wait_until 20 rdma system set netns shared 2>/dev/null' EXIT
make_ends

# Directories of devices are seen in their own namespace, too.
index_in() {
	# shellcheck disable=SC2016 # for the shell there
	"$1" sh -c 'cd "/sys/class/infiniband/$0/ports/1" || exit
		for i in $(seq 0 15); do
			case $(cat gids/$i 2>/dev/null) in
			*:ffff:0a00:*) grep -q v2 "gid_attrs/types/$i" && echo "$i" && exit ;;
			esac
		done
		exit 1' "$2"
}

have_gids() { GID_A=$(index_in a "$RA") && GID_B=$(index_in b "$RB"); }

add_both() {
	a rdma link add "$RA" type rove netdev "$EA" &&
		b rdma link add "$RB" type rove netdev "$EB" && wait_until 10 have_gids
}

seen() { "$1" rdma link show "$2/1" >/dev/null 2>&1 && "$1" ibv_devices | grep -qw "$2"; }
not_seen() { ! "$@" rdma link show 2>/dev/null | grep -q .; }
here() { "$@"; }

own_only() {
	add_both || return
	seen a "$RA" && seen b "$RB" || { echo "not seen in its namespace"; return 1; }
	seen here "$RA" && { echo "seen in the first namespace"; return 1; }
	seen b "$RA" && { echo "seen in the other namespace"; return 1; }
	return 0
}

works() {
	wait_until 10 have_gids || { echo "no GIDs"; return 1; }
	pair -- ibv_rc_pingpong -d "$RA" -g "$GID_A" -c -n 100 \
		-- ibv_rc_pingpong -d "$RB" -g "$GID_B" -c -n 100 "$IP_A" &&
		pair -r "cm:$RPING_PORT" -- rping -s -a "$IP_A" -C 3 -V -- rping -c -a "$IP_A" -C 3 -V
}

told() { grep -q -i "fatal\|device" "$T/events"; }

# Who has it open is told, and keeps nothing of it; then it is the other's.
moved() {
	local status=0 watch held

	wait_until 10 have_gids || return

	: >"$T/events"
	: >"$T/held"
	"${AT_A[@]}" timeout "$((LIMIT * 2))" stdbuf -oL ibv_asyncwatch -d "$RA" >"$T/events" 2>&1 &
	watch=$!
	"${AT_A[@]}" timeout "$((LIMIT * 2))" stdbuf -oL ibv_rc_pingpong -d "$RA" -g "$GID_A" >"$T/held" 2>&1 &
	held=$!
	wait_until 10 grep -qs async "$T/events" && wait_until 10 grep -qs "local address" "$T/held" ||
		{ echo "not open"; status=1; }
	timeout 30 "${AT_A[@]}" rdma dev set "$RA" netns "$NS_B" || { echo "not moved"; status=1; }
	wait_until 10 told || { echo "nobody was told:"; cat "$T/events"; status=1; }
	stop "$held"
	stop "$watch"
	seen b "$RA" || { echo "not seen where it went"; status=1; }
	seen a "$RA" && { echo "still seen where it was"; status=1; }
	timeout 30 "${AT_B[@]}" rdma dev set "$RA" netns "$NS_A" || { echo "not moved back"; status=1; }
	seen a "$RA" || { echo "it did not come back"; status=1; }
	return "$status"
}

# With its netdev: that goes first, and the link goes with it.
new_home() {
	ip -n "$NS_A" link set "$EA" netns "$NS_B" || return
	wait_until 10 not_seen a || { echo "the link stays without its netdev"; return 1; }
	ip -n "$NS_B" link set "$EA" netns "$NS_A" && set_address "$NS_A" "$EA" "$IP_A" "$IP6_A" &&
		a rdma link add "$RA" type rove netdev "$EA" && works
}

# With the namespace its end of the wire goes, and with that the other end.
goes() {
	ip netns del "$NS_B" || return
	wait_until 20 not_seen a || { echo "the link stays"; return 1; }
}

unloads() { modprobe -r rove && modprobe rove; }

t "a link is seen in its own namespace only" own_only
t "connections between namespaces" works
t "moved by rdma dev set, with programs that have it open" moved
t "connections after that" works
t "its netdev moves away and back" new_home
t "the namespaces' end" goes
t "the module goes, and comes again" unloads
run_tests
