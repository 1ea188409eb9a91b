#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Memory windows and kinds of memory by verbs, from Python: see memory.py.

# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
need_pair
python3 -c 'import pyverbs.device' 2>/dev/null || skip_all "no pyverbs"

export SLOW
export PYTHONDONTWRITEBYTECODE=1
timeout -k 5 $((60 * SLOW)) python3 "$SELFTESTS/memory.py" "$RA" "$RB" "$GID_A" "$GID_B" "$ONLY"
status=$?
[ "$status" -le 1 ] || echo "# the program ended with status $status ($(status_text "$status"))"
exit "$status"
