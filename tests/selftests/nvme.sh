#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# NVMe over fabrics: the kernel's target behind one link, its host behind the other; once
# more with a target that takes from shared receive queues, one for each completion
# vector.

# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
# shellcheck source=/dev/null
. "$SELFTESTS/ulp_lib.sh"
need_first_namespace "NVMe over RDMA"
need_pair
need_commands nvme fio losetup
need_modules loop nvmet nvmet-rdma nvme-rdma

readonly NQN=nqn.2024-01.org.example:rove PORT=4420
readonly TARGET=/sys/kernel/config/nvmet
FILE=$T/disk LOOP=

# ------------------------------------------------------------------ the target

# Two namespaces: a file, which the target reads and writes page by page, and a block
# device, which takes the pages as they are.
make_target() {
	local subsystem=$TARGET/subsystems/$NQN

	make_disk "$FILE.1" && make_disk "$FILE.2" &&
		LOOP=$(losetup --find --show "$FILE.2") || return
	mkdir "$subsystem" && put 1 "$subsystem/attr_allow_any_host" || return
	make_namespace 1 "$FILE.1" && make_namespace 2 "$LOOP" || return
	make_port
}

make_port() {
	local port=$TARGET/ports/1

	mkdir "$port" || return
	put rdma "$port/addr_trtype" && put ipv4 "$port/addr_adrfam" &&
		put "$IP_B" "$port/addr_traddr" && put "$PORT" "$port/addr_trsvcid" || return
	open_target
}

make_namespace() {
	local namespace=$TARGET/subsystems/$NQN/namespaces/$1

	mkdir "$namespace" && put "$2" "$namespace/device_path" || return
	# tmpfs has no direct I/O on older kernels.
	[ -b "$2" ] || put 1 "$namespace/buffered_io"
	put 1 "$namespace/enable"
}

# The port listens as long as there is something behind it.
open_target() { ln -s "$TARGET/subsystems/$NQN" "$TARGET/ports/1/subsystems/$NQN"; }
close_target() { rm "$TARGET/ports/1/subsystems/$NQN"; }

# The module asks itself only when it is loaded.
use_srqs() {
	[ -e /sys/module/nvmet_rdma/parameters/use_srq ] || skip "this kernel's target has no SRQs"
	close_target && rmdir "$TARGET/ports/1" && modprobe -r nvmet-rdma &&
		modprobe nvmet-rdma use_srq=1 && make_port || return
	uses_srqs
}

uses_srqs() { grep -qsx Y /sys/module/nvmet_rdma/parameters/use_srq; }

# Of the target's queue pairs all take from shared queues, or none.  Who comes from the
# target's own link has his there, too.
queues_as_asked() {
	[ "$FROM" = "$IP_A" ] || return 0
	if uses_srqs; then
		srqs_serve "$RB" && [ "$(kernel_srqs "$RB" | wc -l)" = "$(nproc)" ]
	else
		no_srqs "$RB"
	fi
}

unmake_target() {
	nvme disconnect -n "$NQN"
	rm "$TARGET/ports/1/subsystems/$NQN"
	rmdir "$TARGET/ports/1" "$TARGET/subsystems/$NQN/namespaces/"* "$TARGET/subsystems/$NQN"
	[ -z "$LOOP" ] || losetup -d "$LOOP"
} >/dev/null 2>&1

trap 'unmake_target; cleanup' EXIT

# -------------------------------------------------------------------- the host

FROM=$IP_A

host_connect() {
	# What a test before left when it failed.
	no_qps || nvme disconnect -n "$NQN"
	timeout -k 5 "$LIMIT" nvme connect -t rdma -n "$NQN" -a "$IP_B" -s "$PORT" -w "$FROM" \
		--reconnect-delay=1 "$@" && wait_until 10 disks_there && queues_as_asked
}

host_disconnect() {
	timeout -k 5 "$LIMIT" nvme disconnect -n "$NQN" && wait_until 10 no_disk 1 && leaves_no_qps
}

# disk NUMBER: the block device of that namespace; they are named in the order in which
# they are found.
disk() {
	local dir

	for dir in /sys/block/nvme*; do
		grep -qsx 0 "$dir/hidden" || continue
		grep -qsx "$1" "$dir/nsid" || continue
		grep -qsxF "$NQN" "$dir/device/subsysnqn" || continue
		echo "/dev/${dir##*/}"
		return
	done
	return 1
}

no_disk() { ! disk "$1"; }
disks_there() { [ -b "$(disk 1)" ] && [ -b "$(disk 2)" ]; }

# with_host [-OPTION...] COMMAND...
with_host() {
	local -a options=()

	while [[ $1 == -* ]]; do
		options+=("$1")
		shift
	done
	host_connect "${options[@]}" && "$@" && host_disconnect
}

# ------------------------------------------------------------------- the tests

