#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Memory by verbs: windows of both types, binding and invalidation, and what
each kind of region allows."""

import errno
import fcntl
import mmap
import os
import resource
import signal
import struct

from pyverbs import enums as e
from pyverbs.mr import MR, MW, DmaBufMR, MWBind, MWBindInfo
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.wr import SGE, SendWR

import ends
from ends import (ALL_ACCESS, SIGNALED, Pair, Skip, check, equal, pattern, refused, same,
                  status_name)

SEND, WRITE, READ = e.IBV_WR_SEND, e.IBV_WR_RDMA_WRITE, e.IBV_WR_RDMA_READ
SEND_INV, LOCAL_INV, BIND = e.IBV_WR_SEND_WITH_INV, e.IBV_WR_LOCAL_INV, e.IBV_WR_BIND_MW
BINDABLE = ALL_ACCESS | e.IBV_ACCESS_MW_BIND
REMOTE = e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ
TESTS = []
test = ends.tester(TESTS)


class Window:
    """A window of an end, with what it takes to bind it."""

    def __init__(self, end, kind, pd=None):
        self.end, self.kind = end, kind
        self.mw = MW(pd or end.pd, kind)
        self.rkey = self.mw.rkey

    def bind(self, wr_id, memory, at, length, access=REMOTE, flags=SIGNALED):
        """Post a bind; the key that it is to have from then on."""
        info = MWBindInfo(memory.mr, memory.addr + at, length, access)
        if self.kind == e.IBV_MW_TYPE_1:
            self.end.qp.bind_mw(self.mw, MWBind(info, flags, wr_id))
            self.rkey = self.mw.rkey
        else:
            wr = SendWR(wr_id, BIND, 0, send_flags=flags)
            wr.set_bind_wr(self.mw, info)
            wr.num_sge = 0
            self.end.qp.post_send(wr)
            self.rkey = wr.rkey
        return self.rkey

    def close(self):
        """It goes."""
        self.mw.close()


def invalidate(end, wr_id, rkey, flags=SIGNALED):
    """Post a local invalidation."""
    wr = SendWR(wr_id, LOCAL_INV, 0, send_flags=flags)
    wr.imm_data = rkey
    wr.num_sge = 0
    end.qp.post_send(wr)


def works(x, y, window, memory, at, seed):
    """x writes and reads 500 bytes through a window of y."""
    src = x.memory(500)
    src.set(pattern(500, seed))
    x.send(900, WRITE, [src.sge()], (memory.addr + at, window.rkey))
    x.sent_well([900])
    same(memory.get(500, at), pattern(500, seed), "written through the window")
    src.set(bytes(500))
    x.send(901, READ, [src.sge()], (memory.addr + at, window.rkey))
    x.sent_well([901])
    same(src.get(), pattern(500, seed), "read through the window")


def denied(x, addr, rkey, opcode=WRITE, length=1):
    """The peer does not let x do this."""
    src = x.memory(max(length, 8))
    x.send(990, opcode, [src.sge(length)], (addr, rkey))
    equal(status_name(x.sent()[0].status), "REM_ACCESS_ERR", "status")


@test("a window of type 1: bound, moved, unbound")
def type1(_, x, y):
    """Each bind makes a new key; the completion tells what it was."""
    memory = y.memory(4096, BINDABLE)
    window = Window(y, e.IBV_MW_TYPE_1)
    old = window.rkey
    window.bind(1, memory, 1000, 1000)
    equal(y.sent_well([1])[0].opcode, e.IBV_WC_BIND_MW, "opcode")
    check(window.rkey != old and window.rkey >> 8 == old >> 8, "the key")
    works(x, y, window, memory, 1000, 1)
    works(x, y, window, memory, 1500, 2)
    window.bind(2, memory, 3000, 500)
    y.sent_well([2])
    works(x, y, window, memory, 3000, 3)
    window.bind(3, memory, 0, 0)
    y.sent_well([3])
    denied(x, memory.addr + 3000, window.rkey)
    window.close()


def past_edge(at, length):
    """A window of 1000 bytes at 1000, and what lies not in it."""
    def run(_, x, y):
        memory = y.memory(4096, BINDABLE)
        window = Window(y, e.IBV_MW_TYPE_1)
        window.bind(1, memory, 1000, 1000)
        y.sent_well([1])
        denied(x, memory.addr + at, window.rkey, length=length)
        same(memory.get(), bytes(4096), "memory")
        window.close()
    return run


test("a window ends: before it")(past_edge(999, 1))
test("a window ends: behind it")(past_edge(2000, 1))
test("a window ends: over its end")(past_edge(1500, 501))


@test("a window that was moved: its old key is unknown")
def old_key(_, x, y):
    """The old one."""
    memory = y.memory(4096, BINDABLE)
    window = Window(y, e.IBV_MW_TYPE_1)
    old = window.bind(1, memory, 0, 4096)
    window.bind(2, memory, 0, 4096)
    y.sent_well([1, 2])
    denied(x, memory.addr, old)
    window.close()


@test("a window for reading only")
def read_only(_, x, y):
    """READ, not WRITE."""
    memory = y.memory(4096, BINDABLE)
    memory.set(pattern(4096))
    window = Window(y, e.IBV_MW_TYPE_1)
    window.bind(1, memory, 0, 4096, e.IBV_ACCESS_REMOTE_READ)
    y.sent_well([1])
    dst = x.memory(4096)
    x.send(1, READ, [dst.sge()], (memory.addr, window.rkey))
    x.sent_well([1])
    same(dst.get(), pattern(4096), "READ")
    denied(x, memory.addr, window.rkey)
    window.close()


@test("a window gives what its region does not")
def more_than_region(_, x, y):
    """The region itself is closed to peers, but for its windows."""
    memory = y.memory(4096, e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_MW_BIND)
    window = Window(y, e.IBV_MW_TYPE_1)
    window.bind(1, memory, 0, 4096)
    y.sent_well([1])
    works(x, y, window, memory, 10, 1)
    denied(x, memory.addr, memory.rkey)
    window.close()


@test("a window's key is no key for the owner's own work")
def local_use(_, x, y):
    """As lkey it is refused."""
    memory = y.memory(4096, BINDABLE)
    window = Window(y, e.IBV_MW_TYPE_1)
    window.bind(1, memory, 0, 4096, REMOTE | e.IBV_ACCESS_LOCAL_WRITE)
    y.sent_well([1])
    memory.lkey = window.rkey
    y.send(2, SEND, [memory.sge()])
    equal(status_name(y.sent()[0].status), "LOC_PROT_ERR", "status")
    window.close()


@test("a window of type 2: bound, invalidated here, bound again")
def type2(_, x, y):
    """Requests behind the bind may use it."""
    memory = y.memory(4096, BINDABLE)
    window = Window(y, e.IBV_MW_TYPE_2)
    for i in range(3):
        window.bind(10 * i, memory, 1000 * i, 1000)
        y.sent_well([10 * i])
        works(x, y, window, memory, 1000 * i, i)
        invalidate(y, 10 * i + 1, window.rkey)
        equal(y.sent_well([10 * i + 1])[0].opcode, e.IBV_WC_LOCAL_INV, "opcode")
    denied(x, memory.addr + 2000, window.rkey)
    window.close()


def send_invalidating(x, y, src, dst, length, rkey):
    """SEND with invalidate from x to y, all well: how it was received."""
    y.recv(2, [dst.sge()])
    wr = SendWR(3, SEND_INV, 1 if length else 0, 0, [src.sge(length)] if length else [], SIGNALED)
    wr.imm_data = rkey
    x.qp.post_send(wr)
    x.sent_well([3])
    return y.received_well([2])[0]


@test("a window of type 2: invalidated by the peer")
def remote_invalidate(_, x, y):
    """SEND with invalidate, both with data and without."""
    memory, src, dst = y.memory(4096, BINDABLE), x.memory(3000), y.memory(3000)
    window = Window(y, e.IBV_MW_TYPE_2)
    for i, length in enumerate((3000, 1, 0)):
        window.bind(1, memory, 0, 4096)
        y.sent_well([1])
        works(x, y, window, memory, 100, i)
        src.set(pattern(3000, i))
        wc = send_invalidating(x, y, src, dst, length, window.rkey)
        check(wc.wc_flags & e.IBV_WC_WITH_INV, "no flag")
        equal(wc.imm_data, window.rkey, "the key that was invalidated")
        equal(wc.byte_len, length, "length")
        same(dst.get(length), pattern(3000, i)[:length], "data")
    denied(x, memory.addr, window.rkey)
    window.close()


@test("a window of type 2: bound once, invalidated here")
def invalidated(_, x, y):
    """What the peer may do then: nothing."""
    memory = y.memory(4096, BINDABLE)
    window = Window(y, e.IBV_MW_TYPE_2)
    window.bind(1, memory, 0, 4096)
    y.sent_well([1])
    works(x, y, window, memory, 100, 1)
    invalidate(y, 2, window.rkey)
    y.sent_well([2])
    denied(x, memory.addr, window.rkey)
    window.close()


def invalidated_with(length):
    """By a SEND of this length, whose data is right."""
    def run(_, x, y):
        memory, src, dst = y.memory(4096, BINDABLE), x.memory(3000), y.memory(3000)
        window = Window(y, e.IBV_MW_TYPE_2)
        window.bind(1, memory, 0, 4096)
        y.sent_well([1])
        works(x, y, window, memory, 100, 2)
        src.set(pattern(3000))
        equal(send_invalidating(x, y, src, dst, length, window.rkey).byte_len, length, "length")
        same(dst.get(), pattern(3000)[:length] + bytes(3000 - length), "data")
        denied(x, memory.addr, window.rkey)
        window.close()
    return run


for _length in (3000, 1, 0):
    test(f"a window of type 2: bound once, invalidated by a SEND of {_length} bytes")(
        invalidated_with(_length))


@test("the peer cannot invalidate what is no window of its own")
def remote_invalidate_wrong(_, x, y):
    """A region's key."""
    memory, dst = y.memory(4096), y.memory(10)
    y.recv(1, [dst.sge()])
    wr = SendWR(3, SEND_INV, 0, send_flags=SIGNALED)
    wr.num_sge = 0
    wr.imm_data = memory.rkey
    x.qp.post_send(wr)
    equal(status_name(x.sent()[0].status), "REM_ACCESS_ERR", "status")
    wc = y.received()[0]
    check(wc.status != e.IBV_WC_SUCCESS, "the receive went well")


