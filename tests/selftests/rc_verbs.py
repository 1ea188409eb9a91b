#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Reliable connections by verbs: every operation with its data checked, every
error with its status, its events and what it leaves of the other requests."""

import errno
import random
import socket
import struct
import time

from pyverbs import enums as e
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QPAttr
from pyverbs.wr import SGE

import ends
from ends import (ALL_ACCESS, SIGNALED, Fail, Memory, Skip, check, equal, failed, pattern,
                  readable, refused, same, status_name, wait_until, well)

MTU = 1024
LENGTHS = [1, 2, 3, 4, 5, 31, 255, MTU - 1, MTU, MTU + 1, 2 * MTU, 3 * MTU + 7, 65536, 300001]
OFFSETS = [0, 1, 3, 4, 7, 63]
SEND, WRITE, READ = e.IBV_WR_SEND, e.IBV_WR_RDMA_WRITE, e.IBV_WR_RDMA_READ
SEND_IMM, WRITE_IMM = e.IBV_WR_SEND_WITH_IMM, e.IBV_WR_RDMA_WRITE_WITH_IMM
CAS, ADD = e.IBV_WR_ATOMIC_CMP_AND_SWP, e.IBV_WR_ATOMIC_FETCH_AND_ADD
FLUSHED = e.IBV_WC_WR_FLUSH_ERR
TESTS = []
test = ends.tester(TESTS)


# ---------------------------------------------------------------- data, by kind

def each_length(one):
    """Every length, at changing offsets of both buffers."""
    for i, length in enumerate(LENGTHS):
        one(length, OFFSETS[i % len(OFFSETS)], OFFSETS[(i * 5 + 1) % len(OFFSETS)], i)


@test("SEND: every length and alignment")
def send(_, x, y):
    """Data, length and the fields of the completion."""
    def one(length, from_offset, to_offset, seed):
        src, dst = x.memory(length, offset=from_offset), y.memory(length + 5, offset=to_offset)
        src.set(pattern(length, seed))
        y.recv(70 + seed, [dst.sge()])
        x.send(seed, SEND, [src.sge()])
        wc = x.sent_well([seed])[0]
        equal(wc.opcode, e.IBV_WC_SEND, "opcode at the sender")
        wc = y.received_well([70 + seed])[0]
        equal(wc.byte_len, length, "length")
        equal(wc.opcode, e.IBV_WC_RECV, "opcode at the receiver")
        equal(wc.qp_num, y.qp.qp_num, "queue pair")
        equal(wc.wc_flags & e.IBV_WC_WITH_IMM, 0, "immediate data")
        same(dst.get(length), pattern(length, seed), f"{length} bytes")
        same(dst.get(5, length), bytes(5), "behind the message")
        dst.check_guard()
    each_length(one)


@test("SEND with immediate data")
def send_imm(_, x, y):
    """With and without data."""
    src, dst = x.memory(100), y.memory(100)
    src.set(pattern(100))
    for wr_id, length in ((1, 100), (2, 0)):
        y.recv(wr_id, [dst.sge()])
        x.send(wr_id, SEND_IMM, [src.sge(length)] if length else [], imm=0x11223300 + wr_id)
        x.sent_well([wr_id])
        wc = y.received_well([wr_id])[0]
        equal(wc.byte_len, length, "length")
        check(wc.wc_flags & e.IBV_WC_WITH_IMM, "no flag for immediate data")
        equal(wc.imm_data, 0x11223300 + wr_id, "immediate data")
    same(dst.get(), pattern(100), "data")


@test("RDMA WRITE: every length and alignment")
def write(_, x, y):
    """Nothing but the range is written; the peer sees no completion."""
    def one(length, from_offset, to_offset, seed):
        src, dst = x.memory(length, offset=from_offset), y.memory(length + 16, offset=to_offset)
        src.set(pattern(length, seed))
        x.send(seed, WRITE, [src.sge()], (dst.addr + 7, dst.rkey))
        equal(x.sent_well([seed])[0].opcode, e.IBV_WC_RDMA_WRITE, "opcode")
        same(dst.get(), bytes(7) + pattern(length, seed) + bytes(9), f"{length} bytes")
        dst.check_guard()
    each_length(one)
    y.nothing_more()


@test("RDMA WRITE with immediate data")
def write_imm(_, x, y):
    """Takes a receive, but not its buffer."""
    src, dst, unused = x.memory(5000), y.memory(5000), y.memory(64)
    for wr_id, length in ((1, 5000), (2, 1), (3, 0)):
        src.set(pattern(5000, wr_id))
        dst.set(bytes(5000))
        y.recv(wr_id, [unused.sge()] if wr_id & 1 else [])
        x.send(wr_id, WRITE_IMM, [src.sge(length)] if length else [], (dst.addr, dst.rkey),
               imm=0xa0b0c0d0 + wr_id)
        x.sent_well([wr_id])
        wc = y.received_well([wr_id])[0]
        equal(wc.opcode, e.IBV_WC_RECV_RDMA_WITH_IMM, "opcode")
        equal(wc.byte_len, length, "length")
        equal(wc.imm_data, 0xa0b0c0d0 + wr_id, "immediate data")
        same(dst.get(), pattern(5000, wr_id)[:length] + bytes(5000 - length), "data")
    same(unused.get(), bytes(64), "the receive's buffer")


@test("RDMA READ: every length and alignment")
def read(_, x, y):
    """Nothing but the range is written at home; the peer's memory stays."""
    def one(length, from_offset, to_offset, seed):
        src, dst = y.memory(length + 9, offset=from_offset), x.memory(length, offset=to_offset)
        src.set(pattern(length + 9, seed))
        x.send(seed, READ, [dst.sge()], (src.addr + 9, src.rkey))
        wc = x.sent_well([seed])[0]
        equal(wc.opcode, e.IBV_WC_RDMA_READ, "opcode")
        equal(wc.byte_len, length, "length")
        same(dst.get(), pattern(length + 9, seed)[9:], f"{length} bytes")
        same(src.get(), pattern(length + 9, seed), "the peer's memory")
        dst.check_guard()
    each_length(one)


def number(memory, at=0):
    """A 64-bit number in memory."""
    return struct.unpack_from("=Q", memory.get(8, at))[0]


@test("atomics: compare and swap, fetch and add")
def atomics(_, x, y):
    """Results and old values, also past 2^32 and 2^64."""
    was, at = x.memory(8), y.memory(24)
    value = 0xfffffffffffffff0
    at.set(b"\x55" * 8 + struct.pack("=Q", value) + b"\x66" * 8)
    target = (at.addr + 8, at.rkey)
    steps = [(ADD, 5, 0), (ADD, 0x20, 0), (CAS, 0x15, 0x1234567890abcdef),
             (CAS, 0x15, 0x77), (ADD, 1 << 63, 0), (ADD, 0, 0)]
    for i, (opcode, first, second) in enumerate(steps):
        was.set(b"\xaa" * 8)
        x.send(i, opcode, [was.sge()], target + (first, second))
        wc = x.sent_well([i])[0]
        equal(wc.opcode, e.IBV_WC_COMP_SWAP if opcode == CAS else e.IBV_WC_FETCH_ADD, "opcode")
        equal(wc.byte_len, 8, "length")
        equal(number(was), value, f"old value of step {i}")
        if opcode == ADD:
            value = (value + first) & (2 ** 64 - 1)
        elif value == first:
            value = second
        equal(number(at, 8), value, f"value after step {i}")
    same(at.get(8), b"\x55" * 8, "before the number")
    same(at.get(8, 16), b"\x66" * 8, "behind the number")


