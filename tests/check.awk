# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What a job of tests/check printed -> a line for each of its tests, and
# "COUNT passed failed skipped".  -v job=NAME -v status=EXIT-STATUS
#
# Tests are lines of KTAP, of a subtest (indented) or not.  A test that was
# planned and did not come has failed.  So has a job without a line for a
# failure that did not return 0.

function tell(what, text) {
	printf "%-6s %s%s: %s\n", what, job, script == "" ? "" : " " script, text
}

function pass(text) { passed++; tell("ok", text) }
function fail(text) { failed++; bad++; tell("FAILED", text) }
function skip(text) { skipped++; tell("skip", text) }

# A script, or the job, has come to its end.
function finish_plan() {
	if (planned > seen)
		fail(planned - seen " of " planned " tests did not run")
	planned = seen = 0
}

# The name of a test, without its number.
function name_of(line) {
	sub(/^ *(not )?ok */, "", line)
	sub(/^[0-9]+ *(- )?/, "", line)
	return line
}

function result(line,   text) {
	seen++
	text = name_of(line)
	if (line ~ /^ *not ok/)
		fail(text)
	else if (text ~ /# SKIP/)
		skip(text)
	else
		pass(text)
}

{ sub(/\r$/, "") }

# The upper level of run.sh: counted by the tests below it.
/^# selftests: rove: / {
	finish_plan()
	script = $NF
	bad = 0
	whole = ""
	next
}

/^(not )?ok [0-9]+ selftests: / {
	finish_plan()
	if ($0 ~ /# SKIP/)
		skip(whole == "" ? "all of it" : whole)
	else if ($1 == "not" && !bad)
		fail("ended badly: " $0)
	script = ""
	guest = 1
	next
}

/^ *1\.\.[0-9]+/ {
	# The plan of run.sh itself comes before its first script.
	if ($0 !~ /^ /) {
		level0 = $0
		sub(/^1\.\./, "", level0)
		next
	}
	n = $1
	sub(/^1\.\./, "", n)
	planned = n + 0
	if (planned == 0)
		whole = substr($0, index($0, "#"))
	next
}

script != "" && /^  (not )?ok( |$)/ { result($0); next }
script == "" && /^(not )?ok( |$)/ { result($0); next }
/^fuzz: .* no crash$/ { pass($0); next }
/^[0-9]+ passed, [0-9]+ failed$/ && $3 == 0 && !passed { pass($0); next }

END {
	finish_plan()
	status += 0
	if (job ~ /-/) {
		# Of a guest: the lab looked at the kernel's log and unloaded all.
		script = ""
		if (status == 124)
			fail("out of time")
		else if (status == 125)
			fail("faults in the kernel log, or something left behind")
		else if (status == 126)
			fail("the guest was not ready")
		else if (!guest && !failed)
			fail("ended with status " status " before any test")
		else if (status == 0 || status == 1)
			pass("kernel log clean, all unloaded")
		else
			fail("ended with status " status)
	} else if (status != 0 && !failed) {
		fail("ended with status " status)
	} else if (status == 0 && !passed && !failed && !skipped) {
		pass("clean")
	}
	print "COUNT", passed + 0, failed + 0, skipped + 0
}
