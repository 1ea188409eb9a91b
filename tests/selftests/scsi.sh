#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# SCSI over RDMA: the kernel's target, by iSER and by SRP; by SRP once more with a target
# that takes from a shared receive queue.

# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
# shellcheck source=/dev/null
. "$SELFTESTS/ulp_lib.sh"
need_first_namespace "SCSI over RDMA"
need_pair
need_commands fio losetup
need_modules loop target_core_mod target_core_iblock sd_mod

readonly TARGET=/sys/kernel/config/target
readonly IQN=iqn.2024-01.org.example:rove INITIATOR=iqn.2024-01.org.example:host
readonly ISER_PORT=3260 SRP_PORT=5555
readonly DISK_ID=$TARGET/core/iblock_0/rove
FILE=$T/disk LOOP='' ISCSID=''

# ------------------------------------------------------------------ the target

make_backstore() {
	mkdir -p /etc/target /var/target
	make_disk "$FILE" && LOOP=$(losetup --find --show "$FILE") || return
	mkdir -p "$DISK_ID" && put "udev_path=$LOOP" "$DISK_ID/control" &&
		put "$LOOP" "$DISK_ID/udev_path" && put 1 "$DISK_ID/enable"
}

# add_lun PORTAL-GROUP
add_lun() {
	mkdir -p "$1/lun/lun_0" && ln -s "$DISK_ID" "$1/lun/lun_0/rove"
}

# Anybody may log in; what comes by this portal comes by iSER.
make_iser() {
	local group=$TARGET/iscsi/$IQN/tpgt_1 attribute

	[ ! -d "$group" ] || return 0
	mkdir -p "$group" && add_lun "$group" || return
	for attribute in "authentication 0" "generate_node_acls 1" "demo_mode_write_protect 0" \
		"cache_dynamic_acls 1"; do
		put "${attribute#* }" "$group/attrib/${attribute% *}" || return
	done
	put 1 "$group/enable" && mkdir "$group/np/$IP_B:$ISER_PORT" &&
		put 1 "$group/np/$IP_B:$ISER_PORT/iser"
}

# A port of the target is named by the second half of its first GID; a host that comes
# by way of rdma_cm by an address, which is that of the target (as of Linux 7.3).
make_srp() {
	local name group acl address

	name=$(cut -d : -f 5-8 "/sys/class/infiniband/$RB/ports/1/gids/0")
	group=$TARGET/srpt/$name/$name
	[ ! -d "$group" ] || return 0
	mkdir -p "$group" && add_lun "$group" || return
	for address in "$IP_A" "$IP_B"; do
		acl=$group/acls/$address
		mkdir -p "$acl/lun_0" && ln -s "$group/lun/lun_0" "$acl/lun_0/rove" || return
	done
	put 1 "$group/enable" && put "$SRP_PORT" "$TARGET/srpt/discovery_auth/rdma_cm_port"
}

unmake_targets() {
	local group

	iser_logout
	srp_logout
	stop_iscsid
	put 0 "$TARGET/srpt/discovery_auth/rdma_cm_port"
	for group in "$TARGET/iscsi/$IQN/tpgt_1" "$TARGET"/srpt/*:*/*:*; do
		[ -d "$group" ] || continue
		put 0 "$group/enable"
		rm "$group"/acls/*/lun_0/rove
		rmdir "$group"/acls/*/lun_0 "$group"/acls/* "$group"/np/*
		rm "$group/lun/lun_0/rove"
		rmdir "$group/lun/lun_0" "$group" "${group%/*}"
	done
	rmdir "$TARGET"/{iscsi,srpt} "$DISK_ID" "${DISK_ID%/*}"
	[ -z "$LOOP" ] || losetup -d "$LOOP"
}

trap 'unmake_targets >/dev/null 2>&1; cleanup' EXIT

# --------------------------------------------------------------------- the host

# The disk that the target has, by whatever way.
disk() {
	local dir

	for dir in /sys/block/sd*; do
		grep -qs LIO-ORG "$dir/device/vendor" || continue
		echo "/dev/${dir##*/}"
		return
	done
	return 1
}

no_disk() { ! disk; }
disk_there() { [ -b "$(disk)" ]; }

# For all tests, if there is something for it to do.
start_iscsid() {
	command -v iscsid >/dev/null && modprobe -q ib_iser || return
	mkdir -p /etc/iscsi /run/lock/iscsi
	echo "InitiatorName=$INITIATOR" >/etc/iscsi/initiatorname.iscsi
	# When it ends it kills its process group.
	setsid iscsid --foreground --no-pid-file >"$T/iscsid" 2>&1 &
	ISCSID=$!
}

