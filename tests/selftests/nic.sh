#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Two hosts with NICs (the lab's topology two), every frame between them recorded
# (-n NIC,dump): trains are cut into right packets by whoever has to do it, gathered again
# where GRO is on, and without UDP checksums there are none.

# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
[ "${LAB_TOPOLOGY:-}" = two ] || skip_all "needs two guests"
[ -n "${LAB_WIRE:-}" ] || skip_all "the wire is not recorded"
need_pair
FRAMES=$SELFTESTS/../interop/frames.py
export PYTHONDONTWRITEBYTECODE=1

# What has to follow from the settings of the wire.
MTU=0 PATH_MTU=0 GRO=on SUMS=right COUNT=0

# ------------------------------------------------------------------- the settings

both() {
	a "${@//@/$EA}" && b "${@//@/$EB}"
}

has_path_mtu() {
	[ "$(at "$1" ibv_devinfo -d "$1" | grep -cE "PORT_ACTIVE|active_mtu:[[:space:]]*$PATH_MTU ")" = 2 ]
}

# The path MTU that goes with it is there at both ends, and so is the wire.
is_usable() {
	has_path_mtu "$RA" && has_path_mtu "$RB" && a ping -q -c 1 -W 2 "$IP_B" && both_have_gids
}

# Each test is a process of its own, but the netdevs stay as they are.
mtu() {
	MTU=$1
	case $1 in
	1500) PATH_MTU=1024 COUNT=2 ;;
	*) PATH_MTU=4096 COUNT=6 ;;
	esac
	[ "$(cat "/sys/class/net/$EA/mtu")" != "$MTU" ] || return 0
	both ip link set @ mtu "$MTU" && wait_until 10 is_usable >/dev/null
}

# feature REGEX: what the NIC has of it: on, off, or nothing if that cannot be changed.
feature() {
	a ethtool -k "$EA" | sed -n "s/^[[:space:]]*$1: \([a-z]*\)\$/\1/p" | head -n 1
}

# with_feature NAME ETHTOOL-NAME VALUE COMMAND...
with_feature() {
	local before status=0

	before=$(feature "$1")
	[ -n "$before" ] || skip "this NIC has no $2 to switch"
	both ethtool -K @ "$2" "$3" >/dev/null || return
	"${@:4}" || status=$?
	both ethtool -K @ "$2" "$before" >/dev/null || return
	return "$status"
}

without_gro() {
	GRO=off with_feature generic-receive-offload gro off "$@"
}

tx_sums() {
	with_feature "tx-checksum-ip[-a-z0-9]*" tx "$@"
}

split_by_nic() {
	with_feature tx-udp-segmentation tx-udp-segmentation "$@"
}

# put DEVICE VALUE: its setting udp_csum.
put() {
	# shellcheck disable=SC2016 # for the inner shell
	at "$1" sh -c 'echo "$2" >"/sys/class/infiniband/$1/ports/1/settings/udp_csum"' sh "$1" "$2"
}

without_sums() {
	local status=0

	put "$RA" 0 && put "$RB" 0 || return
	SUMS=none "$@" || status=$?
	put "$RA" 1 && put "$RB" 1 || return
	return "$status"
}

# ------------------------------------------------------------------------ the data

# RDMA READ one way and WRITE the other, verified, and the SENDs of rping.
rping_data() {
	pair -r "cm:$RPING_PORT" -- rping -s -a "$1" -V -S 65535 -C "$2" \
		-- rping -c -a "$1" -V -S 65535 -C "$2"
}

# SENDs both ways, verified.
send_data() {
	pair -- ibv_rc_pingpong -d "$RA" -g "$GID_A" -c -m "$PATH_MTU" -s 60001 -n "$1" \
		-- ibv_rc_pingpong -d "$RB" -g "$GID_B" -c -m "$PATH_MTU" -s 60001 -n "$1" "$IP_A"
}

# Enough of it, and not too many frames for the decoder on an emulated machine.
some_data() {
	rping_data "$1" "$COUNT" && send_data "$COUNT"
}

