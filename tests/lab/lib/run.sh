# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Running a script in a guest.
#
# Host and guest meet in a folder of this run (RUN): it holds the links or
# mount tags that guest/main mounts, the script's output comes through two
# FIFOs, its status and the kernel's log through files that the guest writes.

cmd_run() {
	parse_run_options "$@"
	shift $((OPTIND - 1))
	[ $# -gt 0 ] || usage_error "run: no script"
	check_run_options

	prepare_run "$@" || exit "$EXIT_LAB"
	boot_guest
	judge_run
	exit $?
}

cmd_shell() {
	INTERACTIVE=1
	parse_run_options "$@"
	shift $((OPTIND - 1))
	TIMEOUT=86400
	check_run_options
	[ -t 0 ] || usage_error "shell: needs a terminal"

	TERMINAL=$(stty -g)
	prepare_run /dev/null "$@" || exit "$EXIT_LAB"
	boot_guest
	judge_run
	exit $?
}

# ------------------------------------------------------------------- options

parse_run_options() {
	local option

	KERNEL=perf TOPOLOGY=pair CPUS='' TIMEOUT=300 MEMORY='' OUT='' WORDS=() PIN=''
	: "${INTERACTIVE:=}"
	OPTIND=1
	while getopts :k:t:n:c:T:m:o:a:p option; do
		case $option in
		k) KERNEL=$OPTARG ;;
		t) TOPOLOGY=$OPTARG ;;
		n) parse_nic "$OPTARG" ;;
		c) CPUS=$OPTARG ;;
		T) TIMEOUT=$OPTARG ;;
		m) MEMORY=${OPTARG%M} ;;
		o) OUT=$OPTARG ;;
		a) WORDS+=("$OPTARG") ;;
		p) PIN=1 ;;
		:) usage_error "run: -$OPTARG needs a value" ;;
		*) usage_error "run: no option -$OPTARG" ;;
		esac
	done
}

check_run_options() {
	need_root
	KIND=$(kernel_kind "$KERNEL") || exit
	case $TOPOLOGY in
	pair | mixed | rxe | siw | host | none) ;;
	two) [ "$KIND" = stock ] || usage_error "topology two is for Debian's kernels (-k stock)" ;;
	*) usage_error "no topology '$TOPOLOGY' (pair, mixed, rxe, siw, host, none, two)" ;;
	esac
	case $TOPOLOGY:$KERNEL in
	siw:stock*) usage_error "Debian's kernels have no siw" ;;
	rxe:stock) usage_error "rdma_rxe of 6.12 knows one namespace only: no topology rxe" ;;
	esac
	# Two guests share the machine's CPUs.
	: "${CPUS:=$(has_other && echo 1 || echo 2)}"
	is_number "$CPUS" || usage_error "-c: '$CPUS' is not a number"
	[ -z "$PIN" ] || [ "$KIND" = uml ] || usage_error "-p is for UML kernels"
	is_number "$TIMEOUT" || usage_error "-T: '$TIMEOUT' is not a number"
	if [ -z "$MEMORY" ]; then
		case $KERNEL in
		perf | ulp* | profile) MEMORY=4096 ;;
		kasan | lockdep) MEMORY=2048 ;;
		*) MEMORY=$(has_other && echo 2048 || echo 3072) ;;
		esac
	fi
	is_number "$MEMORY" || usage_error "-m: '$MEMORY' is not a number of megabytes"
	if [ -n "$OUT" ]; then
		mkdir -p "$OUT" || usage_error "-o: cannot make $OUT"
		OUT=$(readlink -f "$OUT")
	fi
}

is_number() {
	[[ $1 =~ ^[1-9][0-9]*$ ]]
}

# The comparison topologies do without rove: they must work while it does not.
uses_rove() {
	case $TOPOLOGY in
	rxe | siw) return 1 ;;
	esac
}

# -------------------------------------------------------------- preparation

prepare_run() {
	need_kernel "$KERNEL"

	# No spaces: these paths go through the kernel's command line.
	RUN=$(mktemp -d /tmp/rove-lab.XXXXXX) || return
	trap end_run EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	mkdir "$RUN/run" "$RUN/uml"
	mkfifo "$RUN/stdout" "$RUN/stderr"
	cp -r "$LAB/guest" "$RUN/run/guest"

	ln -s "$(piece_dir root)" "$RUN/root"
	ln -s "$(piece_dir "$KERNEL")/tree" "$RUN/kernel"
	ln -s "$CHECKOUT" "$RUN/rove"
	[ -z "$OUT" ] || ln -s "$OUT" "$RUN/out"
	if uses_rove; then
		build_for "$KERNEL" "$RUN/run" || return
	fi
	place_script "$@"
	write_settings
	! has_other || prepare_other
}