@test("atomics: 100 in flight are each executed once", rd_atomic=4)
def atomics_many(_, x, y):
    """Old values are 0, 1, 2, ..."""
    was, at = x.memory(800), y.memory(8)
    for i in range(100):
        x.send(i, ADD, [was.sge(8, 8 * i)], (at.addr, at.rkey, 1, 0))
    x.sent_well(range(100))
    equal([number(was, 8 * i) for i in range(100)], list(range(100)), "old values")
    equal(number(at), 100, "sum")


@test("several pieces: gathered and scattered")
def pieces(_, x, y):
    """Pieces of odd lengths, empty ones too, for each kind."""
    src, dst = x.memory(9000), y.memory(9000)
    src.set(pattern(9000))
    parts = [(0, 1), (100, 1023), (2000, 0), (3001, 4500)]
    data = b"".join(pattern(9000)[at:at + n] for at, n in parts)
    y.recv(1, [dst.sge(7, 0), dst.sge(2000, 1000), dst.sge(5000, 3500)])
    x.send(1, SEND, [src.sge(n, at) for at, n in parts])
    x.sent_well([1])
    equal(y.received_well([1])[0].byte_len, len(data), "length")
    got = dst.get(7) + dst.get(2000, 1000) + dst.get(5000, 3500)
    same(got[:len(data)], data, "SEND")

    dst.set(bytes(9000))
    x.send(2, WRITE, [src.sge(n, at) for at, n in parts], (dst.addr + 5, dst.rkey))
    x.sent_well([2])
    same(dst.get(len(data), 5), data, "WRITE")

    dst.set(pattern(9000, 9))
    home = x.memory(9000)
    x.send(3, READ, [home.sge(n, at) for at, n in parts], (dst.addr + 1, dst.rkey))
    x.sent_well([3])
    same(b"".join(home.get(n, at) for at, n in parts), pattern(9000, 9)[1:1 + len(data)], "READ")


@test("long messages, in pieces that end anywhere")
def long_pieces(_, x, y):
    """Many packets each; on one host they are moved several at once where that goes."""
    size = 300007
    cuts = [(size,), (100001, 99999, 100007), (70000, 1, size - 70001)]
    src, dst = x.memory(size, offset=3), y.memory(size, offset=5)
    for i, (out, into) in enumerate((a, b) for a in cuts for b in cuts):
        data = pattern(size, i)
        from_sges = [src.sge(n, sum(out[:k])) for k, n in enumerate(out)]
        to_sges = [dst.sge(n, sum(into[:k])) for k, n in enumerate(into)]
        src.set(data)
        dst.set(bytes(size))
        y.recv(1, to_sges)
        x.send(1, SEND, from_sges)
        x.sent_well([1])
        equal(y.received_well([1])[0].byte_len, size, "length")
        same(dst.get(), data, f"SEND {i}")
        dst.set(bytes(size))
        x.send(2, WRITE, from_sges, (dst.addr, dst.rkey))
        x.sent_well([2])
        same(dst.get(), data, f"WRITE {i}")
        src.set(bytes(size))
        x.send(3, READ, from_sges, (dst.addr, dst.rkey))
        x.sent_well([3])
        same(src.get(), data, f"READ {i}")
    dst.check_guard()
    src.check_guard()


@test("inline data: taken at the call", inline=64)
def inline(_, x, y):
    """The buffer may be reused at once, and needs no key."""
    src, dst = x.memory(64), y.memory(64)
    for length in (1, 3, 32, 63, 64):
        src.set(pattern(64, length))
        dst.set(bytes(64))
        x.send(length, WRITE, [SGE(src.addr, length, 0xdead)], (dst.addr, dst.rkey),
               SIGNALED | e.IBV_SEND_INLINE)
        src.set(bytes(64))
        x.sent_well([length])
        same(dst.get(), pattern(64, length)[:length] + bytes(64 - length), f"{length} bytes")
    refused((errno.EINVAL, errno.ENOMEM), x.send, 99, WRITE, [SGE(src.addr, 64, 0)] * 4,
            (dst.addr, dst.rkey), SIGNALED | e.IBV_SEND_INLINE)


@test("zero-length operations need no memory")
def nothing(_, x, y):
    """Neither keys nor addresses are looked at."""
    y.recv(1, [])
    x.send(1, SEND, [])
    x.send(2, WRITE, [], (0, 0))
    x.send(3, READ, [], (0xffffffffffffffff, 0x12345))
    x.sent_well([1, 2, 3])
    equal(y.received_well([1])[0].byte_len, 0, "length")


@test("messages across the end of the PSN space", psn=0xfffffc)
def psn_wrap(_, x, y):
    """All kinds of them."""
    src, dst = x.memory(20000), y.memory(20000)
    src.set(pattern(20000, 4))
    x.send(1, WRITE, [src.sge()], (dst.addr, dst.rkey))
    x.sent_well([1])
    same(dst.get(), pattern(20000, 4), "WRITE")


@test("a READ across the end of the PSN space", psn=0xfffffc)
def psn_wrap_read(_, x, y):
    """Responses wrap too."""
    src, dst = y.memory(20000), x.memory(20000)
    src.set(pattern(20000, 5))
    x.send(1, READ, [dst.sge()], (src.addr, src.rkey))
    x.send(2, READ, [dst.sge(3000, 1)], (src.addr + 1, src.rkey))
    x.sent_well([1, 2])
    same(dst.get(), pattern(20000, 5), "READ")


def mixture(seed):
    """Operations of all kinds in a random order, checked at the end."""
    def run(_, x, y):
        rng = random.Random(seed)
        here, there = x.memory(1 << 18), y.memory(1 << 18)
        here.set(pattern(1 << 18, 1))
        model = bytearray(1 << 18)
        inbox = y.memory(64 * 4096)
        sent, at = [], 0
        for i in range(64):
            y.recv(i, [inbox.sge(4096, 4096 * i)])
        messages = []
        for i in range(64):
            kind = rng.choice([SEND, WRITE, WRITE, ADD, READ])
            length = rng.choice([1, 8, 100, 1024, 4000])
            if kind == SEND:
                x.send(i, SEND, [here.sge(length, at)])
                messages.append(here.get(length, at))
            elif kind == WRITE:
                where = rng.randrange((1 << 17) - 4096)
                x.send(i, WRITE, [here.sge(length, at)], (there.addr + where, there.rkey))
                model[where:where + length] = here.get(length, at)
            elif kind == READ:
                x.send(i, READ, [here.sge(length, (1 << 17) + 4096 * i % (1 << 16))],
                       (there.addr + (1 << 17), there.rkey))
            else:
                x.send(i, ADD, [here.sge(8, (1 << 18) - 8)],
                       (there.addr + (1 << 18) - 8, there.rkey, 3, 0))
                model[-8:] = struct.pack("=Q", struct.unpack("=Q", model[-8:])[0] + 3)
            sent.append(i)
            at += 1017
        x.sent_well(sent)
        same(there.get(), bytes(model), "the peer's memory")
        wcs = y.received_well(range(len(messages)))
        for i, (wc, message) in enumerate(zip(wcs, messages)):
            same(inbox.get(wc.byte_len, 4096 * i), message, f"message {i}")
    return run