iscsid_answers() { grep -q ISCSIADM_ABSTRACT_NAMESPACE /proc/net/unix; }

stop_iscsid() {
	[ -z "$ISCSID" ] || stop "$ISCSID"
}

node() { timeout -k 5 "$LIMIT" iscsiadm -m node -T "$IQN" -p "$IP_B:$ISER_PORT" "$@"; }

# The address comes from nobody's discovery, which would need TCP.
iser_login() {
	node -o new -I iser && node -o update -n iface.transport_name -v iser &&
		node --login && wait_until 20 disk_there
}

iser_logout() {
	node --logout && node -o delete && wait_until 10 no_disk && leaves_no_qps
}

# The target calls itself by the GUID of the device that it saw first.
srp_login() {
	local guid

	guid=$(cat /sys/module/ib_srpt/parameters/srpt_service_guid)
	guid=${guid#0x}
	put "id_ext=$guid,ioc_guid=$guid,dest=$IP_B:$SRP_PORT,src=$IP_A" \
		"/sys/class/infiniband_srp/srp-$RA-1/add_target" && wait_until 20 disk_there &&
		srp_queues_as_asked
}

srp_logout() {
	local port

	for port in /sys/class/srp_remote_ports/port-*; do
		put 1 "$port/delete"
	done
	wait_until 10 no_disk && leaves_no_qps
}

# ------------------------------------------------------------------- the tests

# srp_takes_from shared|own: from now on.
srp_takes_from() {
	local group

	for group in "$TARGET"/srpt/*:*/*:*; do
		put "$([ "$1" = own ]; echo $?)" "$group/attrib/use_srq" || return
	done
	SRP_QUEUES=$1
}
SRP_QUEUES=own

# What the target was told is what it does.
srp_queues_as_asked() {
	if [ "$SRP_QUEUES" = shared ]; then
		srqs_serve "$RB"
	else
		no_srqs "$RB"
	fi
}

# on_srq COMMAND...: with a shared receive queue; without one the target goes on.
on_srq() {
	need_srp && make_srp && srp_takes_from shared && ! no_srqs "$RB" && "$@" &&
		srp_takes_from own && no_srqs "$RB"
}

# What either needs, beyond what the script does.
need_iser() {
	modprobe -aq ib_iser ib_isert iscsi_target_mod || skip "this kernel has no iSER"
	[ -n "$ISCSID" ] || skip "no iscsid here"
	wait_until 10 iscsid_answers
}

need_srp() {
	modprobe -aq ib_srp ib_srpt || skip "this kernel has no SRP"
}

# by iser|srp COMMAND...
by() {
	local way=$1
	shift

	"need_$way" && "make_$way" && "${way}_login" && has_qps && "$@" && "${way}_logout"
}

verify() { fio_verify "$(disk)" "$@"; }
copy() { same_data "$(disk)" "$FILE"; }

# The disk goes while it is used.
logout_under_load() {
	local way=$1

	"need_$way" && "make_$way" && "${way}_login" && start_load "$(disk)" || return
	"${way}_logout" && load_ends 30
}

make_backstore >"$T/made" 2>&1 || {
	cat "$T/made"
	skip_all "cannot make a disk"
}
start_iscsid

for way in iser srp; do
	t "$way: written and read, both ends compared" by "$way" copy
	t "$way: fio, 4k, verified" by "$way" verify --rw=randwrite --bs=4k --iodepth=32
	t "$way: fio, 4k to 128k, verified" by "$way" verify --rw=randwrite --bsrange=4k-128k \
		--blockalign=4k --iodepth=16
	t "$way: fio, 1m, verified" by "$way" verify --rw=write --bs=1m --iodepth=4
	t "$way: logged out under load" logout_under_load "$way"
done
t "srp, srq: written and read, both ends compared" on_srq by srp copy
t "srp, srq: fio, 4k, verified" on_srq by srp verify --rw=randwrite --bs=4k --iodepth=32
t "srp, srq: fio, 4k to 128k, verified" on_srq by srp verify --rw=randwrite --bsrange=4k-128k \
	--blockalign=4k --iodepth=16
t "srp, srq: fio, 1m, verified" on_srq by srp verify --rw=write --bs=1m --iodepth=4
t "srp, srq: logged out under load" on_srq logout_under_load srp
t "no queue pair is left" leaves_no_qps
run_tests
