#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""On-demand paging: what is sent, written and read lies in memory that is not there
yet, moves, or goes away."""

import ctypes
import errno
import mmap
import os
import random
import signal
import struct
import subprocess
import tempfile
import threading
import time

from pyverbs import enums as e
from pyverbs.addr import AH, AHAttr, GID, GlobalRoute
from pyverbs.cq import CQEX, CqInitAttrEx, PollCqAttr
from pyverbs.mr import MR, MW, MWBindInfo
from pyverbs.qp import QPAttr
from pyverbs.wr import SGE, SendWR

import ends
from ends import (ALL_ACCESS, SIGNALED, Fail, Skip, check, counter, equal, pattern, refused,
                  same, status_name, wait_until)

SEND, WRITE, READ = e.IBV_WR_SEND, e.IBV_WR_RDMA_WRITE, e.IBV_WR_RDMA_READ
# The bindings hide these, for no reason that they tell.
PREFETCH, PREFETCH_WRITE, PREFETCH_NO_FAULT, FLUSH = (
    getattr(e, "_IBV_ADVISE_MR_" + name)
    for name in ("ADVICE_PREFETCH", "ADVICE_PREFETCH_WRITE", "ADVICE_PREFETCH_NO_FAULT",
                 "FLAG_FLUSH"))
ON_DEMAND = ALL_ACCESS | e.IBV_ACCESS_ON_DEMAND
PAGE = mmap.PAGESIZE
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                      ctypes.c_long]
LIBC.mremap.restype = ctypes.c_void_p
LIBC.mremap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int,
                        ctypes.c_void_p]
LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
LIBC.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
FAILED = ctypes.c_void_p(-1).value
MAP_FIXED, MAP_NORESERVE = 0x10, 0x4000
MADV_FREE, MADV_HUGEPAGE, MADV_PAGEOUT = 8, 14, 21
TESTS = []
test = ends.tester(TESTS)


def libc(function, *args):
    """A call that must succeed."""
    result = function(*args)
    if result in (-1, FAILED):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


class Area:
    """Addresses of this process, with or without something there."""

    def __init__(self, length, fd=-1, flags=0):
        self.length = length
        kind = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS if fd < 0 else mmap.MAP_SHARED
        self.addr = libc(LIBC.mmap, None, length, mmap.PROT_READ | mmap.PROT_WRITE, kind | flags,
                         fd, 0)

    def set(self, data, at=0):
        """As a program would."""
        ctypes.memmove(self.addr + at, bytes(data), len(data))

    def get(self, length=None, at=0):
        """What is there."""
        return ctypes.string_at(self.addr + at, self.length - at if length is None else length)

    def advise(self, advice, at=0, length=None):
        """madvise()."""
        libc(LIBC.madvise, self.addr + at, length or self.length - at, advice)

    def unmap(self, at=0, length=None):
        """Nothing is there any more."""
        libc(LIBC.munmap, self.addr + at, length or self.length - at)

    def map_again(self):
        """Zeroes are there, from now on."""
        libc(LIBC.mmap, self.addr, self.length, mmap.PROT_READ | mmap.PROT_WRITE,
             mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_FIXED, -1, 0)

    def on_demand(self, end, access=ON_DEMAND, at=0, length=None):
        """A region of it."""
        mr = MR(end.pd, length or self.length - at, access, address=self.addr + at)
        return mr, mr.lkey, mr.rkey


def both(x, y, length, **more):
    """An area at each end, as regions."""
    areas = Area(length, **more), Area(length, **more)
    return [(area, *area.on_demand(end)) for area, end in zip(areas, (x, y))]


@test("every operation, in pages that nobody has touched")
def untouched(pair, x, y):
    """Zeroes are sent, and what arrives makes the page."""
    (xa, xm, xl, _), (ya, ym, yl, yr) = both(x, y, 1 << 20)
    before = counter(pair.names[1], "page_faults")
    x.send(1, WRITE, [SGE(xa.addr + 5, 100000, xl)], (ya.addr + 4001, yr))
    x.sent_well([1])
    same(ya.get(104001), bytes(104001), "WRITE of zeroes")
    xa.set(pattern(50000), 300000)
    x.send(2, WRITE, [SGE(xa.addr + 300000, 50000, xl)], (ya.addr + 500001, yr))
    x.sent_well([2])
    same(ya.get(50000, 500001), pattern(50000), "WRITE")
    y.recv(3, [SGE(ya.addr + 700000, 30000, yl), SGE(ya.addr + 800001, 70000, yl)])
    x.send(3, SEND, [SGE(xa.addr + 300000, 50000, xl)])
    x.sent_well([3])
    y.received_well([3])
    same(ya.get(30000, 700000) + ya.get(20000, 800001), pattern(50000), "SEND")
    x.send(4, READ, [SGE(xa.addr + 600001, 50000, xl)], (ya.addr + 500001, yr))
    x.sent_well([4])
    same(xa.get(50000, 600001), pattern(50000), "READ")
    x.send(5, e.IBV_WR_ATOMIC_FETCH_AND_ADD, [SGE(xa.addr + 900000, 8, xl)],
           (ya.addr + 900000, yr, 77, 0))
    x.sent_well([5])
    x.send(6, e.IBV_WR_ATOMIC_CMP_AND_SWP, [SGE(xa.addr + 950000, 8, xl)],
           (ya.addr + 900000, yr, 77, 78))
    x.sent_well([6])
    equal(struct.unpack("=Q", ya.get(8, 900000))[0], 78, "after the atomics")
    equal(struct.unpack("=Q", xa.get(8, 950000))[0], 77, "found by the second one")
    check(counter(pair.names[1], "page_faults") > before, "no page was fetched")
    xm.close()
    ym.close()


@test("ATOMIC WRITE and FLUSH, in pages that nobody has touched", ex=1,
      ex_ops=e.IBV_QP_EX_WITH_ATOMIC_WRITE | e.IBV_QP_EX_WITH_FLUSH,
      access=ALL_ACCESS | e.IBV_ACCESS_FLUSH_GLOBAL)
def placed(_, x, y):
    """Of pages that are not there both make some; so do the flushes of a WRITE and of all."""
    ya = Area(1 << 20)
    ym, _, yr = ya.on_demand(y, ON_DEMAND | e.IBV_ACCESS_FLUSH_GLOBAL)
    src = x.memory(30000)
    src.set(pattern(30000))

    def post(wr_id, what, *args):
        x.qp.wr_start()
        x.qp.wr_id, x.qp.wr_flags = wr_id, SIGNALED
        what(*args)
        x.qp.wr_complete()

    for i in range(20):
        post(i, x.qp.wr_atomic_write, yr, ya.addr + 8 * PAGE * i + 8 * i,
             struct.pack("=Q", 0x1122334455667788 + i))
    wcs = x.sent_well(range(20))
    equal({wc.opcode for wc in wcs}, {e.IBV_WC_ATOMIC_WRITE}, "opcode")
    for i in range(20):
        equal(struct.unpack("=Q", ya.get(8, 8 * PAGE * i + 8 * i))[0],
              0x1122334455667788 + i, f"ATOMIC WRITE {i}")
    post(30, x.qp.wr_flush, yr, ya.addr + 800000, 50000, e.IBV_FLUSH_GLOBAL, e.IBV_FLUSH_RANGE)
    x.sent_well([30])
    x.send(31, WRITE, [src.sge()], (ya.addr + 850001, yr))
    post(32, x.qp.wr_flush, yr, ya.addr + 850001, 30000, e.IBV_FLUSH_GLOBAL, e.IBV_FLUSH_RANGE)
    post(33, x.qp.wr_flush, yr, 0, (1 << 32) - 1, e.IBV_FLUSH_GLOBAL, e.IBV_FLUSH_MR)
    x.sent_well([31, 32, 33])
    same(ya.get(30000, 850001), pattern(30000), "WRITE")
    ym.close()


@test("no budget for retries is touched", rnr_retry=0, retry=0, timeout=20)
def no_retries(_, x, y):
    """A page that is not there is no lack of receive requests, and no loss."""
    (xa, xm, xl, _), (ya, ym, yl, _) = both(x, y, 1 << 21)
    for i in range(40):
        y.recv(i, [SGE(ya.addr + i * 50000, 50000, yl)])
        x.send(i, SEND, [SGE(xa.addr + i * 50000, 50000, xl)])
    x.sent_well(range(40))
    y.received_well(range(40))
    xm.close()
    ym.close()


@test("all of the address space as one region")
def implicit(_, x, y):
    """The key is good for whatever is mapped, now or later."""
    xm = MR(x.pd, 0, ON_DEMAND, implicit=True)
    ym = MR(y.pd, 0, ON_DEMAND, implicit=True)
    for i in range(5):
        xa, ya = Area(200000), Area(200000)
        xa.set(pattern(200000, i))
        x.send(1, WRITE, [SGE(xa.addr, 200000, xm.lkey)], (ya.addr, ym.rkey))
        x.sent_well([1])
        same(ya.get(), pattern(200000, i), "WRITE")
        x.send(2, READ, [SGE(xa.addr + 1, 100000, xm.lkey)], (ya.addr + 2, ym.rkey))
        x.sent_well([2])
        same(xa.get(100000, 1), pattern(200000, i)[2:100002], "READ")
        xa.unmap()
        ya.unmap()
    xm.close()
    ym.close()


def not_there(x, wr_id, opcode, sge, remote, wanted):
    """This one fails."""
    x.send(wr_id, opcode, [sge], remote)
    wc = x.sent()[0]
    equal((wc.wr_id, status_name(wc.status)), (wr_id, wanted), "how it ended")


@test("addresses where nothing is: the peer's WRITE")
def no_memory_write(_, x, y):
    """A remote access error, and an event."""
    (_, xm, xl, _), (ya, ym, _, yr) = both(x, y, 1 << 20)
    src = x.memory(10000)
    ya.unmap(100000 // PAGE * PAGE)
    x.send(1, WRITE, [src.sge(5000)], (ya.addr + 90000, yr))
    x.sent_well([1])
    not_there(x, 2, WRITE, src.sge(), (ya.addr + 95000, yr), "REM_ACCESS_ERR")
    check(y.has_event(e.IBV_EVENT_QP_ACCESS_ERR), "no event")
    del xl
    xm.close()
    ym.close()


@test("addresses where nothing is: the peer's READ")
def no_memory_read(_, x, y):
    """A remote access error."""
    (_, xm, _, _), (ya, ym, _, yr) = both(x, y, 1 << 20)
    dst = x.memory(300000)
    ya.unmap(600000 // PAGE * PAGE)
    not_there(x, 1, READ, dst.sge(), (ya.addr + 400000, yr), "REM_ACCESS_ERR")
    xm.close()
    ym.close()


@test("addresses where nothing is: to be sent")
def no_memory_send(_, x, y):
    """A local protection error, and the peer hears nothing."""
    (xa, xm, xl, _), (_, ym, _, _) = both(x, y, 1 << 20)
    dst = y.memory(100000)
    y.recv(1, [dst.sge()])
    xa.unmap(4 * PAGE)
    not_there(x, 1, SEND, SGE(xa.addr + 4 * PAGE, 100, xl), None, "LOC_PROT_ERR")
    y.nothing_more()
    xm.close()
    ym.close()


@test("addresses where nothing is: to be received into")
def no_memory_recv(_, x, y):
    """A local protection error there, a remote operation error here."""
    (_, xm, _, _), (ya, ym, yl, _) = both(x, y, 1 << 20)
    ya.unmap()
    y.recv(1, [SGE(ya.addr, 100, yl)])
    src = x.memory(10)
    not_there(x, 1, SEND, src.sge(), None, "REM_OP_ERR")
    equal(status_name(y.received()[0].status), "LOC_PROT_ERR", "at the receiver")
    xm.close()
    ym.close()


@test("a mapping that may only be read")
def read_only(_, x, y):
    """Read by the peer; not written, though the region says so."""
    (_, xm, _, _), (ya, ym, _, yr) = both(x, y, 1 << 20)
    ya.set(pattern(1 << 20))
    libc(LIBC.mprotect, ya.addr, 1 << 20, mmap.PROT_READ)
    dst = x.memory(100000)
    x.send(1, READ, [dst.sge()], (ya.addr + 1000, yr))
    x.sent_well([1])
    same(dst.get(), pattern(1 << 20)[1000:101000], "READ")
    not_there(x, 2, WRITE, dst.sge(), (ya.addr, yr), "REM_ACCESS_ERR")
    same(ya.get(), pattern(1 << 20), "what is there")
    xm.close()
    ym.close()


@test("unmapped, and mapped again elsewhere: nothing old is seen or written")
def moved(pair, x, y):
    """Of each kind of change of the mapping."""
    (xa, xm, xl, _), (ya, ym, _, yr) = both(x, y, 1 << 20)
    before = counter(pair.names[1], "page_invalidations")
    for i in range(10):
        data = pattern(1 << 20, i)
        xa.set(data)
        x.send(1, WRITE, [SGE(xa.addr, 1 << 20, xl)], (ya.addr, yr))
        x.sent_well([1])
        same(ya.get(), data, f"round {i}")
        if i % 3 == 0:
            ya.map_again()
            xa.map_again()
        elif i % 3 == 1:
            ya.advise(mmap.MADV_DONTNEED)
            xa.advise(mmap.MADV_DONTNEED)
        else:
            other = libc(LIBC.mremap, ya.addr, 1 << 20, 1 << 20, 1, None)
            if other == ya.addr:
                place = Area(1 << 20)
                other = libc(LIBC.mremap, ya.addr, 1 << 20, 1 << 20, 3, place.addr)
            ya.map_again()
            same(ctypes.string_at(other, 1 << 20), data, "moved away")
            libc(LIBC.munmap, other, 1 << 20)
        x.send(2, READ, [SGE(xa.addr, 1 << 20, xl)], (ya.addr, yr))
        x.sent_well([2])
        same(xa.get(), bytes(1 << 20), f"read in round {i}")
    check(counter(pair.names[1], "page_invalidations") > before, "nobody took pages away")
    xm.close()
    ym.close()


@test("fork: each process has its own pages afterwards")
def forked(_, x, y):
    """The parent's are used; the child sees what was there before."""
    (xa, xm, xl, _), (ya, ym, _, yr) = both(x, y, 1 << 20)
    ya.set(pattern(1 << 20, 1))
    xa.set(pattern(1 << 20, 2))
    x.send(1, WRITE, [SGE(xa.addr, 1000, xl)], (ya.addr, yr))
    x.sent_well([1])
    wanted = ya.get()
    go, tell = os.pipe()
    pid = os.fork()
    if not pid:
        os.read(go, 1)
        os._exit(0 if ya.get() == wanted and xa.get() == pattern(1 << 20, 2) else 1)
    x.send(2, WRITE, [SGE(xa.addr, 1 << 20, xl)], (ya.addr, yr))
    x.sent_well([2])
    xa.set(pattern(1 << 20, 3))
    x.send(3, WRITE, [SGE(xa.addr, 500000, xl)], (ya.addr, yr))
    x.sent_well([3])
    os.write(tell, b"x")
    equal(os.waitpid(pid, 0)[1], 0, "how the child ended")
    same(ya.get(500000), pattern(1 << 20, 3)[:500000], "written after the fork")
    same(ya.get(at=500000), pattern(1 << 20, 2)[500000:], "written before that")
    os.close(go)
    os.close(tell)
    xm.close()
    ym.close()