@test("a window of type 2 is its queue pair's alone")
def other_qp(pair, x, y):
    """Another one of the same domain is refused."""
    other = Pair(pair.names)
    try:
        memory = y.memory(4096, BINDABLE)
        window = Window(y, e.IBV_MW_TYPE_2)
        window.bind(1, memory, 0, 4096)
        y.sent_well([1])
        denied(other.x, memory.addr, window.rkey)
        works(x, y, window, memory, 0, 4)
        window.close()
    finally:
        other.close()


@test("a bind that moves under traffic loses nothing", rd_atomic=4)
def under_traffic(_, x, y):
    """Old requests are answered by the old key or refused, never elsewhere."""
    memory = y.memory(65536, BINDABLE)
    src = x.memory(32768)
    src.set(pattern(32768, 1))
    window = Window(y, e.IBV_MW_TYPE_1)
    for i in range(40):
        at = 32768 * (i & 1)
        window.bind(i, memory, at, 32768)
        y.sent_well([i])
        x.send(i, WRITE, [src.sge()], (memory.addr + at, window.rkey))
        x.sent_well([i])
    same(memory.get(), pattern(32768, 1) * 2, "memory")
    window.close()


def bad_bind(kind, make, wanted="MW_BIND_ERR"):
    """A bind that cannot be; what comes behind it is flushed."""
    def run(_, x, y):
        memory = y.memory(4096, BINDABLE)
        window = Window(y, kind)
        keep = make(y, window, memory)
        y.send(7, WRITE, [memory.sge(1)], (memory.addr, memory.rkey))
        wcs = y.sent(2)
        equal(status_name(wcs[0].status), wanted, "status")
        equal(status_name(wcs[1].status), "WR_FLUSH_ERR", "status of the next")
        equal(y.state(), e.IBV_QPS_ERR, "state")
        window.close()
        del keep
    return run