for _seed in range(3):
    test(f"a mixture of operations in flight, seed {_seed}", rd_atomic=2)(mixture(_seed))
for _mtu, _name in ((e.IBV_MTU_256, 256), (e.IBV_MTU_4096, 4096)):
    test(f"a mixture of operations, path MTU {_name}", mtu=_mtu)(mixture(_name))


# ------------------------------------------------------------------- completions

@test("unsignalled requests make no completion")
def unsignalled(_, x, y):
    """One completion for ten requests; the queue is free again after it."""
    src, dst = x.memory(10), y.memory(10)
    src.set(pattern(10))
    for turn in range(40):
        for i in range(9):
            x.send(i, WRITE, [src.sge(1, i)], (dst.addr + i, dst.rkey), 0)
        x.send(100 + turn, WRITE, [src.sge(1, 9)], (dst.addr + 9, dst.rkey))
        x.sent_well([100 + turn])
        same(dst.get(), pattern(10), "data")
    x.nothing_more()


@test("an unsignalled request that fails makes one")
def unsignalled_error(_, x, y):
    """With its own number."""
    src, dst = x.memory(10), y.memory(10)
    x.send(5, WRITE, [src.sge()], (dst.addr, dst.rkey), 0)
    x.send(6, WRITE, [src.sge()], (dst.addr, dst.rkey ^ 0x5500), 0)
    wc = x.sent()[0]
    equal((wc.wr_id, status_name(wc.status)), (6, "REM_ACCESS_ERR"), "completion")


@test("sq_sig_all: every request makes a completion", sig_all=1)
def sig_all(_, x, y):
    """Without the flag."""
    src, dst = x.memory(10), y.memory(10)
    for i in range(5):
        x.send(i, WRITE, [src.sge()], (dst.addr, dst.rkey), 0)
    x.sent_well(range(5))


@test("a fenced request waits for reads before it")
def fence(_, x, y):
    """What the read brought is what the write sends on."""
    first, second = y.memory(1 << 20), y.memory(1 << 20)
    home = x.memory(1 << 20)
    for seed in range(3):
        first.set(pattern(1 << 20, seed))
        home.set(bytes(1 << 20))
        x.send(1, READ, [home.sge()], (first.addr, first.rkey))
        x.send(2, WRITE, [home.sge()], (second.addr, second.rkey), SIGNALED | e.IBV_SEND_FENCE)
        x.sent_well([1, 2])
        same(second.get(), pattern(1 << 20, seed), "written on")


@test("send queue: full is ENOMEM, and free again after polling", send_wr=16)
def full(_, x, y):
    """Nothing is lost of what was accepted."""
    src, dst = x.memory(8), y.memory(8)
    depth = x.qp.query(e.IBV_QP_CAP)[1].cap.max_send_wr
    for _round in range(3):
        # Unsignalled ones stay in the queue until a later one was polled.
        for i in range(depth):
            x.send(i, WRITE, [src.sge()], (dst.addr, dst.rkey), SIGNALED if i == depth - 1 else 0)
        refused(errno.ENOMEM, x.send, 999, WRITE, [src.sge()], (dst.addr, dst.rkey))
        x.sent_well([depth - 1])
    x.nothing_more()


@test("receive queue: full is ENOMEM", recv_wr=16)
def recv_full(_, __, y):
    """And what was accepted is flushed in order."""
    dst = y.memory(8)
    depth = y.qp.query(e.IBV_QP_CAP)[1].cap.max_recv_wr
    for i in range(depth):
        y.recv(i, [dst.sge()])
    refused(errno.ENOMEM, y.recv, 999, [dst.sge()])
    y.to_state(e.IBV_QPS_ERR)
    failed(y.received(depth), FLUSHED, FLUSHED, range(depth), y.qp.qp_num)


@test("completion events: one for each arming", events=True)
def events(_, x, y):
    """Also when the completion is there before the arming."""
    src, dst = x.memory(8), y.memory(8)

    def exchange(wr_id, flags=SIGNALED):
        y.recv(wr_id, [dst.sge()])
        x.send(wr_id, SEND, [src.sge()], flags=flags)
        x.sent_well([wr_id])

    y.rcq.req_notify()
    check(not readable(y.channel_fd, 0.05), "an event without a completion")
    exchange(1)
    check(readable(y.channel_fd, 2), "no event")
    y.channel.get_cq_event(y.rcq)
    exchange(2)
    check(not readable(y.channel_fd, 0.05), "an event without arming")
    y.received_well([1, 2])
    y.rcq.req_notify()
    exchange(3)
    check(readable(y.channel_fd, 2), "no event after arming again")
    y.channel.get_cq_event(y.rcq)
    y.received_well([3])
    y.rcq.ack_events(2)


@test("completion events: solicited only", events=True)
def solicited(_, x, y):
    """Plain messages make none; one that asks for it, and errors, do."""
    src, dst = x.memory(8), y.memory(8)
    y.rcq.req_notify(solicited_only=True)
    for wr_id in range(1, 4):
        y.recv(wr_id, [dst.sge()])
    x.send(1, SEND, [src.sge()])
    x.sent_well([1])
    check(not readable(y.channel_fd, 0.1), "an event for a message that asks for none")
    x.send(2, SEND, [src.sge()], flags=SIGNALED | e.IBV_SEND_SOLICITED)
    x.sent_well([2])
    check(readable(y.channel_fd, 2), "no event")
    y.channel.get_cq_event(y.rcq)
    y.received_well([1, 2])
    y.rcq.req_notify(solicited_only=True)
    y.to_state(e.IBV_QPS_ERR)
    check(readable(y.channel_fd, 2), "no event for a flushed receive")
    y.channel.get_cq_event(y.rcq)
    y.rcq.ack_events(2)


@test("a completion queue that overflows is told", rcqe=1, recv_wr=64)
def overflow(_, x, y):
    """By an event; never by silence or a crash."""
    src, dst = x.memory(8), y.memory(8)
    for i in range(64):
        y.recv(i, [dst.sge()])
    for i in range(64):
        x.send(i, SEND, [src.sge()])
    if y.rcq.cqe >= 64:
        raise Skip(f"the queue has {y.rcq.cqe} entries")
    check(y.has_event(e.IBV_EVENT_CQ_ERR), f"no event; seen: {y.seen}")


# ------------------------------------------------------------------------ errors