@test("a file: what is written reaches it, though its pages go")
def of_file(_, x, y):
    """Through a shared mapping, with its pages written back and dropped in between."""
    with tempfile.TemporaryFile(dir="/var/tmp") as file:
        file.truncate(1 << 20)
        ya = Area(1 << 20, file.fileno())
        ym, _, yr = ya.on_demand(y)
        src = x.memory(1 << 20)
        for i in range(5):
            data = pattern(1 << 20, i)
            src.set(data)
            x.send(1, WRITE, [src.sge()], (ya.addr, yr))
            x.sent_well([1])
            if i % 2:
                os.fsync(file.fileno())
            try:
                ya.advise(MADV_PAGEOUT)
            except OSError as error:
                raise Skip(f"MADV_PAGEOUT: {error.strerror}") from None
            same(os.pread(file.fileno(), 1 << 20, 0), data, f"round {i}")
        ym.close()
        ya.unmap()


def written_before_it_went(x, y, area, seed):
    """What a peer wrote stays, though the region and then the pages go."""
    length = area.length
    mr, _, rkey = area.on_demand(y)
    src = x.memory(length)
    src.set(pattern(length, seed))
    x.send(1, WRITE, [src.sge()], (area.addr, rkey))
    x.sent_well([1])
    mr.close()
    area.advise(MADV_PAGEOUT)
    same(area.get(), pattern(length, seed), "what was written")
    area.unmap()