# ---------------------------------------------------------------------- the verdict

snapshot() {
	counters_of "$RA" >"$T/$1.a" && counters_of "$RB" >"$T/$1.b"
}

# By end and name, how much a counter rose between the snapshots before and after.
declare -A ROSE

rises() {
	local end name value

	for end in a b; do
		while read -r name value; do
			ROSE[$end $name]=$value
		done < <(awk 'NR == FNR { was[$1] = $2; next } { print $1, $2 - was[$1] }' \
			"$T/before.$end" "$T/after.$end")
	done
}

# Nothing is dropped or comes out of order on this wire; a timer may run out where a guest
# stood still, but not again and again.
nothing_lost() {
	local end key bad=0

	for key in "${!ROSE[@]}"; do
		case $key in
		# What a repeated request leads to.
		*" drop_dup" | *" drop_stale") continue ;;
		*" drop_"* | *" out_of_sequence" | *" nak_seq_sent") ;;
		*) continue ;;
		esac
		[ "${ROSE[$key]}" = 0 ] || { echo "end $key rose by ${ROSE[$key]}"; bad=1; }
	done
	for end in a b; do
		[ "${ROSE[$end timeouts]}" -le 3 ] || bad=1
		echo "end $end: sent ${ROSE[$end tx_packets]} packets in ${ROSE[$end tx_trains]} trains," \
			"received ${ROSE[$end rx_packets]} in ${ROSE[$end rx_trains]};" \
			"${ROSE[$end timeouts]} timeouts, ${ROSE[$end retransmits]} sent again"
	done
	return "$bad"
}

# Each side sends some 60 KiB of data at a time, and a few single packets.
trains_as_expected() {
	local end sent cars

	for end in a b; do
		sent=${ROSE[$end tx_packets]} cars=${ROSE[$end tx_trains]}
		if [ "$SUMS" = none ]; then
			[ "$sent" = "$cars" ] || { echo "end $end: trains without checksums"; return 1; }
		else
			[ "$sent" -ge $((cars * 3)) ] || { echo "end $end: hardly any trains"; return 1; }
		fi
		sent=${ROSE[$end rx_packets]} cars=${ROSE[$end rx_trains]}
		if [ "$GRO" = off ] || [ "$SUMS" = none ]; then
			[ "$sent" = "$cars" ] || { echo "end $end: trains were received"; return 1; }
		else
			[ "$sent" -ge $((cars * 3 / 2)) ] || { echo "end $end: hardly any packets were gathered"; return 1; }
		fi
	done
}

# moved COMMAND...: data by it, and all is as it should be, on the wire too.
moved() {
	local begin

	begin=$(stat -c %s "$LAB_WIRE") && snapshot before && "$@" && snapshot after || return
	rises
	nothing_lost && trains_as_expected &&
		python3 "$FRAMES" --mtu "$MTU" --sums "$SUMS" --from "$begin" "$LAB_WIRE"
}

# at_mtu MTU COMMAND...
at_mtu() {
	mtu "$1" || { echo "no port with an MTU of $1"; return 1; }
	"${@:2}"
}

for mtu in 1500 9000; do
	t "MTU $mtu" at_mtu "$mtu" moved some_data "$IP_A"
	t "MTU $mtu, IPv6" at_mtu "$mtu" moved some_data "$IP6_A"
	t "MTU $mtu, checksums by software" at_mtu "$mtu" tx_sums off moved some_data "$IP_A"
	t "MTU $mtu, trains cut by the NIC" at_mtu "$mtu" split_by_nic on moved some_data "$IP_A"
	t "MTU $mtu, trains cut by software" at_mtu "$mtu" split_by_nic off moved some_data "$IP_A"
	t "MTU $mtu, no GRO" at_mtu "$mtu" without_gro moved some_data "$IP_A"
	t "MTU $mtu, udp_csum off" at_mtu "$mtu" without_sums moved some_data "$IP_A"
done
t "nothing is left" leaves_nothing
run_tests
