#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# coverage.sh MINIMUM SOURCES OBJECT...: line coverage of the files in SOURCES

min=$1
src=$2
shift 2

"${GCOV:-gcov}" -n "$@" 2>/dev/null | awk -v min="$min" -v src="$src/" '
	/^File / {
		file = substr($0, 7, length($0) - 7)
		n = split(file, part, "/")
		# tests name the sources by a relative path
		name = part[n - 1] "/" part[n]
		wanted = part[n - 1] ~ /^(wire|proto|ring)$/
	}
	/^Lines executed:/ && wanted {
		split($0, w, /[:% ]+/)
		hit = int(w[3] * w[5] / 100 + 0.5)
		printf "%6.2f %% of %4d  %s\n", w[3], w[5], name
		lines += w[5]
		hits += hit
		wanted = 0
	}
	END {
		if (!lines) {
			print "no coverage data"
			exit 1
		}
		total = 100 * hits / lines
		printf "%6.2f %% of %4d  total (at least %d %%)\n", total, lines, min
		exit total < min
	}'