def remote_fault(x, y, fault, statuses, event=None):
    """A request that the peer must refuse, in the middle of good ones."""
    src, dst = x.memory(64), y.memory(64)
    src.set(pattern(64))
    begin = time.monotonic()
    x.send(1, WRITE, [src.sge(8)], (dst.addr, dst.rkey))
    fault()
    for wr_id in (3, 4, 5):
        x.send(wr_id, WRITE, [src.sge()], (dst.addr, dst.rkey))
    wcs = x.sent(5)
    check(time.monotonic() - begin < ends.SLOW, "took as long as a time-out")
    well(wcs[:1], [1])
    failed(wcs[1:], statuses, FLUSHED, [2, 3, 4, 5], x.qp.qp_num)
    equal(x.state(), e.IBV_QPS_ERR, "the sender's state")
    same(dst.get(), pattern(64)[:8] + bytes(56), "memory")
    if event is not None:
        check(y.has_event(event), f"no event {event}; seen: {y.seen}")
        check(wait_until(lambda: y.state() == e.IBV_QPS_ERR), "the peer is not in state ERR")
    # And what is posted now is flushed as well.
    x.send(6, WRITE, [src.sge()], (dst.addr, dst.rkey))
    failed(x.sent(1), FLUSHED, FLUSHED, [6], x.qp.qp_num)
    x.nothing_more()


def access_fault(name, opcode, remote, **options):
    """remote gives address and key of a buffer that the request may not touch."""
    def run(_, x, y):
        home, there = x.memory(64), remote.memory(y)
        there.set(b"\x42" * there.length)

        def fault():
            where = remote.where(there)
            x.send(2, opcode, [home.sge(8)], where + ((1, 1) if opcode in (ADD, CAS) else ()))
        remote_fault(x, y, fault, (e.IBV_WC_REM_ACCESS_ERR,), e.IBV_EVENT_QP_ACCESS_ERR)
        same(there.get(), b"\x42" * there.length, "the memory that it must not touch")
        same(home.get(), bytes(64), "memory at home")
    test(name, **options)(run)


class Remote:
    """How to address a buffer wrongly."""

    def __init__(self, where, access=ALL_ACCESS, other_pd=False):
        self.where, self.access, self.other_pd = where, access, other_pd

    def memory(self, y):
        """The buffer."""
        return y.memory(64, self.access, pd=PD(y.ctx) if self.other_pd else None)


def access_faults():
    """Every way to address memory wrongly, for every kind of request."""
    top = 2 ** 64
    good = lambda m: (m.addr, m.rkey)  # noqa: E731
    ways = {
        "a wrong key": Remote(lambda m: (m.addr, m.rkey ^ 0x0100)),
        "a key with another last byte": Remote(lambda m: (m.addr, m.rkey ^ 0x01)),
        "a range one byte too long": Remote(lambda m: (m.addr + m.length - 7, m.rkey)),
        "a range that begins before it": Remote(lambda m: (m.addr - 1, m.rkey)),
        "a range past 2^64": Remote(lambda m: (top - 4, m.rkey)),
        "memory of another PD": Remote(good, other_pd=True),
    }
    for kind, opcode in (("WRITE", WRITE), ("READ", READ)):
        for way, remote in ways.items():
            access_fault(f"{kind} with {way}", opcode, remote)
    for way in ("a wrong key", "memory of another PD"):
        access_fault(f"fetch and add with {way}", ADD, ways[way])
    local = e.IBV_ACCESS_LOCAL_WRITE
    access_fault("WRITE to memory without that right", WRITE,
                 Remote(good, local | e.IBV_ACCESS_REMOTE_READ))
    access_fault("READ of memory without that right", READ,
                 Remote(good, local | e.IBV_ACCESS_REMOTE_WRITE))
    access_fault("fetch and add to memory without that right", ADD,
                 Remote(good, local | e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ))


access_faults()


def qp_right(kind, opcode, access):
    """The queue pair lacks the right, though the memory has it."""
    def run(_, x, y):
        home, there = x.memory(64), y.memory(64)

        def fault():
            x.send(2, opcode, [home.sge(8)],
                   (there.addr, there.rkey) + ((1, 1) if opcode in (ADD, CAS) else ()))
        src = x.memory(8)
        if access & e.IBV_ACCESS_REMOTE_WRITE:
            remote_fault(x, y, fault, (e.IBV_WC_REM_ACCESS_ERR, e.IBV_WC_REM_INV_REQ_ERR))
            return
        fault()
        x.send(3, SEND, [src.sge()])
        failed(x.sent(2), (e.IBV_WC_REM_ACCESS_ERR, e.IBV_WC_REM_INV_REQ_ERR), FLUSHED, [2, 3],
               x.qp.qp_num)
        same(there.get(), bytes(64), "memory")
    test(f"{kind} on a queue pair without that right", y_access=access)(run)


qp_right("WRITE", WRITE, e.IBV_ACCESS_REMOTE_READ)
qp_right("READ", READ, e.IBV_ACCESS_REMOTE_WRITE)
qp_right("fetch and add", ADD, e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ)


@test("atomics at an odd address")
def atomic_odd(_, x, y):
    """An invalid request."""
    home, there = x.memory(8), y.memory(64)
    at = (-there.addr) % 8 + there.addr + 4
    try:
        x.send(1, ADD, [home.sge()], (at, there.rkey, 1, 0))
    except PyverbsRDMAError as error:
        equal(error.error_code, errno.EINVAL, "errno")
        return
    wc = x.sent()[0]
    check(wc.status in (e.IBV_WC_REM_INV_REQ_ERR, e.IBV_WC_REM_ACCESS_ERR),
          f"status {status_name(wc.status)}")
    same(there.get(), bytes(64), "memory")


@test("a message longer than the receive")
def too_long(_, x, y):
    """Both ends are told; not a byte behind the buffer is written."""
    src, dst = x.memory(5000), y.memory(5000)
    src.set(pattern(5000))
    y.recv(7, [dst.sge(4999)])
    y.recv(8, [dst.sge()])
    x.send(1, SEND, [src.sge()])
    x.send(2, SEND, [src.sge()])
    failed(x.sent(2), e.IBV_WC_REM_INV_REQ_ERR, FLUSHED, [1, 2], x.qp.qp_num)
    failed(y.received(2), e.IBV_WC_LOC_LEN_ERR, FLUSHED, [7, 8], y.qp.qp_num)
    same(dst.get(1, 4999), bytes(1), "behind the buffer")


@test("SEND with invalidate of a key that may not be invalidated")
def send_inv(_, x, y):
    """Memory registered by a program stays valid."""
    src, dst = x.memory(16), y.memory(16)
    y.recv(1, [dst.sge()])
    try:
        x.send(1, e.IBV_WR_SEND_WITH_INV, [src.sge()], imm=dst.rkey)
    except PyverbsRDMAError as error:
        raise Skip(f"the provider refuses it: {error}") from None
    wc = x.sent()[0]
    check(wc.status in (e.IBV_WC_REM_ACCESS_ERR, e.IBV_WC_REM_INV_REQ_ERR, e.IBV_WC_REM_OP_ERR),
          f"status {status_name(wc.status)}")
    check(dst.mr.rkey, "the region is gone")


