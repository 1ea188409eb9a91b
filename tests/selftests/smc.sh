#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# SMC-R: sockets of the kernel that find out that their peer can be reached by RDMA.
# The kernel has a first version for RoCE v1 and a second one for RoCE v2, which is what
# there is here; it is for IPv4, and is used where a name for the group was set.

# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
# shellcheck source=/dev/null
. "$SELFTESTS/ulp_lib.sh"
need_pair
need_modules smc smc_diag

readonly EID=ROVE.TEST
smc() { "${@:1:1}" env PYTHONDONTWRITEBYTECODE=1 python3 "$SELFTESTS/smc.py" "${@:2}"; }

smc command eid add "$EID" || skip_all "SMC here has no version 2"
trap 'smc command eid remove $EID; cleanup' EXIT

# echoed ADDRESS COUNT [WORD]
echoed() {
	local address=$1 count=$2
	shift 2

	pair -t 60 -r log:listening \
		-- python3 -B "$SELFTESTS/smc.py" server "$address" "$count" \
		-- python3 -B "$SELFTESTS/smc.py" client "$address" "$count" "$@" || return
	cat "$T/client"
}

# By the second version, on our device, by queue pairs of the kernel.
by_rdma() {
	echoed "$IP_A" 3 && client_says "SMC-R $RB, versions .*2" &&
		client_says "link $RB/1 lqpn [0-9]+ .*type RC state RTS"
}

# Without a name for the group, and over IPv6: TCP, without a word to the program.
falls_back() {
	smc command eid remove "$EID" || return
	echoed "$IP_A" 1 tcp
	local status=$?
	smc command eid add "$EID"
	return "$status"
}

# The link group outlives its connections for some minutes, and not the device.
goes_with_link() {
	rdma link del "$RA" && rdma link del "$RB" || return
	leaves_no_qps && a rdma link add "$RA" type "$TYPE" netdev "$EA" &&
		b rdma link add "$RB" type "$TYPE" netdev "$EB" && wait_until 10 both_have_gids
}

t "three connections, all data back" by_rdma
t "many connections" echoed "$IP_A" 10
t "links deleted and added" goes_with_link
t "three connections over the new links" by_rdma
t "falls back to TCP without a group" falls_back
t "falls back to TCP over IPv6" need_ipv6 echoed "$IP6_A" 1 tcp
t "links deleted and added again" goes_with_link
run_tests