def plain_region(y, window, memory):
    """A region that does not allow it."""
    other = y.memory(4096)
    window.bind(1, other, 0, 10)
    return other


def read_only_region(y, window, memory):
    """A region that cannot be written by a window that can."""
    other = y.memory(4096, e.IBV_ACCESS_MW_BIND)
    window.bind(1, other, 0, 10)
    return other


for _kind, _type in (("1", e.IBV_MW_TYPE_1), ("2", e.IBV_MW_TYPE_2)):
    for _name, _make in (
            ("past the region's end", lambda y, w, m: w.bind(1, m, 4000, 97)),
            ("before the region", lambda y, w, m: w.bind(1, m, -1, 10)),
            ("with a length that overflows", lambda y, w, m: w.bind(1, m, 1, (1 << 64) - 1)),
            ("to a region without the right", plain_region),
            ("for writing what cannot be written", read_only_region),
            ("with rights that windows do not have",
             lambda y, w, m: w.bind(1, m, 0, 10, e.IBV_ACCESS_MW_BIND))):
        test(f"no bind, type {_kind}: {_name}")(bad_bind(_type, _make))
test("no bind, type 2: of nothing")(
    bad_bind(e.IBV_MW_TYPE_2, lambda y, w, m: w.bind(1, m, 0, 0)))