def local_fault(name, make, statuses=(e.IBV_WC_LOC_PROT_ERR,), opcode=SEND):
    """A request of which the own memory is wrong; nothing of it may be sent."""
    def run(_, x, y):
        good, dst = x.memory(64), y.memory(64)
        y.recv(1, [dst.sge()])
        sges = make(x)
        x.send(1, opcode, sges, (dst.addr, dst.rkey) if opcode != SEND else None)
        x.send(2, SEND, [good.sge()])
        failed(x.sent(2), statuses, FLUSHED, [1, 2], x.qp.qp_num)
        same(dst.get(), bytes(64), "the peer's memory")
    test(name)(run)


def other_pd_memory(x):
    """Registered in another protection domain."""
    memory = Memory(PD(x.ctx), 64)
    x.kept = memory
    return [memory.sge()]


def read_only(x):
    """Not to be written."""
    x.kept = x.memory(64, 0)
    return [x.kept.sge()]


def with_key(change):
    """A buffer with its key altered."""
    def make(x):
        x.kept = x.memory(64)
        return [SGE(x.kept.addr, 64, change(x.kept.lkey))]
    return make


def past_end(x):
    """One byte too far."""
    x.kept = x.memory(64)
    return [SGE(x.kept.addr, 65, x.kept.lkey)]


def past_top(x):
    """Address and length wrap."""
    x.kept = x.memory(64)
    return [SGE(2 ** 64 - 8, 64, x.kept.lkey)]


def sum_wraps(x):
    """Lengths that sum up to more than 32 bits hold."""
    x.kept = x.memory(64)
    return [SGE(x.kept.addr, 0xfffffff0, x.kept.lkey), SGE(x.kept.addr, 0x50, x.kept.lkey)]


local_fault("SEND with a wrong local key", with_key(lambda key: key ^ 0x300))
local_fault("SEND with local key 0", with_key(lambda key: 0))
local_fault("SEND from memory of another PD", other_pd_memory)
local_fault("SEND from a range one byte too long", past_end)
local_fault("SEND from a range past 2^64", past_top)
local_fault("SEND whose lengths sum up past 2^32", sum_wraps,
            (e.IBV_WC_LOC_PROT_ERR, e.IBV_WC_LOC_LEN_ERR, e.IBV_WC_LOC_QP_OP_ERR))
local_fault("READ into memory that may not be written", read_only, opcode=READ)


@test("a receive into memory that may not be written")
def recv_read_only(_, x, y):
    """The receiver gets a local error, the sender a remote one."""
    src = x.memory(64)
    dst = y.memory(64, 0)
    y.recv(9, [dst.sge()])
    x.send(1, SEND, [src.sge()])
    wc = y.received()[0]
    equal((wc.wr_id, status_name(wc.status)), (9, "LOC_PROT_ERR"), "at the receiver")
    status = x.sent()[0].status
    check(status in (e.IBV_WC_REM_OP_ERR, e.IBV_WC_REM_ACCESS_ERR, e.IBV_WC_REM_INV_REQ_ERR),
          f"at the sender: {status_name(status)}")


@test("no receive posted: waits, then goes on", rnr_retry=7, rnr_timer=14)
def rnr_wait(_, x, y):
    """With 7, for ever."""
    src, dst = x.memory(3000), y.memory(3000)
    src.set(pattern(3000))
    x.send(1, SEND, [src.sge()])
    time.sleep(0.2)
    equal(x.scq.poll(1)[0], 0, "completions before the receive was posted")
    y.recv(1, [dst.sge()])
    x.sent_well([1])
    y.received_well([1])
    same(dst.get(), pattern(3000), "data")


@test("no receive posted: gives up", rnr_retry=2, rnr_timer=10)
def rnr_gives_up(_, x, y):
    """After the number of attempts asked for, in the time asked for."""
    src = x.memory(8)
    begin = time.monotonic()
    x.send(1, SEND, [src.sge()])
    x.send(2, SEND, [src.sge()])
    failed(x.sent(2), e.IBV_WC_RNR_RETRY_EXC_ERR, FLUSHED, [1, 2], x.qp.qp_num)
    took = time.monotonic() - begin
    check(took < ends.SLOW, f"took {took:.2f} s")
    equal(y.state(), e.IBV_QPS_RTS, "the receiver's state")


@test("the full delay before it tries again", rnr_retry=1, rnr_timer=25)
def rnr_delay(_, x, __):
    """40.96 ms at least, once."""
    src = x.memory(8)
    begin = time.monotonic()
    x.send(1, SEND, [src.sge()])
    failed(x.sent(1), e.IBV_WC_RNR_RETRY_EXC_ERR, FLUSHED, [1], x.qp.qp_num)
    took = time.monotonic() - begin
    check(took >= 0.040, f"gave up after {took * 1000:.1f} ms")


@test("the peer is gone", retry=1, timeout=14)
def peer_gone(_, x, y):
    """Given up in time; the rest is flushed."""
    src, dst = x.memory(8), y.memory(8)
    y.to_state(e.IBV_QPS_RESET)
    begin = time.monotonic()
    for wr_id in range(5):
        x.send(wr_id, WRITE, [src.sge()], (dst.addr, dst.rkey))
    failed(x.sent(5, 10), e.IBV_WC_RETRY_EXC_ERR, FLUSHED, range(5), x.qp.qp_num)
    took = time.monotonic() - begin
    check(0.06 < took < 3 * ends.SLOW, f"took {took:.2f} s")
    equal(x.state(), e.IBV_QPS_ERR, "state")


@test("state ERR: all is flushed in order", retry=7, timeout=20)
def flush(_, x, y):
    """Sends that wait for their answer, and receives."""
    src, dst = x.memory(8), y.memory(8)
    y.to_state(e.IBV_QPS_RESET)
    for wr_id in range(8):
        x.recv(100 + wr_id, [src.sge()])
        x.send(wr_id, WRITE, [src.sge()], (dst.addr, dst.rkey), SIGNALED if wr_id & 1 else 0)
    x.to_state(e.IBV_QPS_ERR)
    # Every request is told of when flushed, the unsignalled ones too.
    wcs = x.sent(4)
    check(all(wc.status == FLUSHED for wc in wcs), "status")
    numbers = [wc.wr_id for wc in wcs]
    check(numbers == sorted(numbers), f"order {numbers}")
    failed(x.received(8), FLUSHED, FLUSHED, range(100, 108), x.qp.qp_num)


@test("destroyed with requests in the queue", retry=7, timeout=20)
def destroy_busy(pair, x, y):
    """No completion of a queue pair that is gone, and nothing is left."""
    src, dst = x.memory(1 << 20), y.memory(1 << 20)
    for wr_id in range(20):
        x.recv(100 + wr_id, [src.sge()])
        x.send(wr_id, WRITE, [src.sge()], (dst.addr, dst.rkey))
    x.qp.close()
    pair.x.scq.poll(64)