@test("written to, then no region any more: memory of a file that was only read before")
def written_shared(_, x, y):
    """The process has not made its pages dirty: the writing does."""
    fd = os.memfd_create("shared")
    os.ftruncate(fd, 1 << 18)
    area = Area(1 << 18, fd)
    same(area.get(), bytes(1 << 18), "before")
    written_before_it_went(x, y, area, 1)
    os.close(fd)


@test("written to, then no region any more: pages that the process had given up")
def written_free(_, x, y):
    """It may have them back by writing."""
    area = Area(1 << 18)
    area.set(pattern(1 << 18, 2))
    area.advise(MADV_FREE)
    written_before_it_went(x, y, area, 3)


@test("memory that the kernel does not map")
def secret(_, x, y):
    """memfd_secret(): refused to peers, and to the process's own requests."""
    fd = LIBC.syscall(ctypes.c_long(447), ctypes.c_long(0))
    if fd < 0:
        raise Skip("no memfd_secret()")
    os.ftruncate(fd, 1 << 16)
    area = Area(1 << 16, fd)
    area.set(pattern(1 << 16))
    src = x.memory(100)
    mr, _, rkey = area.on_demand(y)
    not_there(x, 1, WRITE, src.sge(), (area.addr, rkey), "REM_ACCESS_ERR")
    same(area.get(), pattern(1 << 16), "what is there")
    mr.close()
    area.unmap()
    os.close(fd)