discover() {
	timeout -k 5 "$LIMIT" nvme discover -t rdma -a "$IP_B" -s "$PORT" -w "$IP_A" >"$T/found" ||
		return
	cat "$T/found"
	grep -qE "subnqn: +$NQN" "$T/found" && grep -qE 'trtype: +rdma' "$T/found" && leaves_no_qps
}

# Both namespaces, and small and large transfers of each.
verify() {
	local number

	for number in 1 2; do
		fio_verify "$(disk "$number")" "$@" || return
	done
}

copy() { same_data "$(disk 1)" "$FILE.1" && same_data "$(disk 2)" "$FILE.2"; }

connect_often() {
	local i

	for ((i = 0; i < 5; i++)); do
		with_host true || { echo "round $i"; return 1; }
	done
}

disconnect_under_load() {
	host_connect && start_load "$(disk 1)" || return
	host_disconnect && load_ends 30
}

# I/O waits for the target, and goes on with what it was doing; nothing read is other
# than it was written.
outage_under_load() {
	local goes=$1 comes=$2

	host_connect && start_load "$(disk 1)" --verify=crc32c --verify_fatal=1 \
		--verify_backlog=64 --runtime=$((8 * SLOW)) || return
	"$goes" && leaves_no_qps && "$comes" || return
	wait "$LOAD" || { cat "$T/load"; return 1; }
	wait_until 30 has_qps && host_disconnect
}

# After some time nobody waits any more.
target_gone_under_load() {
	host_connect --ctrl-loss-tmo=5 && start_load "$(disk 1)" || return
	close_target
	load_ends 60 && wait_until 30 no_disk 1 && leaves_no_qps
	local status=$?
	open_target
	return "$status"
}

delete_link() { rdma link del "$RB"; }
# The target does not listen again by itself.
add_link() { remake_link "$RB" "$EB" && close_target && open_target; }

# What came before is not in the trace: so the target's device is made anew.  The host
# comes by the same one, since the numbers of CQs are those of a device; work comes from
# each CPU, as each has a queue of its own.
vectors() {
	local cpu

	[ "$(nproc)" -gt 1 ] || skip "needs two CPUs"
	trace_cqs 1 || skip "this kernel has no tracepoints"
	FROM=$IP_B
	delete_link && add_link && host_connect || return
	for ((cpu = 0; cpu < $(nproc); cpu++)); do
		verify --rw=randwrite --bs=16k --iodepth=32 --cpus_allowed="$cpu" || return
	done
	host_disconnect && trace_cqs 0 && handlers_ran_well
}

shared_queues_go() {
	close_target && wait_until 20 no_srqs "$RB"
	local status=$?
	kernel_srqs "$RB"
	open_target
	return "$status"
}

# with_srqs COMMAND...: a test that was seen without them.
with_srqs() {
	uses_srqs || use_srqs || return
	"$@"
}

make_target >"$T/made" 2>&1 || {
	cat "$T/made"
	skip_all "cannot make a target"
}

t "discovery" discover
t "connected and disconnected 5 times" connect_often
t "written and read, both ends compared" with_host copy
t "fio, 4k, verified" with_host verify --rw=randwrite --bs=4k --iodepth=32
t "fio, 4k to 128k, verified" with_host verify --rw=randwrite --bsrange=4k-128k --blockalign=4k --iodepth=16
t "fio, 1m, verified" with_host verify --rw=write --bs=1m --iodepth=4
t "fio, queues without flow control" with_host --disable-sqflow verify --rw=randrw --bs=4k --iodepth=32
t "disconnected under load" disconnect_under_load
t "the target goes and comes back under load" outage_under_load close_target open_target
t "the target's link is deleted and added under load" outage_under_load delete_link add_link
t "the target goes for good under load" target_gone_under_load
t "completion handlers run on the CPUs of their vectors" vectors
t "srq: connected and disconnected 5 times" with_srqs connect_often
t "srq: written and read, both ends compared" with_srqs with_host copy
t "srq: fio, 4k, verified" with_srqs with_host verify --rw=randwrite --bs=4k --iodepth=32
t "srq: fio, 4k to 128k, verified" with_srqs with_host verify --rw=randwrite --bsrange=4k-128k \
	--blockalign=4k --iodepth=16
t "srq: fio, 1m, verified" with_srqs with_host verify --rw=write --bs=1m --iodepth=4
t "srq: disconnected under load" with_srqs disconnect_under_load
t "srq: the target goes and comes back under load" with_srqs outage_under_load close_target open_target
t "srq: the target's link is deleted and added under load" with_srqs outage_under_load \
	delete_link add_link
t "srq: completion handlers run on the CPUs of their vectors" with_srqs vectors
t "srq: the shared queues go with the target" with_srqs shared_queues_go
t "no queue pair is left" leaves_no_qps
run_tests
