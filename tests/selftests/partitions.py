#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Partition keys by verbs: who hears whom. PKEY in the environment is rove-pkey."""

import errno
import os
import subprocess

from pyverbs import enums as e
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QPAttr

import ends
from ends import check, counter, equal, pattern, refused, same, status_name

SEND, WRITE = e.IBV_WR_SEND, e.IBV_WR_RDMA_WRITE
TESTS = []


def put(link, index, key):
    """An entry of a link's table."""
    subprocess.run([os.environ["PKEY"], "set", link, str(index), hex(key)], check=True)


def test(name, x_key, y_key, **options):
    """A test of a pair whose ends have these keys, in entries 5 and 9."""
    def register(function):
        def run(names):
            put(names[0], 5, x_key)
            put(names[1], 9, y_key)
            pair = ends.Pair(names, x_pkey_index=5, y_pkey_index=9, **options)
            try:
                function(pair, pair.x, pair.y)
            finally:
                pair.close()
                put(names[0], 5, 0)
                put(names[1], 9, 0)
        TESTS.append((name, run))
        return function
    return register


def passes(x, y, wr_id=1):
    """A message each way."""
    for a, b in ((x, y), (y, x)):
        src, dst = a.memory(5000), b.memory(5000)
        src.set(pattern(5000, wr_id))
        b.recv(wr_id, [dst.sge()])
        a.send(wr_id, SEND, [src.sge()])
        a.sent_well([wr_id])
        b.received_well([wr_id])
        same(dst.get(), pattern(5000, wr_id), "data")


def silence(pair, x, y):
    """A WRITE of x is never answered, and y has dropped it for its key."""
    before = counter(pair.names[1], "drop_pkey")
    violations = y.ctx.query_port(1).bad_pkey_cntr
    src, dst = x.memory(100), y.memory(100)
    src.set(pattern(100))
    x.send(77, WRITE, [src.sge()], (dst.addr, dst.rkey))
    wc = x.sent()[0]
    equal((wc.wr_id, status_name(wc.status)), (77, "RETRY_EXC_ERR"), "how it ended")
    same(dst.get(), bytes(100), "what is there")
    # Statistics are as old as some milliseconds.
    check(ends.wait_until(lambda: counter(pair.names[1], "drop_pkey") > before),
          "nothing was counted")
    check(y.ctx.query_device().device_cap_flags & e.IBV_DEVICE_BAD_PKEY_CNTR,
          "the device does not say that it counts")
    check(y.ctx.query_port(1).bad_pkey_cntr > violations, "nothing was counted for the port")


@test("full members of a partition", 0x8042, 0x8042)
def full(_, x, y):
    """Data passes, and the queue pair tells its entry."""
    passes(x, y)
    equal(x.qp.query(e.IBV_QP_PKEY_INDEX)[0].pkey_index, 5, "entry")


@test("a full and a limited member", 0x8042, 0x0042)
def full_limited(_, x, y):
    """Both ways."""
    passes(x, y)


@test("two limited members", 0x0042, 0x0042, timeout=8, retry=1)
def limited(pair, x, y):
    """They do not hear each other."""
    silence(pair, x, y)


@test("two partitions", 0x8042, 0x8043, timeout=8, retry=1)
def strangers(pair, x, y):
    """They do not hear each other."""
    silence(pair, x, y)


@test("a key changes while it is used", 0x8042, 0x8042, timeout=8, retry=7)
def changes(pair, x, y):
    """At once, for those who are connected, and they are told."""
    passes(x, y)
    put(pair.names[1], 9, 0x0042)
    passes(x, y, 2)
    check(y.has_event(e.IBV_EVENT_PKEY_CHANGE), "no event")
    put(pair.names[0], 5, 0x8043)
    put(pair.names[1], 9, 0x8043)
    passes(x, y, 3)
    put(pair.names[1], 9, 0)
    silence(pair, x, y)


@test("entries that are no keys", 0x8042, 0x8042, connect=False)
def bad_index(_, x, y):
    """Empty ones, and those past the table."""
    for index in (1, 31, 32, 0xffff):
        attr = x.init_attr()
        attr.pkey_index = index
        refused(errno.EINVAL, x.qp.modify, attr, ends.INIT_MASK)
    x.to_init()
    del y


@test("the other entry is taken by a later modify", 0x8042, 0x8042, connect=False)
def later(_, x, y):
    """INIT to INIT, RTS to RTS is not allowed for it."""
    x.options["pkey_index"] = 0
    x.to_init()
    attr = QPAttr()
    attr.pkey_index = 5
    x.qp.modify(attr, e.IBV_QP_PKEY_INDEX)
    for end, peer in ((x, y), (y, x)):
        if end is y:
            end.to_init()
        end.to_rtr(peer)
    x.to_rts()
    y.to_rts()
    passes(x, y)


@test("the core's view of the table", 0x8042, 0x0042)
def view(_, x, y):
    """ibv_query_pkey(), the port's length."""
    check(ends.wait_until(lambda: x.ctx.query_pkey(1, 5) == 0x4280), "entry 5, in network order")
    check(ends.wait_until(lambda: y.ctx.query_pkey(1, 9) == 0x4200), "entry 9")
    equal(x.ctx.query_port(1).pkey_tbl_len, 32, "length")
    # The library says -1 here, and no errno.
    try:
        x.ctx.query_pkey(1, 32)
    except PyverbsRDMAError:
        return
    raise ends.Fail("there is an entry 32")


if __name__ == "__main__":
    ends.main(TESTS)