@test("a tebibyte, of which little is used")
def sparse(_, x, y):
    """Here and there, to the very end."""
    length = 1 << 40
    try:
        ya = Area(length, flags=MAP_NORESERVE)
    except OSError as error:
        raise Skip(f"mmap of 1 TiB: {error.strerror}") from None
    ym, _, yr = ya.on_demand(y)
    src = x.memory(50000)
    rng = random.Random(1)
    for i in range(30):
        src.set(pattern(50000, i))
        at = length - 50000 if not i else rng.randrange(length - 50000)
        x.send(1, WRITE, [src.sge()], (ya.addr + at, yr))
        x.sent_well([1])
        same(ya.get(50000, at), pattern(50000, i), f"at {at}")
    not_there(x, 2, WRITE, src.sge(), (ya.addr + length - 49999, yr), "REM_ACCESS_ERR")
    ym.close()
    ya.unmap()


@test("large pages")
def large(_, x, y):
    """Made and split while they are used."""
    (xa, xm, xl, _), (ya, ym, _, yr) = both(x, y, 1 << 23)
    try:
        xa.advise(MADV_HUGEPAGE)
        ya.advise(MADV_HUGEPAGE)
    except OSError as error:
        raise Skip(f"MADV_HUGEPAGE: {error.strerror}") from None
    for i in range(4):
        xa.set(pattern(1 << 23, i))
        x.send(1, WRITE, [SGE(xa.addr, 1 << 23, xl)], (ya.addr, yr))
        x.sent_well([1], 20)
        same(ya.get(), pattern(1 << 23, i), f"round {i}")
        ya.advise(mmap.MADV_DONTNEED, (i + 1) * (1 << 20), PAGE * 3)
    xm.close()
    ym.close()