@test("no bind, type 2: of a window that is bound")
def bound_twice(_, x, y):
    """It is not free."""
    memory = y.memory(4096, BINDABLE)
    window = Window(y, e.IBV_MW_TYPE_2)
    window.bind(1, memory, 0, 4096)
    window.bind(2, memory, 0, 4096)
    wcs = y.sent(2)
    equal([status_name(wc.status) for wc in wcs], ["SUCCESS", "MW_BIND_ERR"], "status")
    window.close()


@test("no bind: a window of another domain")
def other_domain(_, x, y):
    """Of the same context."""
    memory, pd = y.memory(4096, BINDABLE), PD(y.ctx)
    window = Window(y, e.IBV_MW_TYPE_2, pd)
    window.bind(1, memory, 0, 4096)
    equal(status_name(y.sent()[0].status), "MW_BIND_ERR", "status")
    window.close()
    pd.close()


@test("no local invalidation: of a region, of nothing, twice")
def no_invalidation(pair, x, y):
    """Three errors, each on queue pairs of its own."""
    memory = y.memory(4096, BINDABLE)
    invalidate(y, 1, memory.rkey)
    equal(status_name(y.sent()[0].status), "MW_BIND_ERR", "a region")
    for what in ("nothing", "twice"):
        other = Pair(pair.names)
        end = other.y
        mine = end.memory(4096, BINDABLE)
        window = Window(end, e.IBV_MW_TYPE_2)
        if what == "twice":
            window.bind(2, mine, 0, 10)
            invalidate(end, 3, window.rkey)
            end.sent_well([2, 3])
        invalidate(end, 4, window.rkey)
        equal(status_name(end.sent()[0].status), "MW_BIND_ERR", what)
        window.close()
        mine.mr.close()
        other.close()


