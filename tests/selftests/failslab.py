#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Every verb, with each of its allocations failing once: the first, the second, and so
on, until there are no more."""

import ctypes
import errno
import gc
import mmap
import os
import threading

from pyverbs import enums as e
from pyverbs.addr import AH, GID, AHAttr, GlobalRoute
from pyverbs.cq import CQ, CompChannel, CqInitAttrEx, CQEX
from pyverbs.device import Context
from pyverbs.mr import MR, MW
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsError, PyverbsRDMAError
from pyverbs.qp import QP, QPCap, QPInitAttr
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr
from pyverbs.xrcd import XRCD, XRCDInitAttr

import ends
from ends import ALL_ACCESS, Fail, check, pattern, same

# What failing allocations, and copies from and to user space, may come out as.
CODES = (errno.ENOMEM, errno.EFAULT, errno.EAGAIN, errno.ENOBUFS)
MOST = 500
TESTS = []


class Planted:
    """One failure at most within the block; afterwards came tells whether it came. The fault
    may hit the reading of that, too, which is as good as none."""

    def __init__(self, number):
        self.number, self.came = number, False
        # Open before: nothing is to be allocated in between but by the verb.
        self.fd = os.open(f"/proc/self/task/{threading.get_native_id()}/fail-nth", os.O_RDWR)
        self.text = str(number).encode()

    def __enter__(self):
        os.write(self.fd, self.text)
        return self

    def __exit__(self, *_):
        try:
            self.came = not int(os.pread(self.fd, 16, 0).strip(b"\n\0"))
            # It may come here: then there is none any more.
            os.pwrite(self.fd, b"0", 0)
        except OSError:
            pass
        os.close(self.fd)


def exhaust(name, make, after=None, codes=CODES):
    """make() with each of its allocations failing; what it makes is closed, or given to
    after()."""
    failed = 0
    for number in range(1, MOST):
        made, error = None, None
        planted = Planted(number)
        try:
            with planted:
                made = make()
        except (PyverbsError, OSError, MemoryError) as caught:
            error = caught
        if error is not None:
            failed += 1
            code = getattr(error, "error_code", None) or getattr(error, "errno", None)
            check(code in codes + (None, -1),
                  f"{name}, allocation {number}: {errno.errorcode.get(code, code)}: {error}")
            check(planted.came, f"{name} fails by itself: {error}")
        elif after:
            after(made)
        elif made is not None:
            made.close()
        del made
        gc.collect()
        if not planted.came:
            print(f"# {name}: {number - 1} allocations, {failed} failures")
            return
    raise Fail(f"{name}: never done in {MOST} attempts")


def test(name):
    """A test that gets a pair, connected, that must work on afterwards."""
    def register(function):
        def run(names):
            pair = ends.Pair(names)
            try:
                function(pair, pair.x, pair.y)
                src, dst = pair.x.memory(5000), pair.y.memory(5000)
                src.set(pattern(5000))
                pair.x.send(1, e.IBV_WR_RDMA_WRITE, [src.sge()], (dst.addr, dst.rkey))
                pair.x.sent_well([1])
                same(dst.get(), pattern(5000), "written by the pair that was there")
            finally:
                pair.close()
        TESTS.append((name, run))
        return function
    return register


@test("open a device, and close it")
def contexts(pair, x, y):
    """With its doorbell page."""
    del x, y
    # Libibverbs looks into files on its way, and has no words for what it did not find.
    exhaust("open", lambda: Context(name=pair.names[0]), codes=tuple(errno.errorcode))


@test("domains, handles, XRC domains")
def domains(pair, x, _):
    """Small things."""
    exhaust("PD", lambda: PD(x.ctx))
    route = GlobalRoute(dgid=GID(str(pair.y.gid())), sgid_index=x.gid_index)
    attr = AHAttr(gr=route, is_global=1, port_num=1)
    exhaust("AH", lambda: AH(x.pd, attr=attr))
    init = XRCDInitAttr(e.IBV_XRCD_INIT_ATTR_FD | e.IBV_XRCD_INIT_ATTR_OFLAGS, os.O_CREAT, -1)
    exhaust("XRCD", lambda: XRCD(x.ctx, init))


@test("regions and windows")
def regions(_, x, y):
    """Pinned, on demand, registered anew."""
    del y
    area = mmap.mmap(-1, 1 << 20)
    area[:] = bytes(1 << 20)
    addr = ctypes.addressof(ctypes.c_char.from_buffer(area))
    exhaust("MR", lambda: MR(x.pd, 1 << 20, ALL_ACCESS, address=addr))
    exhaust("ODP MR", lambda: MR(x.pd, 1 << 20, ALL_ACCESS | e.IBV_ACCESS_ON_DEMAND, address=addr))
    exhaust("MW", lambda: MW(x.pd, e.IBV_MW_TYPE_2))
    mr = MR(x.pd, 1 << 20, ALL_ACCESS, address=addr)

    def rereg():
        mr.rereg(e.IBV_REREG_MR_CHANGE_TRANSLATION, None, addr, 1 << 19, 0)

    exhaust("rereg", rereg)
    mr.close()


@test("completion queues")
def queues(_, x, y):
    """With a channel, extended, resized."""
    del y
    exhaust("channel", lambda: CompChannel(x.ctx))
    exhaust("CQ", lambda: CQ(x.ctx, 100, None, None, 0))
    exhaust("CQ, extended", lambda: CQEX(x.ctx, CqInitAttrEx(cqe=100)))
    cq = CQ(x.ctx, 100, None, None, 0)
    sizes = iter(range(100, 100000))
    exhaust("resize", lambda: cq.resize(next(sizes) * 2))
    cq.close()


@test("shared receive queues")
def shared(_, x, y):
    """Made, resized."""
    del y
    exhaust("SRQ", lambda: SRQ(x.pd, SrqInitAttr(SrqAttr(max_wr=100, max_sge=4))))
    srq = SRQ(x.pd, SrqInitAttr(SrqAttr(max_wr=100, max_sge=4)))
    sizes = iter(range(100, 100000))
    exhaust("resize", lambda: srq.modify(SrqAttr(max_wr=next(sizes)), e.IBV_SRQ_MAX_WR))
    srq.close()


def new_qp(end, kind=e.IBV_QPT_RC):
    """In RESET."""
    cap = QPCap(100, 100, 4, 4, 100)
    return QP(end.pd, QPInitAttr(qp_type=kind, scq=end.scq, rcq=end.rcq, cap=cap))


@test("queue pairs")
def qps(_, x, y):
    """Of each kind."""
    del y
    for kind, name in ((e.IBV_QPT_RC, "RC"), (e.IBV_QPT_UC, "UC"), (e.IBV_QPT_UD, "UD")):
        exhaust(name, lambda kind=kind: new_qp(x, kind))


@test("states of a queue pair")
def states(_, x, y):
    """What fails has changed nothing: the same step works the next time."""
    steps = (("INIT", x.init_attr, ends.INIT_MASK), ("RTR", lambda: x.rtr_attr(y), ends.RTR_MASK),
             ("RTS", x.rts_attr, ends.RTS_MASK))
    for last in range(len(steps)):
        name, attr, mask = steps[last]
        wanted = attr()
        made = []
        for number in range(1, MOST):
            made.append(new_qp(x))
            for _, before, bits in steps[:last]:
                made[-1].modify(before(), bits)
            planted = Planted(number)
            error = None
            try:
                with planted:
                    made[-1].modify(wanted, mask)
            except (PyverbsError, MemoryError) as caught:
                error = caught
                if isinstance(caught, PyverbsRDMAError):
                    check(caught.error_code in CODES, f"to {name}: {caught}")
                made[-1].modify(wanted, mask)
            check(planted.came or not error, f"to {name} fails by itself: {error}")
            made.pop().close()
            if not planted.came:
                print(f"# to {name}: {number - 1} allocations")
                break


@test("data")
def data(_, x, y):
    """Posting and polling need no memory that can lack; what is lost is sent again."""
    src, dst = x.memory(50000), y.memory(50000)
    for number in range(1, 60):
        src.set(pattern(50000, number))
        posted = 1
        with Planted(number):
            try:
                x.send(number, e.IBV_WR_RDMA_WRITE, [src.sge()], (dst.addr, dst.rkey))
            except PyverbsRDMAError as error:
                # The call that tells the module: of the work nobody knows yet.
                check(error.error_code == errno.EFAULT, f"{number}: {error}")
                posted = 2
        if posted == 2:
            x.send(number, e.IBV_WR_RDMA_WRITE, [src.sge()], (dst.addr, dst.rkey))
        x.sent_well([number] * posted, 20)
        same(dst.get(), pattern(50000, number), f"round {number}")


if __name__ == "__main__":
    ends.main(TESTS)
