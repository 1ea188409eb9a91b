#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""XRC: one target QP serves the shared queues of a domain, whichever a request names."""

import errno
import os
import tempfile

from pyverbs import enums as e
from pyverbs.cq import CQ
from pyverbs.pd import PD
from pyverbs.qp import QP, QPCap, QPInitAttrEx
from pyverbs.srq import SRQ, SrqInitAttrEx
from pyverbs.wr import RecvWR, SendWR
from pyverbs.xrcd import XRCD, XRCDInitAttr

import ends
from ends import (INIT_MASK, RTR_MASK, RTS_MASK, SIGNALED, End, check, equal, pattern,
                  refused, same, status_name)

SEND, WRITE, READ = e.IBV_WR_SEND, e.IBV_WR_RDMA_WRITE, e.IBV_WR_RDMA_READ
ADD = e.IBV_WR_ATOMIC_FETCH_AND_ADD
INI_RTR = RTR_MASK & ~(e.IBV_QP_MAX_DEST_RD_ATOMIC | e.IBV_QP_MIN_RNR_TIMER)
TESTS = []


class XrcEnd(End):
    """An end with a domain, an initiator and a target."""

    def make_qp(self):
        """The initiator is qp, so that End's own methods send from it."""
        # pylint: disable=attribute-defined-outside-init
        self.file = tempfile.TemporaryFile()
        self.xrcd = self.open_domain()
        cap = QPCap(64, 0, 2, 0, 0)
        init = QPInitAttrEx(qp_type=e.IBV_QPT_XRC_SEND, scq=self.scq, cap=cap, pd=self.pd,
                            sq_sig_all=0, comp_mask=e.IBV_QP_INIT_ATTR_PD)
        init_tgt = QPInitAttrEx(qp_type=e.IBV_QPT_XRC_RECV, xrcd=self.xrcd,
                                comp_mask=e.IBV_QP_INIT_ATTR_XRCD)
        self.target = QP(self.ctx, init_tgt)
        return QP(self.ctx, init)

    def open_domain(self):
        """The one of our file."""
        mask = e.IBV_XRCD_INIT_ATTR_FD | e.IBV_XRCD_INIT_ATTR_OFLAGS
        return XRCD(self.ctx, XRCDInitAttr(mask, os.O_CREAT, self.file.fileno()))

    def make_xsrq(self, wrs=16, pd=None, cq=None):
        """An empty one; (queue, its CQ)."""
        cq = cq or CQ(self.ctx, 64)
        attr = SrqInitAttrEx(max_wr=wrs, max_sge=2)
        attr.comp_mask = (e.IBV_SRQ_INIT_ATTR_TYPE | e.IBV_SRQ_INIT_ATTR_XRCD |
                          e.IBV_SRQ_INIT_ATTR_CQ | e.IBV_SRQ_INIT_ATTR_PD)
        attr.srq_type = e.IBV_SRQT_XRC
        attr.pd, attr.xrcd, attr.cq = pd or self.pd, self.xrcd, cq
        return SRQ(self.ctx, attr), cq

    def send_to(self, srq, wr_id, opcode, sges, remote=None):
        """Post a request that names this queue."""
        wr = SendWR(wr_id, opcode, len(sges), 0, sges, SIGNALED)
        if remote and len(remote) == 4:
            wr.set_wr_atomic(remote[1], remote[0], remote[2], remote[3])
        elif remote:
            wr.set_wr_rdma(remote[1], remote[0])
        wr.set_qp_type_xrc(srq if isinstance(srq, int) else srq.get_srq_num())
        self.qp.post_send(wr)

    def close(self):
        self.target.close()
        self.qp.close()
        self.xrcd.close()
        self.file.close()
        super().close()


def connect(x, y):
    """The initiator of x with the target of y; both to RTS."""
    rtr = x.rtr_attr(y)
    rtr.dest_qp_num = y.target.qp_num
    x.qp.modify(x.init_attr(), INIT_MASK)
    x.qp.modify(rtr, INI_RTR)
    x.qp.modify(x.rts_attr(), RTS_MASK)
    rtr = y.rtr_attr(x)
    rtr.dest_qp_num = x.qp.qp_num
    y.target.modify(y.init_attr(), INIT_MASK)
    y.target.modify(rtr, RTR_MASK)


def test(name):
    """A test on two fresh ends, x to y connected."""
    def register(function):
        def run(names):
            x = XrcEnd(names[0], int(names[2]), {})
            y = XrcEnd(names[1], int(names[3]), {})
            try:
                connect(x, y)
                function(x, y)
            finally:
                x.close()
                y.close()
        TESTS.append((name, run))
        return function
    return register