@test("a region with windows stays")
def busy(_, x, y):
    """EBUSY until the last one is unbound, freed or invalidated."""
    memory = y.memory(4096, BINDABLE)
    one, two = Window(y, e.IBV_MW_TYPE_1), Window(y, e.IBV_MW_TYPE_2)
    one.bind(1, memory, 0, 100)
    two.bind(2, memory, 0, 100)
    y.sent_well([1, 2])
    refused(errno.EBUSY, memory.mr.close)
    refused(errno.EBUSY, memory.mr.rereg, e.IBV_REREG_MR_CHANGE_ACCESS, None, 0, 0, BINDABLE)
    one.bind(3, memory, 0, 0)
    y.sent_well([3])
    refused(errno.EBUSY, memory.mr.close)
    works_still = y.memory(100, BINDABLE)
    one.bind(4, works_still, 0, 100)
    y.sent_well([4])
    two.close()
    memory.mr.close()
    one.close()


@test("local work is done in order")
def in_order(_, x, y):
    """Bind, a SEND that tells the key, invalidation: 30 times without waiting."""
    memory = y.memory(4096, BINDABLE)
    src, dst = y.memory(8), x.memory(30 * 8)
    window = Window(y, e.IBV_MW_TYPE_2)
    for i in range(30):
        x.recv(i, [dst.sge(8, 8 * i)])
    for i in range(30):
        window.bind(3 * i, memory, 0, 4096)
        y.send(3 * i + 1, SEND, [src.sge()])
        invalidate(y, 3 * i + 2, window.rkey)
        y.sent_well([3 * i, 3 * i + 1, 3 * i + 2])
    x.received_well(range(30))
    window.close()


@test("a process that dies leaves nothing bound")
def dies(pair, x, y):
    """A window, its region and its queue pair go in any order."""
    pid = os.fork()
    if not pid:
        other = Pair(pair.names)
        memory = other.y.memory(4096, BINDABLE)
        window = Window(other.y, e.IBV_MW_TYPE_2)
        window.bind(1, memory, 0, 100)
        other.y.sent_well([1])
        os.kill(os.getpid(), signal.SIGKILL)
    equal(os.waitpid(pid, 0)[1], signal.SIGKILL, "how it ended")


# ------------------------------------------------------------ ATOMIC WRITE and FLUSH

PLACE_OPS = e.IBV_QP_EX_WITH_ATOMIC_WRITE | e.IBV_QP_EX_WITH_FLUSH
FLUSHABLE = ALL_ACCESS | e.IBV_ACCESS_FLUSH_GLOBAL
ANY_SIZE = (1 << 32) - 1


def place(name, **options):
    """A test on a pair that can do both."""
    return test(name, ex=1, ex_ops=PLACE_OPS, access=FLUSHABLE, **options)


def atomic_write(x, wr_id, data, addr, rkey, flags=SIGNALED):
    """Post one."""
    x.qp.wr_start()
    x.qp.wr_id, x.qp.wr_flags = wr_id, flags
    x.qp.wr_atomic_write(rkey, addr, data)
    x.qp.wr_complete()


def flush(x, wr_id, addr, rkey, length, kind=e.IBV_FLUSH_GLOBAL, level=e.IBV_FLUSH_RANGE):
    """Post one."""
    x.qp.wr_start()
    x.qp.wr_id, x.qp.wr_flags = wr_id, SIGNALED
    x.qp.wr_flush(rkey, addr, length, kind, level)
    x.qp.wr_complete()


@place("ATOMIC WRITE: eight bytes, many in flight", rd_atomic=3)
def atomic_writes(_, x, y):
    """Nothing beside them is touched, and each comes in its turn."""
    memory = y.memory(4096)
    for i in range(64):
        atomic_write(x, i, struct.pack("=Q", 0x1122334455667700 + i), memory.addr + 8 * (i % 5),
                     memory.rkey)
    wcs = x.sent_well(range(64))
    equal({wc.opcode for wc in wcs}, {e.IBV_WC_ATOMIC_WRITE}, "opcode")
    same(memory.get(40), struct.pack("=5Q", *(0x1122334455667700 + i for i in (60, 61, 62, 63, 59))),
         "data")
    same(memory.get(4056, 40), bytes(4056), "behind it")
    y.nothing_more()


