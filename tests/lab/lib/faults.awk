# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Find the reports in a kernel log that make a run fail; print them; exit with
# 1 if any counts.  Reports of which rxe or siw is the cause, or which are known to come
# from elsewhere, are only printed.
#
# A report is a line that matches FAULT and the lines that follow it closely,
# to its end mark.  Lines before "lab: begin" are of the boot.

BEGIN {
	FAULT = "WARNING|(^|[^A-Z_])BUG|KASAN|UBSAN|Oops|general protection fault" \
		"|possible (circular|recursive|irq lock)|inconsistent lock state" \
		"|suspicious RCU|bad unlock balance|held lock freed|lock held when returning" \
		"|INFO: task .* blocked|INFO: .*detected .*stall|INFO: trying to register" \
		"|(soft|hard) lockup|hard LOCKUP|memory leak|leaked|[lL]eaking" \
		"|unregister_netdevice: waiting|refcount_t|list_(add|del) corruption" \
		"|sleeping function|scheduling while atomic|Objects remaining" \
		"|Bad page|Kernel panic|ref_tracker|Modules? .*still in use"
	# Locking reports tell of several paths: any of them may be to blame.
	LOCKING = "possible (circular|recursive|irq lock)|inconsistent lock state" \
		"|suspicious RCU|bad unlock balance|held lock freed"
	OTHERS = "(^|[^a-z_])(rxe|siw)_[a-z]|sw/(rxe|siw)/|\\[(rdma_rxe|siw)\\]"
	# ib_srpt gives back a cache that it does not have, if it has a shared receive queue.
	KNOWN = "WARNING: .* srpt_cache_put\\+"
	# nvmet ends its rdma_cm listener under a lock that its handlers take.
	KNOWN_LOCK = "\\(nvmet_config_sem\\)"
	OURS = "(^|[^a-z_])rove_[a-z]|sw/rove/|\\[rove\\]"
	LONGEST = 120
	counted = 0
	started = 0
}

# The time of a line, or the last known one.
function stamp(line) {
	if (match(line, /^\[ *[0-9]+\.[0-9]+\]/))
		return substr(line, 2, RLENGTH - 2) + 0
	return last
}

function text_of(line) {
	sub(/^\[ *[0-9.]+\] ?/, "", line)
	return line
}

function finish(   i, line, first, ours, others, known, skip) {
	if (!size)
		return
	for (i = 1; i <= size; i++) {
		line = text_of(report[i])
		if (line ~ /Modules linked in|Comm:|Hardware name|Tainted|irqs last/)
			continue
		known = known || line ~ KNOWN_LOCK
		if (line ~ OURS) {
			ours = 1
			if (!first)
				first = "ours"
		} else if (line ~ OTHERS) {
			others = 1
			if (!first)
				first = "others"
		}
	}
	skip = locking ? ((others || known) && !ours) : (first == "others" || text_of(report[1]) ~ KNOWN)
	if (skip) {
		print "lab: in the kernel log, caused by another driver, not counted:"
	} else {
		print "lab: in the kernel log:"
		counted++
	}
	for (i = 1; i <= size; i++)
		print "  | " report[i]
	size = 0
	locking = 0
}

/lab: begin/ {
	size = 0
	locking = 0
	counted = 0
	started = 1
	last = stamp($0)
	next
}

{
	now = stamp($0)
	if (size && (now - last > 1 || size >= LONGEST || /lab: /))
		finish()
	last = now
}

size {
	report[++size] = $0
	if ($0 ~ LOCKING)
		locking = 1
	if (text_of($0) ~ /^---\[ end trace/ || (size > 4 && text_of($0) ~ /^=+$/))
		finish()
	next
}

$0 ~ FAULT && $0 !~ /lab: |FAULT_INJECTION|traps: .* general protection fault ip:/ {
	report[++size] = $0
	locking = ($0 ~ LOCKING)
}

END {
	finish()
	exit counted > 0
}
