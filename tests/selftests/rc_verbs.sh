#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Reliable connections by verbs, from Python: see rc_verbs.py.

# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
need_pair
all_by_verbs rc_verbs.py
