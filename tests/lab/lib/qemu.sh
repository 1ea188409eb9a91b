# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Guests under QEMU: one, or two that a wire joins.
#
# Of two guests the first (end A) runs the script and is what run.sh knows as the
# guest. The other one (end B) has a folder of its own (RUN/other) in place of
# RUN/run, and waits for commands. Each has two NICs: the model that was asked for, on
# the wire, and a virtio one for what the guests have to tell each other.

# The NIC on the wire, and whether its frames are recorded: of -n NIC[,dump].
NIC=virtio-net-pci
DUMP=

# parse_nic NIC[,dump]
parse_nic() {
	NIC=${1%,dump}
	[ "$NIC" = "$1" ] || DUMP=1
	case $NIC in
	virtio-net-pci | e1000) ;;
	*) usage_error "no NIC '$NIC' (virtio-net-pci, e1000)" ;;
	esac
}

# Ends of the wire speak when both are there; the other guest is started second.
has_other() {
	[ "$TOPOLOGY" = two ]
}

# ------------------------------------------------------------------ one of them

start_stock() {
	local -a more=()

	if has_other; then
		mapfile -t more < <(nics a on)
	else
		more=(-nic none)
	fi
	[ -z "$INTERACTIVE" ] || more+=(-chardev "stdio,id=terminal,signal=off" -serial chardev:terminal)
	if [ -z "$INTERACTIVE" ]; then
		exec </dev/null >"$RUN/qemu.log"
	fi
	start_qemu "$RUN/run" "$RUN/console" "${more[@]}" \
		2>>"$RUN/qemu.log" 3>"$RUN/stdout" 4>"$RUN/stderr"
}

start_other() {
	local -a more

	mapfile -t more < <(nics b off)
	start_qemu "$RUN/other" "$RUN/console.b" "${more[@]}" \
		</dev/null >"$RUN/qemu.b.log" 2>&1 3>>"$RUN/output.b" 4>>"$RUN/output.b"
}

# start_qemu FOLDER CONSOLE OPTION...: becomes QEMU, with FOLDER as /lab/run; what goes to
# the guest's stdout and stderr leaves by the descriptors 3 and 4.
start_qemu() {
	local folder=$1 console=$2 dir name mode path
	local -a shares=()
	shift 2

	dir=$(piece_dir "$KERNEL")
	for name in root kernel rove script run ${OUT:+out} $(! has_other || echo shared); do
		mode=on path=$RUN/$name
		case $name in
		run) mode=off path=$folder ;;
		out | shared) mode=off ;;
		esac
		shares+=(-virtfs "local,path=$(readlink -f "$path"),mount_tag=$name,security_model=none,multidevs=remap,readonly=$mode")
	done

	exec setsid qemu-system-x86_64 -accel tcg,thread=multi -cpu max \
		-smp "$CPUS" -m "$MEMORY" -display none -monitor none \
		-no-reboot -serial "file:$console" "${shares[@]}" \
		-device virtio-serial-pci \
		-chardev file,id=stdout,path=/proc/self/fd/3 \
		-device virtserialport,chardev=stdout,name=stdout \
		-chardev file,id=stderr,path=/proc/self/fd/4 \
		-device virtserialport,chardev=stderr,name=stderr \
		-kernel "$dir/vmlinuz" -initrd "$dir/initramfs.gz" \
		-append "console=ttyS0 loglevel=5 log_buf_len=4M printk.devkmsg=on panic=-1 lab_fs=9p ${OUT:+lab_out=1} ${WORDS[*]}" \
		"$@"
}