@place("ATOMIC WRITE by ibv_post_send()")
def atomic_write_old(_, x, y):
    """The eight bytes are taken at the call."""
    src, memory = x.memory(8), y.memory(8)
    src.set(b"abcdefgh")
    x.send(1, e.IBV_WR_ATOMIC_WRITE, [src.sge()], (memory.addr, memory.rkey))
    src.set(bytes(8))
    x.sent_well([1])
    same(memory.get(), b"abcdefgh", "data")
    refused(errno.EINVAL, x.send, 2, e.IBV_WR_ATOMIC_WRITE, [src.sge(7)],
            (memory.addr, memory.rkey))


def place_error(post, wanted, access=FLUSHABLE, offset=0):
    """One that the peer refuses."""
    def run(_, x, y):
        memory = y.memory(4096, access, offset=offset)
        post(x, memory)
        equal(status_name(x.sent()[0].status), wanted, "status")
        same(memory.get(), bytes(4096), "memory")
    return run


place("no ATOMIC WRITE to an odd address")(
    place_error(lambda x, m: atomic_write(x, 1, b"12345678", m.addr + 4, m.rkey), "REM_INV_REQ_ERR"))
place("no ATOMIC WRITE past the end")(
    place_error(lambda x, m: atomic_write(x, 1, b"12345678", m.addr + 4096, m.rkey),
                "REM_ACCESS_ERR"))
place("no ATOMIC WRITE without the right")(
    place_error(lambda x, m: atomic_write(x, 1, b"12345678", m.addr, m.rkey), "REM_ACCESS_ERR",
                e.IBV_ACCESS_REMOTE_READ))
place("no FLUSH past the end")(
    place_error(lambda x, m: flush(x, 1, m.addr, m.rkey, 4097), "REM_ACCESS_ERR"))
place("no FLUSH without the right")(
    place_error(lambda x, m: flush(x, 1, m.addr, m.rkey, 10), "REM_ACCESS_ERR", ALL_ACCESS))
place("no FLUSH to persistence: the memory is not")(
    place_error(lambda x, m: flush(x, 1, m.addr, m.rkey, 10, e.IBV_FLUSH_PERSISTENT),
                "REM_INV_REQ_ERR"))


@place("FLUSH: a range, and all of a region")
def flushes(_, x, y):
    """What was written before is there when it completes."""
    src, memory = x.memory(100000), y.memory(100000, FLUSHABLE)
    for i in range(5):
        src.set(pattern(100000, i))
        x.send(1, WRITE, [src.sge()], (memory.addr, memory.rkey), 0)
        if i & 1:
            flush(x, 2, 0, memory.rkey, ANY_SIZE, level=e.IBV_FLUSH_MR)
        else:
            flush(x, 2, memory.addr, memory.rkey, 100000)
        equal(x.sent_well([2])[0].opcode, e.IBV_WC_FLUSH, "opcode")
        same(memory.get(), pattern(100000, i), "data")


# ------------------------------------------------------------------ kinds of memory

NULL_KEY = 0x80


def zero_based(end, memory, at, length, access):
    """A window of type 2 that is bound, whose first byte has address 0."""
    window = Window(end, e.IBV_MW_TYPE_2)
    window.bind(1, memory, at, length, access | e.IBV_ACCESS_ZERO_BASED)
    end.sent_well([1])
    return window


@test("a window whose addresses begin at zero: atomics")
def zero_based_atomics(_, x, y):
    """Where its first byte is aligned."""
    memory, dst = y.memory(3 * mmap.PAGESIZE, BINDABLE), x.memory(8)
    at = -memory.addr % mmap.PAGESIZE + mmap.PAGESIZE - 8
    memory.set(struct.pack("=QQ", 5, 6), at)
    window = zero_based(y, memory, at, 100, e.IBV_ACCESS_REMOTE_ATOMIC)
    x.send(2, e.IBV_WR_ATOMIC_FETCH_AND_ADD, [dst.sge()], (0, window.rkey, 70, 0))
    x.send(3, e.IBV_WR_ATOMIC_CMP_AND_SWP, [dst.sge()], (8, window.rkey, 6, 66))
    x.sent_well([2, 3])
    equal(struct.unpack("=QQ", memory.get(16, at)), (75, 66), "after the atomics")
    window.close()