@test("memory goes while the peer writes to it")
def dereg_remote(_, x, y):
    """The writes fail or succeed, each of them; nothing crashes."""
    src, dst = x.memory(1 << 16), y.memory(1 << 16)
    for wr_id in range(64):
        x.send(wr_id, WRITE, [src.sge()], (dst.addr, dst.rkey))
        if wr_id == 32:
            dst.mr.close()
    statuses = [wc.status for wc in x.sent(64)]
    good = statuses.count(e.IBV_WC_SUCCESS)
    check(good < 64, "all succeeded")
    equal(statuses[good], e.IBV_WC_REM_ACCESS_ERR, "the first that failed")
    check(all(s == FLUSHED for s in statuses[good + 1:]), "the rest is not flushed")


@test("memory goes while it is being sent")
def dereg_local(_, x, y):
    """The same at home; what was sent meanwhile was the memory's."""
    src, dst = x.memory(1 << 16), y.memory(1 << 16)
    src.set(b"\x77" * (1 << 16))
    for wr_id in range(64):
        x.send(wr_id, WRITE, [src.sge()], (dst.addr, dst.rkey))
        if wr_id == 32:
            try:
                src.mr.close()
            except PyverbsRDMAError as error:
                equal(error.error_code, errno.EBUSY, "errno")
    statuses = [wc.status for wc in x.sent(64)]
    check(all(s in (e.IBV_WC_SUCCESS, e.IBV_WC_LOC_PROT_ERR, FLUSHED) for s in statuses),
          f"statuses {[status_name(s) for s in set(statuses)]}")
    check(set(dst.get()) <= {0, 0x77}, "foreign data was sent")


# ------------------------------------------------------------------------ states

@test("changes of state: what may not be, is refused and changes nothing", connect=False)
def bad_changes(_, x, y):
    """From each state the transitions that are not there."""
    states = {"RESET": e.IBV_QPS_RESET, "INIT": e.IBV_QPS_INIT, "RTR": e.IBV_QPS_RTR,
              "RTS": e.IBV_QPS_RTS, "SQD": e.IBV_QPS_SQD}

    def never(state, *targets):
        equal(x.state(), states[state], "state")
        for target in targets:
            attr = {"INIT": x.init_attr, "RTS": x.rts_attr,
                    "RTR": lambda: x.rtr_attr(y)}.get(target)
            mask = {"INIT": ends.INIT_MASK, "RTR": ends.RTR_MASK, "RTS": ends.RTS_MASK}.get(target)
            try:
                refused(errno.EINVAL, x.qp.modify,
                        attr() if attr else QPAttr(qp_state=states[target]),
                        mask or e.IBV_QP_STATE)
            except Fail as fail:
                raise Fail(f"{state} to {target}: {fail}") from None
            equal(x.state(), states[state], f"state after {state} to {target} was refused")

    y.to_init()
    never("RESET", "RTR", "RTS", "SQD")
    x.to_init()
    never("INIT", "RTS", "SQD")
    x.to_rtr(y)
    never("RTR", "INIT", "SQD")
    x.to_rts()
    never("RTS", "INIT", "RTR")
    x.to_state(e.IBV_QPS_ERR)
    for target in ("INIT", "RTR", "RTS"):
        refused(errno.EINVAL, x.to_state, states[target])
    x.to_state(e.IBV_QPS_RESET)
    equal(x.state(), e.IBV_QPS_RESET, "state")


@test("changes of state: a missing attribute is refused and changes nothing", connect=False)
def missing(_, x, y):
    """Each of those that the standard demands."""
    y.to_init()
    steps = ((x.init_attr(), ends.INIT_MASK, e.IBV_QPS_RESET),
             (x.rtr_attr(y), ends.RTR_MASK, e.IBV_QPS_INIT),
             (x.rts_attr(), ends.RTS_MASK, e.IBV_QPS_RTR))
    for attr, mask, before in steps:
        bit = 1
        while bit <= mask:
            if mask & bit and bit != e.IBV_QP_STATE:
                refused(errno.EINVAL, x.qp.modify, attr, mask & ~bit)
                equal(x.state(), before, f"state without attribute {bit:#x}")
            bit <<= 1
        # One that does not belong there.
        refused(errno.EINVAL, x.qp.modify, attr, mask | e.IBV_QP_QKEY)
        equal(x.state(), before, "state with an attribute too many")
        x.qp.modify(attr, mask)
    equal(x.state(), e.IBV_QPS_RTS, "state")


@test("changes of state: wrong values are refused and change nothing", connect=False)
def wrong_values(_, x, y):
    """Path MTU, GID index, port, P_Key index, too many reads at once."""
    y.to_init()

    def bad(make, mask, codes=(errno.EINVAL,), **changes):
        attr = make()
        for name, value in changes.items():
            setattr(attr, name, value)
        before = x.state()
        try:
            refused(codes, x.qp.modify, attr, mask)
        except Fail as fail:
            raise Fail(f"{changes}: {fail}") from None
        equal(x.state(), before, f"state after {changes}")

    bad(x.init_attr, ends.INIT_MASK, port_num=2)
    bad(x.init_attr, ends.INIT_MASK, port_num=0)
    bad(x.init_attr, ends.INIT_MASK, pkey_index=9)
    x.to_init()
    bad(lambda: x.rtr_attr(y), ends.RTR_MASK, path_mtu=0)
    bad(lambda: x.rtr_attr(y), ends.RTR_MASK, path_mtu=6)
    bad(lambda: x.rtr_attr(y), ends.RTR_MASK, max_dest_rd_atomic=255)
    good, x.gid_index = x.gid_index, 99
    bad(lambda: x.rtr_attr(y), ends.RTR_MASK, (errno.EINVAL, errno.ENOENT, errno.ENODATA))
    x.gid_index = good
    x.to_rtr(y)
    bad(x.rts_attr, ends.RTS_MASK, max_rd_atomic=255)
    bad(x.rts_attr, ends.RTS_MASK, timeout=32)
    bad(x.rts_attr, ends.RTS_MASK, retry_cnt=8)
    bad(x.rts_attr, ends.RTS_MASK, rnr_retry=8)
    x.to_rts()
    bad(lambda: QPAttr(qp_state=e.IBV_QPS_RTS, cur_qp_state=e.IBV_QPS_SQD),
        e.IBV_QP_STATE | e.IBV_QP_CUR_STATE)


@test("what was set is what a query tells")
def query(_, x, y):
    """All that the connection needed."""
    attr, init = x.qp.query(0x1fffff)
    wanted = {"qp_state": e.IBV_QPS_RTS, "cur_qp_state": e.IBV_QPS_RTS,
              "path_mtu": e.IBV_MTU_1024, "dest_qp_num": y.qp.qp_num, "rq_psn": 0x123456,
              "qp_access_flags": ALL_ACCESS, "pkey_index": 0, "port_num": 1, "timeout": 14,
              "retry_cnt": 7, "rnr_retry": 7, "min_rnr_timer": 12, "max_rd_atomic": 16,
              "max_dest_rd_atomic": 16}
    for name, value in wanted.items():
        got = getattr(attr, name)
        if name == "qp_access_flags":
            got |= e.IBV_ACCESS_LOCAL_WRITE
        equal(got, value, name)
    check(init.cap.max_send_wr >= 128 and init.cap.max_recv_wr >= 128, "depths")
    check(init.cap.max_send_sge >= 4 and init.cap.max_recv_sge >= 4, "pieces")
    equal(str(attr.ah_attr.gr.dgid if hasattr(attr.ah_attr, "gr") else attr.ah_attr.dgid),
          str(y.gid()), "the peer's GID")


