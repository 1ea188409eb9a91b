#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Completion queues: resizing, overflow, and what is made on parent domains."""

import errno
import threading
import time

from pyverbs import enums as e
from pyverbs.cq import CQEX, CqInitAttrEx
from pyverbs.pd import PD, ParentDomain, ParentDomainInitAttr

import ends
from ends import SIGNALED, Fail, check, equal, pattern, readable, refused, same

SEND, WRITE = e.IBV_WR_SEND, e.IBV_WR_RDMA_WRITE
TESTS = []
test = ends.tester(TESTS)


def writes(x, y, wr_ids):
    """Small writes; the buffers."""
    src, dst = x.memory(8), y.memory(8)
    for i in wr_ids:
        x.send(i, WRITE, [src.sge()], (dst.addr, dst.rkey))
    return src, dst


@test("resized, completions stay", send_wr=128, cqe=64)
def resize(_, x, y):
    """Larger, smaller; less than what is in it is refused."""
    keep = writes(x, y, range(40))
    time.sleep(0.2)
    refused(errno.EINVAL, x.scq.resize, 16)
    x.scq.resize(200)
    keep += writes(x, y, range(40, 80))
    x.sent_well(range(60))
    x.scq.resize(20)
    x.sent_well(range(60, 80))
    keep += writes(x, y, range(80, 100))
    x.sent_well(range(80, 100))
    refused(errno.EINVAL, x.scq.resize, 0)
    refused(errno.EINVAL, x.scq.resize, 1 << 30)
    keep += writes(x, y, [100])
    x.sent_well([100])


@test("resized again and again under traffic", send_wr=64, cqe=64)
def resize_live(_, x, y):
    """Every completion comes once, in order."""
    src, dst = x.memory(8), y.memory(8)
    stop, errors, total = threading.Event(), [], 3000

    def resizer():
        n = 0
        try:
            while not stop.is_set():
                n += 1
                x.scq.resize([64, 1000, 128, 4000, 70][n % 5])
                time.sleep(0.001)
        except Exception as error:  # pylint: disable=broad-except # told by the main thread
            errors.append(error)

    thread = threading.Thread(target=resizer)
    thread.start()
    seen, sent = [], 0
    end = time.monotonic() + 60
    try:
        while len(seen) < total and time.monotonic() < end:
            while sent < total and sent - len(seen) < 60:
                x.send(sent, WRITE, [src.sge()], (dst.addr, dst.rkey))
                sent += 1
            seen += [wc.wr_id for wc in x.scq.poll(16)[1]]
    finally:
        stop.set()
        thread.join()
    if errors:
        raise Fail(f"a resize failed: {errors[0]}")
    equal(seen, list(range(total)), "completions")


@test("an arming outlives a resize", events=True)
def resize_armed(_, x, y):
    """The event comes for what comes after."""
    x.scq.req_notify()
    x.scq.resize(512)
    keep = writes(x, y, [1])
    check(readable(x.channel_fd, 3), "no event")
    x.channel.get_cq_event(x.scq)
    x.scq.ack_events(1)
    x.sent_well([1])
    del keep


@test("overflow: one event, or none if it is to be ignored", send_wr=128, cqe=16)
def overflow(_, x, y):
    """More completions than entries."""
    keep = writes(x, y, range(40))
    check(x.has_event(e.IBV_EVENT_CQ_ERR), "no event")
    keep += writes(x, y, range(40, 60))
    check(not x.has_event(e.IBV_EVENT_CQ_ERR, 0.1), "an event more")

    own = x.scq
    init = CqInitAttrEx(cqe=16, flags=e.IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN,
                        comp_mask=e.IBV_CQ_INIT_ATTR_MASK_FLAGS)
    cq = CQEX(x.ctx, init)
    old = x.qp
    try:
        x.scq = cq
        x.qp = x.make_qp()
        x.scq = own
        y.to_state(e.IBV_QPS_RESET)
        for end, peer in ((x, y), (y, x)):
            end.to_init()
            end.to_rtr(peer)
            end.to_rts()
        keep += writes(x, y, range(40))
        check(not x.has_event(e.IBV_EVENT_CQ_ERR, 0.2), "an event that was not asked for")
        x.qp.close()
    finally:
        x.scq, x.qp = own, old
        cq.close()


@test("parent domains: memory and queue pairs of them belong to the domain")
def parent_domain(_, x, y):
    """And the domain cannot go first."""
    parent = ParentDomain(x.ctx, ParentDomainInitAttr(pd=x.pd))
    src, dst = x.memory(100, pd=parent), y.memory(100)
    src.set(pattern(100))
    x.send(1, WRITE, [src.sge()], (dst.addr, dst.rkey))
    x.sent_well([1])
    same(dst.get(), pattern(100), "data")
    other = PD(x.ctx)
    foreign = ParentDomain(x.ctx, ParentDomainInitAttr(pd=other))
    bad = x.memory(8, pd=foreign)
    x.send(2, WRITE, [bad.sge()], (dst.addr, dst.rkey), SIGNALED)
    equal(x.sent()[0].status, e.IBV_WC_LOC_PROT_ERR, "status")
    del src, bad
    foreign.close()
    other.close()
    parent.close()


if __name__ == "__main__":
    ends.main(TESTS)