# nics END SERVER: options of QEMU, one a line. The MACs are what the guest knows its NICs
# by; they differ between the ends, since rxe takes a peer with its own MAC for itself.
nics() {
	local end=$1 server=$2 number=01

	[ "$end" = a ] || number=02
	cat <<-EOT
	-netdev
	stream,id=wire,server=$server,addr.type=unix,addr.path=$RUN/wire
	-device
	$NIC,netdev=wire,mac=52:54:00:00:00:$number
	-netdev
	stream,id=control,server=$server,addr.type=unix,addr.path=$RUN/control
	-device
	virtio-net-pci,netdev=control,mac=52:54:00:00:01:$number
	EOT
	if [ "$end" = a ] && [ -n "$DUMP" ]; then
		printf '%s\n' -object "filter-dump,id=dump,netdev=wire,file=$RUN/shared/wire.pcap"
	fi
}

# ------------------------------------------------------------------ two of them

# The program that runs commands there, and the settings of the other end: those of the
# first one, and that it is the other one.
prepare_other() {
	mkdir "$RUN/shared"
	in_root "$(piece_dir root)" "$LAB/guest:/lab $RUN/run:/build" \
		gcc -O2 -Wall -Wextra -o /build/there /lab/there.c || return
	cp -rl "$RUN/run" "$RUN/other"
	rm "$RUN/other/settings"
	{
		cat "$RUN/run/settings"
		echo "END=B"
	} >"$RUN/other/settings"
}

# Runs beside the first guest.
boot_other() {
	until [ -S "$RUN/wire" ] && [ -S "$RUN/control" ]; do
		kill -0 "$GUEST" 2>/dev/null || return
		sleep 0.05
	done
	start_other &
	OTHER=$!
}

# Wait for both. One that died before it was ready takes the other one along; when the
# first one has come to its end, the other one has a time for its own.
wait_for_both() {
	local grace=480

	wait -n "$GUEST" "$OTHER" 2>/dev/null
	if kill -0 "$GUEST" 2>/dev/null; then
		touch "$RUN/run/other-gone"
		[ -e "$RUN/other/ready" ] || kill_group "$GUEST"
		wait "$GUEST" 2>/dev/null
	fi
	[ -e "$RUN/run/kmsg" ] || grace=0
	while kill -0 "$OTHER" 2>/dev/null && [ "$grace" -gt 0 ]; do
		sleep 0.5
		grace=$((grace - 1))
	done
	kill_group "$OTHER"
	wait "$OTHER" 2>/dev/null
}

# A panic of the guest's kernel before anything of ours was in it: emulated, that happens
# now and then, whatever is tested.
died_at_boot() {
	local console

	[ "$KIND" = stock ] || return
	for console in "$RUN/console" "$RUN/console.b"; do
		if ! grep -qs 'Kernel panic' "$console" || grep -q 'lab: begin' "$console"; then
			continue
		fi
		say "the guest's kernel panicked while it booted; booting once more:"
		grep -E 'Oops|BUG|Kernel panic|RIP:' "$console" | tr -d '\r' | head -n 6 | sed 's/^/  | /' >&2
		return
	done
	return 1
}

# What the first boot left.
forget_boot() {
	local folder

	for folder in "$RUN/run" "$RUN/other"; do
		rm -f "$folder"/{failure,started,ready,status,timed-out,hanging,teardown,kmsg,other-gone}
	done
	rm -f "$RUN/wire" "$RUN/control" "$RUN/console" "$RUN/console.b"
}

# What the first guest cannot tell of the other one: why it was not ready, or that it did
# not come to its end.
judge_other() {
	local folder=$RUN/other

	if [ -s "$folder/failure" ]; then
		sed 's/^/at end B: /' "$folder/failure" >>"$RUN/run/failure"
		return
	fi
	if [ -e "$folder/status" ] || [ -e "$RUN/run/timed-out" ]; then
		return 0
	fi
	say "the guest of end B died; the end of its console:"
	tail -n 60 "$RUN/console.b" | tr -d '\r' | sed 's/^/  | /' >&2
	[ ! -s "$RUN/qemu.b.log" ] || sed 's/^/  | /' "$RUN/qemu.b.log" >&2
	# Before there was anything of ours in it?
	! grep -q 'lab: begin' "$RUN/kernel.b.log"
}
