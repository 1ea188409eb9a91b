#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Unreliable connections and datagrams by verbs, from Python: see datagram.py.

# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
need_pair
all_by_verbs datagram.py