def post(srq, wr_id, sges):
    """A receive."""
    srq.post_recv(RecvWR(wr_id, len(sges), sges))


@test("one target, two queues with CQs of their own")
def two_queues(x, y):
    """Each message goes to the one that it names."""
    (one, cq_one), (two, cq_two) = y.make_xsrq(), y.make_xsrq()
    check(one.get_srq_num() != two.get_srq_num(), "two queues with one number")
    src, dst = x.memory(5000), y.memory(10000)
    src.set(pattern(5000))
    post(one, 1, [dst.sge(5000)])
    post(two, 2, [dst.sge(5000, 5000)])
    x.send_to(two, 12, SEND, [src.sge(4999)])
    x.send_to(one, 11, SEND, [src.sge(5000)])
    x.sent_well([12, 11])
    wc = y.poll(cq_one, 1)[0]
    equal((wc.wr_id, wc.byte_len, wc.qp_num), (1, 5000, y.target.qp_num), "completion of one")
    wc = y.poll(cq_two, 1)[0]
    equal((wc.wr_id, wc.byte_len, wc.qp_num), (2, 4999, y.target.qp_num), "completion of two")
    same(dst.get(9999), pattern(5000) + pattern(5000)[:4999], "data")
    one.close()
    two.close()


@test("WRITE, READ and atomics in the domain of the queue that is named")
def rdma(x, y):
    """And not in that of another."""
    other = PD(y.ctx)
    (here, _), (there, _) = y.make_xsrq(), y.make_xsrq(pd=other)
    src, dst = x.memory(9000), y.memory(9000)
    back = x.memory(9000)
    src.set(pattern(9000))
    x.send_to(here, 1, WRITE, [src.sge()], (dst.addr, dst.rkey))
    x.sent_well([1])
    same(dst.get(), pattern(9000), "WRITE")
    x.send_to(here, 2, READ, [back.sge()], (dst.addr, dst.rkey))
    x.sent_well([2])
    same(back.get(), pattern(9000), "READ")
    aligned = (dst.addr + 7) & ~7
    x.send_to(here, 3, ADD, [back.sge(8)], (aligned, dst.rkey, 1, 0))
    x.sent_well([3])
    same(back.get(8), pattern(9000)[aligned - dst.addr:][:8], "what was there")
    x.send_to(there, 4, WRITE, [src.sge(8)], (dst.addr, dst.rkey))
    equal(status_name(x.sent()[0].status), "REM_ACCESS_ERR", "status")
    here.close()
    there.close()
    other.close()


@test("a queue that does not exist, or is gone")
def nowhere(x, y):
    """An invalid request; nothing completes here."""
    srq, cq = y.make_xsrq()
    dst, src = y.memory(10), x.memory(10)
    post(srq, 1, [dst.sge()])
    x.send_to(srq.get_srq_num() ^ 1, 1, SEND, [src.sge()])
    equal(status_name(x.sent()[0].status), "REM_INV_REQ_ERR", "status")
    equal(cq.poll(1)[0], 0, "completions")
    srq.close()


@test("a queue of another domain")
def foreign(x, y):
    """Is not found by this target."""
    mine, y.file = y.file, tempfile.TemporaryFile()
    own, y.xrcd = y.xrcd, y.open_domain()
    srq, _ = y.make_xsrq()
    src, dst = x.memory(10), y.memory(10)
    post(srq, 1, [dst.sge()])
    x.send_to(srq, 1, SEND, [src.sge()])
    equal(status_name(x.sent()[0].status), "REM_INV_REQ_ERR", "status")
    srq.close()
    y.xrcd.close()
    y.file.close()
    y.file, y.xrcd = mine, own


@test("empty: RNR, then the message comes")
def empty(x, y):
    """As with any receive queue."""
    srq, cq = y.make_xsrq()
    src, dst = x.memory(10), y.memory(10)
    x.send_to(srq, 1, SEND, [src.sge()])
    x.nothing_more(0.05)
    post(srq, 5, [dst.sge()])
    x.sent_well([1])
    equal(y.poll(cq, 1)[0].wr_id, 5, "request")
    srq.close()


@test("what the ends cannot do")
def cannot(x, y):
    """Receive at the initiator, send from the target."""
    src = x.memory(10)
    refused(errno.EINVAL, x.recv, 1, [src.sge()])
    wr = SendWR(1, SEND, 1, 0, [src.sge()], SIGNALED)
    refused(errno.EINVAL, y.target.post_send, wr)


if __name__ == "__main__":
    ends.main(TESTS)