@test("posting in states that do not allow it", connect=False)
def post_states(_, x, y):
    """A receive in RESET, a send before RTS."""
    src = x.memory(8)
    refused(errno.EINVAL, x.recv, 1, [src.sge()])
    refused(errno.EINVAL, x.send, 1, SEND, [src.sge()])
    y.to_init()
    x.to_init()
    x.recv(1, [src.sge()])
    refused(errno.EINVAL, x.send, 1, SEND, [src.sge()])
    x.to_rtr(y)
    x.recv(2, [src.sge()])
    refused(errno.EINVAL, x.send, 1, SEND, [src.sge()])


@test("SQD: drains, tells so, waits, and goes on")
def sqd(_, x, y):
    """What is posted meanwhile is sent afterwards."""
    src, dst = x.memory(1 << 20), y.memory(1 << 20)
    src.set(pattern(1 << 20))
    x.send(1, WRITE, [src.sge()], (dst.addr, dst.rkey))
    attr = QPAttr(qp_state=e.IBV_QPS_SQD)
    attr.en_sqd_async_notify = 1
    x.qp.modify(attr, e.IBV_QP_STATE | e.IBV_QP_EN_SQD_ASYNC_NOTIFY)
    check(x.has_event(e.IBV_EVENT_SQ_DRAINED), "no event")
    x.sent_well([1])
    same(dst.get(), pattern(1 << 20), "sent before")
    got = x.qp.query(e.IBV_QP_STATE)[0]
    equal((got.qp_state, got.sq_draining), (e.IBV_QPS_SQD, 0), "state and draining")
    src.set(pattern(1 << 20, 1))
    x.send(2, WRITE, [src.sge()], (dst.addr, dst.rkey))
    time.sleep(0.05)
    equal(x.scq.poll(1)[0], 0, "completions in SQD")
    same(dst.get(), pattern(1 << 20), "memory in SQD")
    x.qp.modify(QPAttr(qp_state=e.IBV_QPS_RTS), e.IBV_QP_STATE)
    x.sent_well([2])
    same(dst.get(), pattern(1 << 20, 1), "sent after")


@test("the first message before RTU: COMM_EST", connect=False)
def comm_est(_, x, y):
    """The receiver is in RTR."""
    x.to_init()
    y.to_init()
    x.to_rtr(y)
    y.to_rtr(x)
    x.to_rts()
    src, dst = x.memory(8), y.memory(8)
    src.set(pattern(8))
    y.recv(1, [dst.sge()])
    x.send(1, SEND, [src.sge()])
    x.sent_well([1])
    y.received_well([1])
    same(dst.get(), pattern(8), "data")
    check(y.has_event(e.IBV_EVENT_COMM_EST), f"no event; seen: {y.seen}")
    y.to_rts()
    x.recv(2, [src.sge()])
    y.send(2, SEND, [dst.sge()])
    x.received_well([2])


@test("RESET and connected again")
def again(pair, x, y):
    """Nothing of the old connection is left."""
    src, dst = x.memory(4000), y.memory(4000)
    for turn in range(3):
        src.set(pattern(4000, turn))
        y.recv(turn, [dst.sge()])
        y.recv(90, [dst.sge()])
        x.send(turn, SEND, [src.sge()])
        x.sent_well([turn])
        y.received_well([turn])
        same(dst.get(), pattern(4000, turn), "data")
        x.to_state(e.IBV_QPS_RESET)
        y.to_state(e.IBV_QPS_RESET)
        pair.connect()
    y.nothing_more()


# ------------------------------------------------------------------ registration

@test("rereg_mr: rights, address, domain")
def rereg(_, x, y):
    """Each takes effect at once."""
    src, dst = x.memory(64), y.memory(128)
    src.set(pattern(64))

    def change(flags, pd, addr, length, access):
        # The core knows which drivers have it.
        try:
            dst.mr.rereg(flags, pd, addr, length, access)
        except PyverbsRDMAError as error:
            if error.error_code in (errno.EOPNOTSUPP, errno.ENOSYS):
                raise Skip("the driver has no rereg_mr") from None
            raise
        # It may have new keys.
        dst.rkey, dst.lkey = dst.mr.rkey, dst.mr.lkey

    change(e.IBV_REREG_MR_CHANGE_TRANSLATION, None, dst.addr + 64, 64, 0)
    x.send(1, WRITE, [src.sge()], (dst.addr + 64, dst.rkey))
    x.sent_well([1])
    same(dst.get(), bytes(64) + pattern(64), "after the new range")
    change(e.IBV_REREG_MR_CHANGE_ACCESS, None, 0, 0,
           e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_READ)
    home = x.memory(64)
    x.send(2, READ, [home.sge()], (dst.addr + 64, dst.rkey))
    x.sent_well([2])
    same(home.get(), pattern(64), "READ")
    x.send(3, WRITE, [src.sge()], (dst.addr + 64, dst.rkey))
    equal(status_name(x.sent()[0].status), "REM_ACCESS_ERR", "WRITE without the right")


@test("registration that cannot be")
def bad_registration(_, x, __):
    """Not mapped, past the top, remote write without local write."""
    memory = x.memory(4096)
    local = e.IBV_ACCESS_LOCAL_WRITE

    def register(addr, length, access):
        MR(x.pd, length, access, address=addr)

    refused((errno.EFAULT, errno.ENOMEM), register, 4096, 4096, local)
    refused((errno.EINVAL, errno.EFAULT, errno.ENOMEM, errno.EOVERFLOW), register,
            2 ** 64 - 8192, 1 << 20, local)
    refused(errno.EINVAL, register, memory.addr, 4096, e.IBV_ACCESS_REMOTE_WRITE)
    refused(errno.EINVAL, register, memory.addr, 4096, e.IBV_ACCESS_REMOTE_ATOMIC)


@test("keys differ, also of one buffer registered twice")
def keys(_, x, y):
    """And each has its own rights."""
    memory = y.memory(4096)
    others = [MR(y.pd, 4096, e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_READ,
                 address=memory.addr) for _ in range(50)]
    numbers = {m.rkey for m in others} | {memory.rkey}
    equal(len(numbers), 51, "different keys")
    home = x.memory(4096)
    memory.set(pattern(4096))
    x.send(1, READ, [home.sge()], (memory.addr, others[7].rkey))
    x.send(2, WRITE, [home.sge()], (memory.addr, memory.rkey))
    x.sent_well([1, 2])
    same(home.get(), pattern(4096), "data")
    gone = others[7].rkey
    others[7].close()
    x.send(3, READ, [home.sge()], (memory.addr, gone))
    equal(status_name(x.sent()[0].status), "REM_ACCESS_ERR", "a key that is gone")


