#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# RDS over RDMA: reliable datagrams of the kernel, by one reliable connection for each
# pair of addresses.

# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
# shellcheck source=/dev/null
. "$SELFTESTS/ulp_lib.sh"
need_first_namespace "RDS over RDMA"
need_pair
need_modules rds rds_rdma

# The connection is between our two devices.
rds() {
	timeout -k 5 $((LIMIT * 2)) python3 -B "$SELFTESTS/rds.py" "$@" || return
	kernel_qps
	kernel_qps | grep -q "^link $RA/1 .*type RC state RTS" &&
		kernel_qps | grep -q "^link $RB/1 .*type RC state RTS"
}

# Connections stay when there are no sockets any more, and go with the devices; made
# anew, they come back.
goes_with_link() {
	rdma link del "$RA" && rdma link del "$RB" && leaves_no_qps || return
	a rdma link add "$RA" type "$TYPE" netdev "$EA" && remake_link "$RB" "$EB"
}

# It would go on connecting for ever. Not while it has a device: a connection that is shut
# down while the module goes is put into a list whose entries were taken away.
unloaded() {
	[ ! -e /sys/module/rds_rdma/refcnt ] && skip "it is built in"
	rdma link del "$RA" && rdma link del "$RB" && leaves_no_qps || return
	modprobe -r rds_rdma || return
	a rdma link add "$RA" type "$TYPE" netdev "$EA" && remake_link "$RB" "$EB" && leaves_no_qps
}

t "messages of all sizes both ways" rds "$IP_A" "$IP_B" messages
t "messages that wait, and congestion" rds "$IP_A" "$IP_B" backlog
t "writes and reads by memory keys" rds "$IP_A" "$IP_B" rdma
t "links deleted and added" goes_with_link
t "messages over the new links" rds "$IP_A" "$IP_B" messages
t "links deleted and added again" goes_with_link
t "the module is unloaded" unloaded
run_tests