# The guest finds a script of the checkout at its place in /rove, any other in
# /lab/script together with its neighbours, so that it can include them.
place_script() {
	local script=$1 real
	shift

	printf '%s\0' "$@" >"$RUN/run/arguments"
	[ $# -gt 0 ] || : >"$RUN/run/arguments"

	[ "$script" != - ] || script=/dev/stdin
	[ -r "$script" ] || die "cannot read the script $script"
	real=$(readlink -f "$script")
	if [ ! -f "$real" ]; then
		cat "$script" >"$RUN/run/script"
		mkdir "$RUN/script"
		SCRIPT=/lab/run/script
	elif [ "${real#"$CHECKOUT"/}" != "$real" ]; then
		mkdir "$RUN/script"
		SCRIPT=/rove/${real#"$CHECKOUT"/}
	else
		ln -s "$(dirname "$real")" "$RUN/script"
		SCRIPT=/lab/script/$(basename "$real")
	fi
}

write_settings() {
	{
		printf 'LAB_KERNEL=%q\n' "$KERNEL"
		printf 'LAB_TOPOLOGY=%q\n' "$TOPOLOGY"
		printf 'KIND=%q\n' "$KIND"
		printf 'TIMEOUT=%q\n' "$TIMEOUT"
		printf 'SCRIPT=%q\n' "$SCRIPT"
		printf 'INTERACTIVE=%q\n' "$INTERACTIVE"
		printf 'LAB_OUT=%q\n' "${OUT:+/out}"
		printf 'LAB_NIC=%q\n' "$(! has_other || echo "$NIC")"
		printf 'LAB_WIRE=%q\n' "${DUMP:+/lab/shared/wire.pcap}"
	} >"$RUN/run/settings"
}

# ------------------------------------------------------------------- the guest

# Boot, and wait for the guest to end; again if it never came so far as to do anything.
boot_guest() {
	ulimit -c 0
	boot_once
	if died_at_boot; then
		forget_boot
		boot_once
	fi
}

# The guest minds the time-out itself and tells what hangs; the watchdog is for a guest
# that is beyond that.
boot_once() {
	local cats=()

	cat "$RUN/stdout" &
	cats+=($!)
	cat "$RUN/stderr" >&2 &
	cats+=($!)

	# Spelled out, or bash takes the terminal away from it.
	"start_$KIND" <&0 &
	GUEST=$!
	(
		# Not a child's pipe end that keeps a reader of ours waiting.
		exec >/dev/null 2>&1
		[ -z "$PIN" ] || pin_guest
		watch_guest
	) &
	WATCHDOG=$!
	! has_other || boot_other
	if [ -n "${OTHER:-}" ]; then
		wait_for_both
	else
		wait "$GUEST" 2>/dev/null
	fi
	end_watchdog
	# Children of a UML that died may live on and hold the FIFOs.
	kill_guest
	GUEST='' OTHER=''
	wait "${cats[@]}"
}

# Time runs from the start of the script: a busy machine may take long to boot
# a guest.  The grace is for cleaning up where everything hangs.
watch_guest() {
	local boot=600 grace=300

	until [ -e "$RUN/run/started" ] || [ "$boot" = 0 ]; do
		sleep 1 || exit
		boot=$((boot - 1))
	done
	# Killed when the guest has ended.
	[ "$boot" = 0 ] || sleep $((TIMEOUT + grace)) || exit
	touch "$RUN/run/timed-out"
	kill_guest
}

# The CPUs of a UML are its first threads.  A process of the guest is a process of this
# machine, which may run where its thread may that made it: so they stay together, and what
# a system call takes does not depend on whether they happen to.
pin_guest() {
	local i cpu
	local -a cpus=() threads=()

	for ((i = 0; i < $(getconf _NPROCESSORS_CONF); i++)); do
		! taskset -c "$i" true || cpus+=("$i")
	done
	until [ ${#threads[@]} -ge "$CPUS" ]; do
		sleep 0.01
		cd "/proc/$GUEST/task" || return
		mapfile -t threads < <(printf '%s\n' * | sort -n)
	done
	for ((i = 0; i < CPUS; i++)); do
		cpu=${cpus[i % ${#cpus[@]}]}
		taskset -cp "$cpu" "${threads[i]}"
	done
}

end_watchdog() {
	[ -n "${WATCHDOG:-}" ] || return
	pkill -KILL -P "$WATCHDOG" 2>/dev/null
	kill -KILL "$WATCHDOG" 2>/dev/null
	# Here, or bash tells of its death later.
	wait "$WATCHDOG" 2>/dev/null
	WATCHDOG=
}

kill_guest() {
	kill_group "${GUEST:-}"
	kill_group "${OTHER:-}"
}

# A guest leads a session of its own; its children are in its group.
kill_group() {
	[ -z "$1" ] || kill -KILL -- "-$1" 2>/dev/null
}

end_run() {
	# Another signal must not interrupt this.
	trap '' INT TERM HUP
	kill_guest
	end_watchdog
	[ -z "${TERMINAL:-}" ] || stty "$TERMINAL" 2>/dev/null
	[ -n "${LAB_KEEP:-}" ] || rm -rf --one-file-system "${RUN:?}"
}

# UML keeps the guest's memory in a file: take a folder that has the room.
choose_memory_folder() {
	local folder free best='' most=0

	for folder in "${TMPDIR:-}" /dev/shm /tmp; do
		[ -w "$folder" ] || continue
		free=$(df --output=avail -m "$folder" | tail -n 1)
		if [ "$free" -gt "$((MEMORY + 64))" ]; then
			echo "$folder $MEMORY"
			return
		fi
		if [ "$free" -gt "$most" ]; then
			most=$free
			best=$folder
		fi
	done
	say "no folder has room for $MEMORY MB of guest memory: using $((most * 9 / 10)) MB in $best"
	echo "$best $((most * 9 / 10))"
}

start_uml() {
	local folder memory
	local -a console=("con1=null,fd:3" "con2=null,fd:4")

	read -r folder memory < <(choose_memory_folder)
	if [ -n "$INTERACTIVE" ]; then
		# Straight to the terminal, which UML makes raw.
		exec 5<&0 6>&1
		console=("con1=fd:5,fd:6" "con2=null,fd:4")
	fi
	TMPDIR=$folder exec setsid "$(piece_dir "$KERNEL")/linux" \
		mem="${memory}M" ncpus="$CPUS" seccomp=on \
		initrd="$(piece_dir initramfs)/initramfs.gz" \
		uml_dir="$RUN/uml" umid=guest \
		con=null con0=null,fd:1 "${console[@]}" \
		loglevel=5 log_buf_len=4M printk.devkmsg=on \
		bonding.max_bonds=0 dummy.numdummies=0 ifb.numifbs=0 \
		lab_fs=hostfs lab_base="$RUN" ${OUT:+lab_out=1} "${WORDS[@]}" \
		</dev/null >"$RUN/console" 2>&1 3>"$RUN/stdout" 4>"$RUN/stderr"
}

# ---------------------------------------------------------------- the verdict

judge_run() {
	local run=$RUN/run status faults=0

	judge_kernel "$run" "$RUN/console" kernel.log || faults=1
	if has_other; then
		judge_kernel "$RUN/other" "$RUN/console.b" kernel.b.log "at end B" || faults=1
		judge_other || faults=1
	fi

	if [ -e "$run/timed-out" ]; then
		if [ -e "$run/started" ]; then
			say "timed out after $TIMEOUT s"
		else
			say "the guest did not get ready in time; the end of its console:"
			tail -n 30 "$RUN/console" | sed 's/^/  | /' >&2
		fi
		[ ! -s "$run/hanging" ] || sed 's/^/  | /' "$run/hanging" >&2
		return "$EXIT_TIMEOUT"
	fi
	if [ -s "$run/failure" ]; then
		say "the guest could not be made ready: $(cat "$run/failure")"
		[ "$faults" = 0 ] || return "$EXIT_FAULT"
		return "$EXIT_LAB"
	fi
	if ! status=$(cat "$run/status" 2>/dev/null) || [ -z "$status" ]; then
		say "the guest died; the end of its console:"
		tail -n 60 "$RUN/console" | sed 's/^/  | /' >&2
		[ ! -s "$RUN/qemu.log" ] || sed 's/^/  | /' "$RUN/qemu.log" >&2
		# Before there was anything of ours in it?
		grep -q 'lab: begin' "$RUN/kernel.log" || return "$EXIT_LAB"
		return "$EXIT_FAULT"
	fi
	[ "$faults" = 0 ] || return "$EXIT_FAULT"
	return "$status"
}

# judge_kernel FOLDER CONSOLE LOG [WHERE]: whether there is nothing to complain of in a
# guest's kernel, and after the script.
judge_kernel() {
	local folder=$1 bad=0

	collect_kernel_log "$folder" "$2" "$RUN/$3"
	[ -z "$OUT" ] || cp "$RUN/$3" "$OUT/$3"
	if ! awk -f "$LAB/lib/faults.awk" "$RUN/$3" >&2; then
		[ -z "${4:-}" ] || say "that was $4"
		bad=1
	fi
	if [ -s "$folder/teardown" ]; then
		say "after the script${4:+, $4}:"
		sed 's/^/  | /' "$folder/teardown" >&2
		bad=1
	fi
	return "$bad"
}

# What the guest read from /dev/kmsg ("6,123,4567,-;text", with lines of keys
# and values after some) as people know it.  Of a guest that died, the console.
collect_kernel_log() {
	if [ -s "$1/kmsg" ]; then
		awk -F ';' '/^[0-9]/ {
			split($1, field, ",")
			text = substr($0, length($1) + 2)
			printf "[%12.6f] %s\n", field[3] / 1000000, text
		}' "$1/kmsg" >"$3"
	else
		tr -d '\r' <"$2" >"$3"
	fi
}