# --------------------------------------------------------------------- ibv_wr_*

@test("ibv_wr_*: the same results as ibv_post_send", ex=True, inline=64)
def new_api(_, x, y):
    """Each kind of request, several in one batch, and inline."""
    qp = x.qp
    src, dst, was, small = x.memory(9000), y.memory(9000), x.memory(8), x.memory(40)
    src.set(pattern(9000))
    small.set(pattern(40, 3))
    inbox = y.memory(9000)
    y.recv(1, [inbox.sge()])
    y.recv(2, [inbox.sge(100, 8000)])
    y.recv(3, [])

    def start(wr_id, flags=SIGNALED):
        qp.wr_id = wr_id
        qp.wr_flags = flags

    qp.wr_start()
    start(1)
    qp.wr_send()
    qp.wr_set_sge(src.sge(5000))
    start(2)
    qp.wr_send_imm(0x01020304)
    qp.wr_set_sge_list(2, [src.sge(10), src.sge(3, 99)])
    start(3)
    qp.wr_rdma_write_imm(dst.rkey, dst.addr, 0x0a0b0c0d)
    qp.wr_set_sge(src.sge(777, 5))
    start(4, SIGNALED | e.IBV_SEND_INLINE)
    qp.wr_rdma_write(dst.rkey, dst.addr + 1000)
    qp.wr_set_inline_data(small.addr, 40)
    start(5)
    qp.wr_atomic_fetch_add(dst.rkey, (dst.addr + 2007) & ~7, 9)
    qp.wr_set_sge(was.sge())
    start(6)
    qp.wr_rdma_read(dst.rkey, dst.addr)
    qp.wr_set_sge(src.sge(777, 6000))
    qp.wr_complete()
    x.sent_well([1, 2, 3, 4, 5, 6])
    wcs = y.received_well([1, 2, 3])
    equal([wc.byte_len for wc in wcs], [5000, 13, 777], "lengths")
    # These calls, unlike SendWR, bring the number into the order of the wire.
    equal(socket.ntohl(wcs[1].imm_data), 0x01020304, "immediate data")
    equal(socket.ntohl(wcs[2].imm_data), 0x0a0b0c0d, "immediate data of the write")
    same(inbox.get(5000), pattern(9000)[:5000], "SEND")
    same(inbox.get(13, 8000), pattern(9000)[:10] + pattern(9000)[99:102], "SEND of two pieces")
    same(dst.get(777), pattern(9000)[5:782], "WRITE with immediate data")
    same(dst.get(40, 1000), pattern(40, 3), "inline WRITE")
    same(src.get(777, 6000), pattern(9000)[5:782], "READ")
    equal(number(dst, ((dst.addr + 2007) & ~7) - dst.addr), 9, "fetch and add")


@test("ibv_wr_*: an abandoned batch sends nothing", ex=True)
def abort(_, x, y):
    """And the queue goes on."""
    src, dst = x.memory(8), y.memory(8)
    src.set(pattern(8))
    x.qp.wr_start()
    x.qp.wr_id, x.qp.wr_flags = 1, SIGNALED
    x.qp.wr_rdma_write(dst.rkey, dst.addr)
    x.qp.wr_set_sge(src.sge())
    x.qp.wr_abort()
    x.nothing_more(0.05)
    same(dst.get(), bytes(8), "memory")
    x.send(2, WRITE, [src.sge()], (dst.addr, dst.rkey))
    x.sent_well([2])
    same(dst.get(), pattern(8), "memory")


@test("turns: an ACK goes with the answer, or by itself")
def turns(_, x, y):
    """The ends take turns until the ACKs of both go along; then only one sends."""
    if not (x.is_rove and y.is_rove):
        raise Skip("the other end is no rove")

    def count(name):
        return sum(ends.counter(end.ctx.name, name) for end in (x, y))

    outbox, inbox = x.memory(64), y.memory(64)
    late, resent = count("acks_late"), count("retransmits")

    def take_turns():
        along = ends.counter(y.ctx.name, "acks_along")
        for i in range(3000):
            for end, memory in ((x, outbox), (y, inbox)):
                end.recv(i, [memory.sge(32)])
            x.send(i, SEND, [outbox.sge(32, 32)])
            y.received_well([i])
            y.send(i, SEND, [inbox.sge(32, 32)])
            if i:
                # Only what x sent after it acknowledges it.
                y.sent_well([i - 1])
            x.received_well([i])
            x.sent_well([i])
            if ends.counter(y.ctx.name, "acks_along") >= along + 20:
                break
        else:
            raise Skip("nobody answers soon enough here")
        y.sent_well([i])

    # Where just the last answer was not soon, nothing waits.
    for _ in range(20):
        take_turns()
        for i in range(20):
            y.recv(i, [inbox.sge()])
            x.send(i, SEND, [outbox.sge()])
            y.received_well([i])
            x.sent_well([i])
        if count("acks_late") > late:
            break
    else:
        raise Fail("no ACK waited in vain")
    equal(count("retransmits"), resent, "sent again")


@test("turns: no ACK waits for who waits for an ACK", rnr_timer=25)
def turns_crossed(_, x, y):
    """Where what y sent is not acknowledged yet, the peer's ACK goes at once."""
    if not (x.is_rove and y.is_rove):
        raise Skip("the other end is no rove")
    outbox, inbox = x.memory(64), y.memory(64)

    def ask(i):
        y.recv(i, [inbox.sge(32)])
        x.send(i, SEND, [outbox.sge(32, 32)])
        y.received_well([i])

    def count(name):
        return ends.counter(y.ctx.name, name)

    tried = 0
    for _ in range(100):
        along = count("acks_along")
        for i in range(64):
            if i < 63:
                x.recv(i, [outbox.sge(32)])
            ask(i)
            y.send(i, SEND, [inbox.sge(32, 32)])
            if i:
                y.sent_well([i - 1])
            if i < 63:
                x.received_well([i])
            x.sent_well([i])
        # The last answer finds no receive, and the next request comes before it is repeated.
        late, along = count("acks_late"), count("acks_along") - along
        ask(64)
        x.sent_well([64])
        equal(count("acks_late"), late, "ACKs that waited in vain")
        x.recv(63, [outbox.sge(32)])
        x.received_well([63])
        y.sent_well([63])
        tried += along > 0
        if tried == 5:
            return
    raise Skip("nobody answers soon enough here")


@test("reads at once: never more than agreed on", rd_atomic=1, dest_rd_atomic=1)
def few_reads(_, x, y):
    """All of them succeed nevertheless."""
    src, dst = y.memory(64 * 100), x.memory(64 * 100)
    src.set(pattern(6400))
    for i in range(64):
        x.send(i, READ, [dst.sge(100, 100 * i)], (src.addr + 100 * i, src.rkey))
    x.sent_well(range(64))
    same(dst.get(), pattern(6400), "data")


if __name__ == "__main__":
    ends.main(TESTS)