def pageouts(stop, areas, length):
    """Takes pages away, here and there; nothing is lost by that."""
    rng = random.Random(2)
    while not stop.is_set():
        at = rng.randrange(length // PAGE) * PAGE
        try:
            rng.choice(areas).advise(MADV_PAGEOUT, at, min(64 * PAGE, length - at))
        except OSError:
            return


@test("pages taken away all the time, under traffic")
def stolen(_, x, y):
    """Data is whole, whatever the memory manager does meanwhile."""
    length = 1 << 20
    (xa, xm, xl, _), (ya, ym, yl, yr) = both(x, y, length)
    stop = threading.Event()
    thread = threading.Thread(target=lambda: pageouts(stop, (xa, ya), length))
    thread.start()
    try:
        for i in range(30):
            data = pattern(length, i)
            xa.set(data)
            x.send(1, WRITE, [SGE(xa.addr, length, xl)], (ya.addr, yr))
            x.sent_well([1], 30)
            same(ya.get(), data, f"WRITE {i}")
            y.recv(2, [SGE(ya.addr, length, yl)])
            x.send(2, SEND, [SGE(xa.addr + 1, length - 1, xl)])
            x.sent_well([2], 30)
            y.received_well([2])
            same(ya.get(length - 1), data[1:], f"SEND {i}")
            x.send(3, READ, [SGE(xa.addr, length - 1, xl)], (ya.addr, yr))
            x.sent_well([3], 30)
            same(xa.get(length - 1), data[1:], f"READ {i}")
    finally:
        stop.set()
        thread.join()
    xm.close()
    ym.close()


@test("prefetching")
def prefetch(pair, x, y):
    """What is there already needs no fetching; wrong advice is refused."""
    (xa, xm, xl, _), (ya, ym, yl, yr) = both(x, y, 1 << 20)
    advise = PREFETCH, PREFETCH_WRITE
    flush = FLUSH
    x.pd.advise_mr(advise[0], flush, [SGE(xa.addr, 1 << 20, xl)])
    y.pd.advise_mr(advise[1], flush, [SGE(ya.addr, 1 << 19, yl),
                                      SGE(ya.addr + (1 << 19), 1 << 19, yl)])
    before = [counter(name, "page_faults") for name in pair.names[:2]]
    x.send(1, WRITE, [SGE(xa.addr, 1 << 20, xl)], (ya.addr, yr))
    x.sent_well([1])
    equal([counter(name, "page_faults") for name in pair.names[:2]], before, "faults")
    y.pd.advise_mr(PREFETCH_NO_FAULT, 0, [SGE(ya.addr, 1 << 20, yl)])
    plain = x.memory(100)
    read_only_mr, lkey, _ = xa.on_demand(x, e.IBV_ACCESS_ON_DEMAND)
    for code, end, advice, sge in (
            (errno.EFAULT, x, advise[0], SGE(xa.addr, (1 << 20) + 1, xl)),
            (errno.EFAULT, x, advise[0], SGE(xa.addr, 1, xl + 1)),
            (errno.EFAULT, x, advise[1], SGE(xa.addr, 1, lkey)),
            (errno.EINVAL, x, advise[0], SGE(plain.addr, 1, plain.lkey)),
            (errno.EFAULT, y, advise[0], SGE(xa.addr, 1, xl))):
        refused(code, end.pd.advise_mr, advice, flush, [sge])
    xa.unmap()
    refused(errno.EFAULT, x.pd.advise_mr, advise[0], flush, [SGE(xa.addr, 1 << 20, xl)])
    x.pd.advise_mr(advise[0], 0, [SGE(xa.addr, 1 << 20, xl)])
    for mr in (read_only_mr, xm, ym):
        mr.close()


@test("a window of such a region")
def window(_, x, y):
    """Type 2: bound, used where no page is, invalidated."""
    (xa, xm, xl, _), (ya, ym, _, _) = both(x, y, 1 << 20)
    ym.close()
    ym, _, _ = ya.on_demand(y, ON_DEMAND | e.IBV_ACCESS_MW_BIND)
    mw = MW(y.pd, e.IBV_MW_TYPE_2)
    wr = SendWR(1, e.IBV_WR_BIND_MW, 0, send_flags=SIGNALED)
    wr.set_bind_wr(mw, MWBindInfo(ym, ya.addr + 300000, 100000, e.IBV_ACCESS_REMOTE_WRITE))
    wr.num_sge = 0
    y.qp.post_send(wr)
    y.sent_well([1])
    xa.set(pattern(100000))
    x.send(2, WRITE, [SGE(xa.addr, 100000, xl)], (ya.addr + 300000, wr.rkey))
    x.sent_well([2])
    same(ya.get(100000, 300000), pattern(100000), "through the window")
    same(ya.get(300000), bytes(300000), "before it")
    mw.close()
    xm.close()
    ym.close()


@test("registered anew: rights, and another place")
def rereg(_, x, y):
    """Read only, writable again, elsewhere, pinned and back."""
    (_, xm, _, _), (ya, ym, _, _) = both(x, y, 1 << 20)
    src = x.memory(1000)
    src.set(pattern(1000))
    other = Area(1 << 20)
    ym.rereg(e.IBV_REREG_MR_CHANGE_TRANSLATION, None, other.addr, 1 << 20, 0)
    x.send(1, WRITE, [src.sge()], (other.addr + 5000, ym.rkey))
    x.sent_well([1])
    same(other.get(1000, 5000), pattern(1000), "in its new place")
    same(ya.get(), bytes(1 << 20), "in the old one")
    ym.rereg(e.IBV_REREG_MR_CHANGE_ACCESS, None, 0, 0, ALL_ACCESS)
    x.send(2, WRITE, [src.sge()], (other.addr + 70000, ym.rkey))
    x.sent_well([2])
    same(other.get(1000, 70000), pattern(1000), "pinned")
    ym.rereg(e.IBV_REREG_MR_CHANGE_ACCESS, None, 0, 0,
             e.IBV_ACCESS_ON_DEMAND | e.IBV_ACCESS_REMOTE_READ)
    x.send(3, READ, [src.sge()], (other.addr + 70000, ym.rkey))
    x.sent_well([3])
    not_there(x, 4, WRITE, src.sge(), (other.addr, ym.rkey), "REM_ACCESS_ERR")
    xm.close()
    ym.close()


@test("UC, in pages that nobody has touched", type=e.IBV_QPT_UC)
def unreliable(_, x, y):
    """Messages of several packets; none is lost for the lack of a page."""
    (xa, xm, xl, _), (ya, ym, yl, yr) = both(x, y, 1 << 21)
    xa.set(pattern(1 << 21))
    for i in range(20):
        y.recv(i, [SGE(ya.addr + i * 50000, 50000, yl)])
    for i in range(20):
        x.send(i, SEND, [SGE(xa.addr + i * 50000, 50000, xl)])
    x.sent_well(range(20))
    y.received_well(range(20))
    same(ya.get(1000000), pattern(1 << 21)[:1000000], "SEND")
    x.send(30, WRITE, [SGE(xa.addr, 300000, xl)], (ya.addr + 1500001, yr))
    x.sent_well([30])
    check(wait_until(lambda: ya.get(300000, 1500001) == pattern(1 << 21)[:300000]), "WRITE")
    xm.close()
    ym.close()


@test("a process that dies while pages are fetched")
def dies(pair, x, y):
    """Nothing is left of it (which the end of these tests looks at)."""
    del x, y
    for i in range(5):
        pid = os.fork()
        if not pid:
            try:
                inner = ends.Pair(pair.names)
                (xa, _, xl, _), (ya, _, _, yr) = both(inner.x, inner.y, 1 << 26)
                for k in range(64):
                    inner.x.send(k, WRITE, [SGE(xa.addr + (k << 20), 1 << 20, xl)],
                                 (ya.addr + (k << 20), yr))
                inner.x.sent(1 + i * 5, 20)
            except Fail as error:
                print(f"# {error}", flush=True)
                os._exit(1)
            os.kill(os.getpid(), signal.SIGKILL)
        equal(os.waitpid(pid, 0)[1], signal.SIGKILL, "how it ended")


@test("a region goes while its pages are fetched")
def goes(_, x, y):
    """The queue pair breaks, nothing else."""
    (xa, xm, xl, _), (ya, ym, _, yr) = both(x, y, 1 << 24)
    for k in range(16):
        x.send(k, WRITE, [SGE(xa.addr + (k << 20), 1 << 20, xl)], (ya.addr + (k << 20), yr))
    x.sent(2, 20)
    ym.close()
    bad = [wc for wc in x.sent(14, 20) if wc.status]
    if bad:
        equal(status_name(bad[0].status), "REM_ACCESS_ERR", "the first that failed")
    xm.close()


VLAN = 5
VLAN_QKEY = 0x11223344
GRH = 40


def run_at(side, *words, must=True):
    """What a command prints where the device of that side is; not must: it may fail."""
    return subprocess.run([*os.environ["N" + side].split(), *words], check=must,
                          stdout=subprocess.PIPE,
                          stderr=None if must else subprocess.DEVNULL).stdout


def namespace(side):
    """That of the network there."""
    return run_at(side, "readlink", "/proc/self/ns/net")


def ip_in(side, *words, must=True):
    """Run ip(8) there."""
    run_at(side, "ip", *words, must=must)


def gid_text(address):
    """As the kernel writes it."""
    b = [int(part) for part in address.split(".")]
    return f"0000:0000:0000:0000:0000:ffff:{b[0]:02x}{b[1]:02x}:{b[2]:02x}{b[3]:02x}"


def vlan_gid(device, address):
    """The index of the GID that this address makes, once it is there."""
    gids = f"/sys/class/infiniband/{device}/ports/1"
    wanted = gid_text(address)

    def find():
        for index in os.listdir(f"{gids}/gids"):
            try:
                with open(f"{gids}/gids/{index}", encoding="ascii") as f:
                    gid = f.read().strip()
                with open(f"{gids}/gid_attrs/types/{index}", encoding="ascii") as f:
                    kind = f.read().strip()
            except OSError:
                continue
            if gid == wanted and kind == "RoCE v2":
                return int(index)
        return None

    check(wait_until(lambda: find() is not None), f"no GID {wanted} on {device}")
    return find()


def to_rts(end):
    """Of a queue pair for datagrams."""
    attr = QPAttr(qp_state=e.IBV_QPS_INIT, port_num=1)
    attr.qkey = VLAN_QKEY
    end.qp.modify(attr, e.IBV_QP_STATE | e.IBV_QP_PKEY_INDEX | e.IBV_QP_PORT | e.IBV_QP_QKEY)
    end.to_state(e.IBV_QPS_RTR)
    end.qp.modify(QPAttr(qp_state=e.IBV_QPS_RTS), e.IBV_QP_STATE | e.IBV_QP_SQ_PSN)


def heavy(pieces):
    """So many mappings: while they are copied by fork() no page of the process is fetched."""
    area = Area(2 * pieces * PAGE, flags=MAP_NORESERVE)
    for i in range(pieces):
        libc(LIBC.mprotect, area.addr + 2 * i * PAGE, PAGE, mmap.PROT_READ)


def takes_while_forking(name, gid_index, pieces, commands, answers):
    """Receives a datagram whose page cannot be fetched before fork() is through: tells when
    that was, and the VLAN of the completion."""
    options = {"type": e.IBV_QPT_UD}
    end = ends.End(name, gid_index, options)
    end.rcq = CQEX(end.ctx, CqInitAttrEx(cqe=16, wc_flags=e.IBV_WC_STANDARD_FLAGS |
                                         e.IBV_WC_EX_WITH_CVLAN))
    end.qp = end.make_qp()
    to_rts(end)
    area = Area(PAGE)
    mr, lkey, _ = area.on_demand(end)
    end.recv(1, [SGE(area.addr, PAGE, lkey)])
    heavy(pieces)
    os.write(answers, struct.pack("=I", end.qp.qp_num))
    if not os.read(commands, 1):
        return
    os.write(answers, b"f")
    pid = os.fork()
    if not pid:
        os._exit(0)
    forked = time.monotonic()
    check(wait_until(lambda: not end.rcq.start_poll(PollCqAttr()), 20), "no completion")
    answer = struct.pack("=dII", forked, end.rcq.status, end.rcq.read_cvlan())
    end.rcq.end_poll()
    same(area.get(100, GRH), pattern(100), "datagram")
    os.write(answers, answer)
    os.waitpid(pid, 0)
    mr.close()


def vlan_goes(pair, x, pieces):
    """Whether the VLAN was gone before the page could be fetched."""
    sides = [("A", pair.names[0], "10.5.0.1"), ("B", pair.names[1], "10.5.0.2")]
    for side, _, address in sides:
        netdev = os.environ["E" + side]
        ip_in(side, "link", "add", "link", netdev, "name", "vl5", "type", "vlan", "id", str(VLAN))
        ip_in(side, "addr", "add", address + "/24", "dev", "vl5")
        ip_in(side, "link", "set", "vl5", "up")
    index = [vlan_gid(name, address) for _, name, address in sides]
    commands, tell = os.pipe()
    hear, answers = os.pipe()
    pid = os.fork()
    if not pid:
        status = 1
        os.close(tell)
        os.close(hear)
        try:
            takes_while_forking(pair.names[1], index[1], pieces, commands, answers)
            status = 0
        except Exception as error:  # pylint: disable=broad-except
            print(f"# {error}", flush=True)
        os._exit(status)
    os.close(answers)
    try:
        qpn = struct.unpack("=I", os.read(hear, 4))[0]
        route = GlobalRoute(dgid=GID(gid_text(sides[1][2])), sgid_index=index[0])
        ah = AH(x.pd, attr=AHAttr(gr=route, is_global=1, port_num=1))
        src = x.memory(100)
        src.set(pattern(100))
        wr = SendWR(1, SEND, 1, 0, [src.sge()], SIGNALED)
        wr.set_wr_ud(ah, qpn, VLAN_QKEY)
        before = counter(pair.names[1], "page_faults")
        os.write(tell, b"g")
        os.read(hear, 1)
        time.sleep(0.05)
        x.qp.post_send(wr)
        x.sent_well([1])
        check(wait_until(lambda: counter(pair.names[1], "page_faults") > before), "no page asked for")
        # Its memory is somebody else's then.
        ip_in("B", "link", "del", "vl5")
        gone = time.monotonic()
        for i in range(20):
            ip_in("B", "link", "add", "link", os.environ["EB"], "name", f"vn{i}", "type", "vlan",
                  "id", str(100 + i))
        forked, status, vlan = struct.unpack("=dII", os.read(hear, 16))
        equal(status_name(status), "SUCCESS", "status")
        equal(vlan, VLAN, "VLAN")
        ah.close()
    finally:
        for side, netdev in [("A", "vl5"), ("B", "vl5")] + [("B", f"vn{i}") for i in range(20)]:
            ip_in(side, "link", "del", netdev, must=False)
        os.close(commands)
        os.close(tell)
        os.close(hear)
        equal(os.waitpid(pid, 0)[1], 0, "how the receiver ended")
    return gone < forked


@test("datagrams of a VLAN that goes while their pages are fetched", type=e.IBV_QPT_UD,
      connect=False)
def vlan(pair, x, _):
    """They are told as what they were; the netdev is not looked at any more."""
    if namespace("A") == namespace("B"):
        raise Skip("both ends are in one namespace")
    to_rts(x)
    for pieces in (15000, 30000):
        if vlan_goes(pair, x, pieces):
            return
    raise Skip("fork() is too fast here")


if __name__ == "__main__":
    ends.main(TESTS)