def askew(off):
    """The words of a window that begins @off bytes before the end of a page."""
    def run(_, x, y):
        memory, dst = y.memory(3 * mmap.PAGESIZE, BINDABLE), x.memory(8)
        memory.set(pattern(memory.length))
        at = -memory.addr % mmap.PAGESIZE + mmap.PAGESIZE - off
        window = zero_based(y, memory, at, 100, e.IBV_ACCESS_REMOTE_ATOMIC)
        x.send(2, e.IBV_WR_ATOMIC_FETCH_AND_ADD, [dst.sge()], (0, window.rkey, 1, 0))
        equal(status_name(x.sent()[0].status), "REM_INV_REQ_ERR", "status")
        same(memory.get(), pattern(memory.length), "memory")
        window.close()
    return run


test("a window whose addresses begin at zero: an atomic across two pages")(askew(4))
test("a window whose addresses begin at zero: an atomic that is not aligned")(askew(100))


@test("the null region reads as zeroes and forgets what is written")
def null_region(_, x, y):
    """Alone and among others, of each kind of work."""
    src, dst = x.memory(3000), y.memory(3000)
    src.set(pattern(3000))
    nothing = SGE(0x123456789, 1500, NULL_KEY)
    x.send(1, WRITE, [src.sge(700), nothing, src.sge(500, 700)], (dst.addr, dst.rkey))
    x.sent_well([1])
    same(dst.get(), pattern(3000)[:700] + bytes(1500) + pattern(3000)[700:1200] + bytes(300),
         "WRITE")
    y.recv(2, [SGE(0, 2000, NULL_KEY), dst.sge(1000)])
    x.send(2, SEND, [src.sge()])
    x.sent_well([2])
    y.received_well([2])
    same(dst.get(1000), pattern(3000)[2000:], "SEND")
    dst.set(pattern(3000, 7))
    x.send(3, READ, [SGE(0, 1000, NULL_KEY), src.sge(2000)], (dst.addr, dst.rkey))
    x.sent_well([3])
    same(src.get(2000), pattern(3000, 7)[1000:], "READ")
    denied(x, 0, NULL_KEY)


def udmabuf(length):
    """Memory of a memfd as a dma-buf; the memory, and its descriptor."""
    memfd = os.memfd_create("rove", os.MFD_ALLOW_SEALING)
    os.ftruncate(memfd, length)
    fcntl.fcntl(memfd, 1033, 2)     # F_ADD_SEALS, F_SEAL_SHRINK
    try:
        dev = os.open("/dev/udmabuf", os.O_RDWR)
    except OSError as error:
        raise Skip(f"/dev/udmabuf: {error.strerror}") from None
    # UDMABUF_CREATE: memfd, flags, offset, size
    fd = fcntl.ioctl(dev, 0x40187542, bytearray(struct.pack("=IIQQ", memfd, 1, 0, length)), True)
    os.close(dev)
    return mmap.mmap(memfd, length), fd


def heap(length):
    """Memory of the system's heap as a dma-buf."""
    try:
        dev = os.open("/dev/dma_heap/system", os.O_RDWR)
    except OSError as error:
        raise Skip(f"/dev/dma_heap/system: {error.strerror}") from None
    # DMA_HEAP_IOCTL_ALLOC: len, fd, fd_flags, heap_flags
    answer = fcntl.ioctl(dev, 0xc0184800,
                         struct.pack("=QIIQ", length, 0, os.O_RDWR | os.O_CLOEXEC, 0))
    os.close(dev)
    fd = struct.unpack("=QIIQ", answer)[1]
    return mmap.mmap(fd, length), fd


