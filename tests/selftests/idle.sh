#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Who has queue pairs and nothing to do takes no CPU: see idle.py.

# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
need_pair
[ "$TYPE" = rove ] || skip_all "it is rove that is looked at"
all_by_verbs idle.py
