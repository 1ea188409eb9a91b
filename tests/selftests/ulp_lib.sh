# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# What the tests of the kernel's own users of RDMA share, on top of lib.sh: these
# are not processes that end, so what they hold is told by their queue pairs.
#
# shellcheck disable=SC2034 # much here is for the scripts

# In MiB: what the disks hold.
DISK_SIZE=48
[ -z "$QUICK" ] || DISK_SIZE=8

# Some of the kernel's users know the first network namespace and no other.
need_first_namespace() {
	[ "${LAB_TOPOLOGY:-}" = host ] ||
		skip_all "$1 knows the first network namespace only: topology host"
}

# need_modules NAME...: built in will do.
need_modules() {
	local name

	for name in "$@"; do
		modprobe -q "$name" || skip_all "this kernel has no $name"
	done
}

need_commands() {
	local name

	for name in "$@"; do
		command -v "$name" >/dev/null || skip_all "no $name here"
	done
}

# put VALUE FILE: into a file of sysfs or configfs.
put() {
	echo "put $1 $2"
	printf '%s\n' "$1" >"$2"
}

# ------------------------------------------------------------------- left over

# The queue pairs of the kernel's users: all but that for management.
kernel_qps() {
	rdma resource show qp 2>/dev/null | grep -E "^link ($RA|$RB)/" | grep -vE ' lqpn [01] '
}

no_qps() { [ -z "$(kernel_qps)" ]; }

has_qps() { ! no_qps; }

leaves_no_qps() {
	wait_until 20 no_qps && return
	echo "queue pairs are left:"
	kernel_qps
	return 1
}

# remake_link LINK NETDEV: one that a test took away; whoever runs there waits for it.
remake_link() {
	rdma link add "$1" type "$TYPE" netdev "$2" && wait_until 10 both_have_gids
}

# -------------------------------------------------- shared queues, completion vectors

# Of a link's device, the kernel's shared receive queues.
kernel_srqs() {
	rdma resource show srq 2>/dev/null | grep -E "^(dev|link) $1[ /]" | grep 'comm \['
}

no_srqs() { [ -z "$(kernel_srqs "$1")" ]; }

# srqs_serve LINK: each queue pair of the kernel's users there takes from one of the
# shared queues, as the kernel lists them ("lqpn 17-19,25").
srqs_serve() {
	local qps served

	qps=$(kernel_qps | grep "^link $1/" | sed -n 's/.* lqpn \([0-9]*\) .*/\1/p')
	served=$(kernel_srqs "$1" | sed -n 's/.* lqpn \([^ ]*\).*/\1/p' | tr ',' '\n' |
		awk -F- '{ for (n = $1; n <= $NF; n++) print n }')
	[ -n "$qps" ] && [ -z "$(comm -23 <(sort <<<"$qps") <(sort <<<"$served"))" ] && return
	echo "queue pairs of $1: ${qps//$'\n'/ }; on shared queues: ${served//$'\n'/ }"
	rdma resource show srq
	return 1
}

readonly TRACING=/sys/kernel/tracing

# trace_cqs 0|1: what the RDMA core tells of CQs, each line with its CPU.
trace_cqs() {
	local event

	[ -e "$TRACING/trace" ] || mount -t tracefs tracefs "$TRACING" || return
	for event in cq_alloc cq_schedule cq_free; do
		echo "$1" >"$TRACING/events/rdma_core/$event/enable" || return
	done
	[ "$1" = 0 ] || echo >"$TRACING/trace"
}

# handlers_ran_well: of every CQ whose making was traced the completion handler ran on the
# CPU of its vector, and of every vector one ran often.  The numbers of CQs are those of
# one device, so only one may be in use.
handlers_ran_well() {
	local vectors

	vectors=$(nproc)
	awk -v vectors="$vectors" '
		function value(name, i) {
			for (i = 1; i <= NF; i++) if (index($i, name "=") == 1) return substr($i, length(name) + 2)
		}
		/ cq_alloc: / { vector[value("cq.id")] = value("comp_vector") }
		/ cq_free: / { delete vector[value("cq.id")] }
		/ cq_schedule: / {
			id = value("cq.id")
			if (!(id in vector) || !match($0, /\[[0-9]+\]/))
				next
			cpu = substr($0, RSTART + 1, RLENGTH - 2) + 0
			ran[vector[id]]++
			if (cpu != vector[id] && !bad++)
				print "of vector " vector[id] ", on another CPU: " $0
		}
		END {
			for (v = 0; v < vectors; v++) {
				print "vector " v ": " ran[v] + 0 " handlers"
				few += ran[v] < 20
			}
			print bad + 0 " on another CPU"
			exit bad || few
		}' "$TRACING/trace"
}

# ------------------------------------------------------------------------- disks

# make_disk FILE: random data, so that nothing can be right by being zero.
make_disk() {
	head -c "$((DISK_SIZE << 20))" /dev/urandom >"$1"
}

# fio_verify DISK OPTION...: what is written is read back and compared.
fio_verify() {
	local disk=$1
	shift

	timeout -k 5 $((LIMIT * 4)) fio --name=verify --filename="$disk" --direct=1 \
		--ioengine=libaio --verify=crc32c --verify_fatal=1 --verify_state_save=0 \
		--size="${DISK_SIZE}m" --randseed=7 "$@" >"$T/fio" 2>&1 && return
	head -n 30 "$T/fio"
	return 1
}

# The data went to the disk of the target, and not only to where fio read it from: what
# is written here in chunks of odd numbers of sectors is read from its file there,
# and the other way round.
same_data() {
	local disk=$1 file=$2

	make_disk "$T/new" || return
	dd if="$T/new" of="$disk" bs=61440 oflag=direct conv=fsync status=none || return
	sync "$file"
	cmp "$T/new" "$file" || { echo "not what was written"; return 1; }
	dd if="$disk" of="$T/got" bs=200704 iflag=direct status=none || return
	cmp "$T/got" "$file" || { echo "not what is there"; return 1; }
	rm -f "$T/new" "$T/got"
}

# Random sectors read and written until the time is up; LOAD is the process, what it
# says is in $T/load.
start_load() {
	local disk=$1
	shift

	timeout -k 5 $((LIMIT * 4)) fio --name=load --filename="$disk" --direct=1 \
		--ioengine=libaio --iodepth=16 --rw=randrw --bsrange=4k-64k --blockalign=4k \
		--size="${DISK_SIZE}m" --time_based --runtime=600 --verify_state_save=0 \
		"$@" >"$T/load" 2>&1 &
	LOAD=$!
	wait_until 20 io_goes_on "$(basename "$disk")"
}

# io_goes_on DISK: more than a few requests were done by it since it was looked at last.
io_goes_on() {
	local -a stat
	local before=${IO_DONE:-}

	read -ra stat <"/sys/class/block/$1/stat" || return
	IO_DONE=$((stat[0] + stat[4]))
	[ -n "$before" ] && [ "$IO_DONE" -gt "$((before + 20))" ] && return
	sleep 0.1
	return 1
}

# load_ends SECONDS: by itself, since its disk is gone.
load_ends() {
	if ! wait_until "$1" has_ended "$LOAD"; then
		echo "the load goes on"
		stop "$LOAD"
		return 1
	fi
	! wait "$LOAD" || { echo "the load saw no error"; return 1; }
}

has_ended() { ! kill -0 "$1" 2>/dev/null; }