def dma_buf(make):
    """Written to and read by the peer and by its owner; atomics."""
    def run(_, x, y):
        length, offset = 1 << 20, 8192
        memory, fd = make(length)
        mr = DmaBufMR(y.pd, length - offset, ALL_ACCESS, fd, offset)
        lkey, rkey = mr.lkey, mr.rkey
        os.close(fd)
        src = x.memory(300000)
        src.set(pattern(300000))
        # The region's first byte is called by its offset.
        x.send(1, WRITE, [src.sge()], (offset + 4001, rkey))
        x.sent_well([1])
        same(memory[offset + 4001:offset + 304001], pattern(300000), "WRITE")
        same(memory[:offset + 4001], bytes(offset + 4001), "before it")
        src.set(bytes(300000))
        x.send(2, READ, [src.sge()], (offset + 4001, rkey))
        x.sent_well([2])
        same(src.get(), pattern(300000), "READ")
        x.recv(3, [src.sge()])
        y.send(3, SEND, [SGE(offset + 4001, 1000, lkey)])
        y.sent_well([3])
        x.received_well([3])
        x.send(4, e.IBV_WR_ATOMIC_FETCH_AND_ADD, [src.sge(8)], (length - 8, rkey, 77, 0))
        x.sent_well([4])
        equal(struct.unpack_from("=Q", memory, length - 8)[0], 77, "fetch and add")
        denied(x, length, rkey)
        mr.close()
        memory.close()
    return run


test("a dma-buf: udmabuf")(dma_buf(udmabuf))
test("a dma-buf: of the system's heap")(dma_buf(heap))


@test("a dma-buf that cannot be registered")
def bad_dma_buf(_, x, y):
    """Not one at all, too short, empty; a read-only one for writing."""
    memory, fd = udmabuf(8192)
    refused((errno.EINVAL, errno.EBADF), DmaBufMR, y.pd, 10, ALL_ACCESS, 0)
    refused(errno.EBADF, DmaBufMR, y.pd, 10, ALL_ACCESS, 999)
    refused(errno.EINVAL, DmaBufMR, y.pd, 8193, ALL_ACCESS, fd)
    refused(errno.EINVAL, DmaBufMR, y.pd, 4096, ALL_ACCESS, fd, 4097)
    refused(errno.EINVAL, DmaBufMR, y.pd, 0, ALL_ACCESS, fd)
    refused(errno.EINVAL, DmaBufMR, y.pd, (1 << 64) - 1, ALL_ACCESS, fd, 8)
    os.close(fd)
    memory.close()


@test("rights that are hints are taken")
def hints(_, x, y):
    """Relaxed ordering."""
    src, dst = x.memory(100), y.memory(100, ALL_ACCESS | e.IBV_ACCESS_RELAXED_ORDERING)
    src.set(pattern(100))
    x.send(1, WRITE, [src.sge()], (dst.addr, dst.rkey))
    x.sent_well([1])
    same(dst.get(), pattern(100), "data")


@test("locked memory is limited for those who are not root")
def memlock(pair, x, y):
    """ENOMEM past RLIMIT_MEMLOCK, and what was given back counts no more."""
    pid = os.fork()
    if not pid:
        status = 1
        try:
            ctx = ends.Context(name=pair.names[0])
            pd = PD(ctx)
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (1 << 18, 1 << 18))
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
            for _ in range(20):
                MR(pd, 1 << 17, ALL_ACCESS).close()
            kept = MR(pd, 1 << 17, ALL_ACCESS)
            refused(errno.ENOMEM, MR, pd, 1 << 18, ALL_ACCESS)
            kept.close()
            status = 0
        except (ends.Fail, PyverbsRDMAError, OSError) as error:
            print(f"# {error}", flush=True)
        os._exit(status)
    equal(os.waitpid(pid, 0)[1], 0, "how it ended")


if __name__ == "__main__":
    ends.main(TESTS)
