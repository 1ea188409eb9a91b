#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Memory windows and kinds of memory by verbs, from Python: see memory.py.

# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
need_pair
all_by_verbs memory.py
