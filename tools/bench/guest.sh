#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In the guest: what tools/bench/bench has run there.

export PYTHONDONTWRITEBYTECODE=1
program=measure.py
[ "${LAB_TOPOLOGY:-}" != two ] || program=two.py
exec python3 "$(dirname "$(readlink -f "$0")")/$program" "$@"
