#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Shared receive queues: who takes what, limits, resizing, errors, what stays."""

import errno
import threading
import time

from pyverbs import enums as e
from pyverbs.addr import AH, AHAttr, GID, GlobalRoute
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.srq import SrqAttr
from pyverbs.wr import RecvWR, SendWR

import ends
from ends import SIGNALED, Fail, Pair, check, equal, pattern, refused, same, status_name

SEND, WRITE_IMM = e.IBV_WR_SEND, e.IBV_WR_RDMA_WRITE_WITH_IMM
QKEY = 0x11111111
TESTS = []


def test(name, pairs=1, **options):
    """A test on fresh pairs whose y ends share one queue of 64."""
    options.setdefault("y_srq", 64)

    def register(function):
        def run(names):
            made = [Pair(names, **options)]
            try:
                for _ in range(pairs - 1):
                    made.append(Pair(names, x_of=made[0].x, y_of=made[0].y, **options))
                function(*made)
            finally:
                for pair in reversed(made):
                    pair.close()
        TESTS.append((name, run))
        return function
    return register


def modify(srq, mask, **values):
    """Change some attributes."""
    srq.modify(SrqAttr(**values), mask)


def by_qp(wcs):
    """Completions in order, by number of the queue pair."""
    found = {}
    for wc in wcs:
        equal(status_name(wc.status), "SUCCESS", f"status of {wc.wr_id}")
        found.setdefault(wc.qp_num, []).append(wc)
    return found


@test("many queue pairs take from one queue", pairs=4)
def shared(*pairs):
    """Each request is taken once, in order, and each message is whole."""
    y = pairs[0].y
    dst = y.memory(64 * 3000)
    sources = [pair.x.memory(3000) for pair in pairs]
    for i, src in enumerate(sources):
        src.set(pattern(3000, i))
    for round_ in range(4):
        dst.set(bytes(64 * 3000))
        for i in range(64):
            y.recv(i, [dst.sge(1700, 3000 * i), dst.sge(1300, 3000 * i + 1700)])
        for i in range(64):
            pairs[i % 4].x.send(i, SEND, [sources[i % 4].sge(1 + (i * 47) % 3000)])
        wcs = y.received(64)
        equal(sorted(wc.wr_id for wc in wcs), list(range(64)), "requests")
        sent = {pair.y.qp.qp_num: [1 + (i * 47) % 3000 for i in range(64) if i % 4 == n]
                for n, pair in enumerate(pairs)}
        for qpn, got in by_qp(wcs).items():
            equal([wc.byte_len for wc in got], sent[qpn], f"lengths at queue pair {qpn}")
            who = [pair.y.qp.qp_num for pair in pairs].index(qpn)
            for wc in got:
                same(dst.get(3000, 3000 * wc.wr_id),
                     pattern(3000, who)[:wc.byte_len] + bytes(3000 - wc.byte_len),
                     f"message of {qpn} in round {round_}")
        pairs[0].x.sent(64)
    y.nothing_more()


@test("writes with immediate data take from it too", pairs=2)
def write_imm(one, two):
    """And leave the buffer alone."""
    y = one.y
    unused, dst = y.memory(64), y.memory(5000)
    src = one.x.memory(5000)
    src.set(pattern(5000))
    for i in (1, 2):
        y.recv(i, [unused.sge()])
    one.x.send(1, WRITE_IMM, [src.sge()], (dst.addr, dst.rkey), imm=5)
    one.x.sent_well([1])
    two.x.send(2, WRITE_IMM, [src.sge(9)], (dst.addr, dst.rkey), imm=6)
    wcs = y.received(2)
    equal([(wc.wr_id, wc.imm_data, wc.qp_num) for wc in wcs],
          [(1, 5, one.y.qp.qp_num), (2, 6, two.y.qp.qp_num)], "completions")
    same(unused.get(), bytes(64), "the receive's buffer")
    two.x.sent_well([2])


@test("an empty queue: RNR, and the message comes when there is one again")
def empty(pair):
    """The requester waits, and nothing is lost."""
    src, dst = pair.x.memory(100), pair.y.memory(100)
    src.set(pattern(100))
    pair.x.send(1, SEND, [src.sge()])
    pair.x.nothing_more(0.05)
    pair.y.recv(7, [dst.sge()])
    pair.x.sent_well([1])
    pair.y.received_well([7])
    same(dst.get(), pattern(100), "data")


@test("an empty queue: the RNR budget", rnr_retry=1, rnr_timer=1)
def empty_budget(pair):
    """The request fails, the queue is as it was."""
    src = pair.x.memory(10)
    pair.x.send(1, SEND, [src.sge()])
    equal(pair.x.sent()[0].status, e.IBV_WC_RNR_RETRY_EXC_ERR, "status")
    equal(pair.y.state(), e.IBV_QPS_RTS, "state of the receiver")


@test("more than it holds is refused")
def overflow(pair):
    """64 and no more; a slot is free as soon as a message took it."""
    dst = pair.y.memory(64)
    refused(errno.EINVAL, pair.y.recv, 99, [dst.sge()] * 5)
    for i in range(64):
        pair.y.recv(i, [dst.sge()])
    refused(errno.ENOMEM, pair.y.recv, 99, [dst.sge()])
    src = pair.x.memory(10)
    pair.x.send(1, SEND, [src.sge()])
    pair.x.sent_well([1])
    pair.y.recv(64, [dst.sge()])
    refused(errno.ENOMEM, pair.y.recv, 99, [dst.sge()])
    wr = RecvWR(1, 1, [dst.sge()])
    refused(errno.EINVAL, pair.y.qp.post_recv, wr)


def no_event(end):
    """None comes."""
    kind = end.async_event(0.05)
    check(kind in (None, e.IBV_EVENT_COMM_EST, e.IBV_EVENT_GID_CHANGE),
          f"an event that nobody waits for: {kind}")


@test("the limit is told once for each time that it is armed")
def limit(pair):
    """Below it, not at it; and not again."""
    x, y = pair.x, pair.y
    dst, src = y.memory(64), x.memory(10)
    for i in range(20):
        y.recv(i, [dst.sge()])
    modify(y.srq, e.IBV_SRQ_LIMIT, srq_limit=10)
    equal(y.srq.query().srq_limit, 10, "limit")
    for i in range(10):
        x.send(i, SEND, [src.sge()])
    y.received(10)
    no_event(y)
    equal(y.srq.query().srq_limit, 10, "limit")
    x.send(10, SEND, [src.sge()])
    check(y.has_event(e.IBV_EVENT_SRQ_LIMIT_REACHED), "no event below the limit")
    equal(y.srq.query().srq_limit, 0, "limit when it was told")
    x.send(11, SEND, [src.sge()])
    y.received(2)
    no_event(y)
    modify(y.srq, e.IBV_SRQ_LIMIT, srq_limit=8)
    x.send(12, SEND, [src.sge()])
    check(y.has_event(e.IBV_EVENT_SRQ_LIMIT_REACHED), "no event the second time")
    no_event(y)
    x.sent(13)


@test("the limit is told when it was armed too late")
def limit_late(pair):
    """Nothing is left, so nothing would ever be taken."""
    src = pair.x.memory(10)
    pair.x.send(1, SEND, [src.sge()])
    pair.x.nothing_more(0.02)
    modify(pair.y.srq, e.IBV_SRQ_LIMIT, srq_limit=1)
    check(pair.y.has_event(e.IBV_EVENT_SRQ_LIMIT_REACHED), "no event")
    dst = pair.y.memory(10)
    pair.y.recv(1, [dst.sge()])
    pair.x.sent_well([1])


@test("attributes that cannot be")
def bad_attributes(pair):
    """Nothing changes."""
    srq = pair.y.srq
    before = srq.query()
    refused(errno.EINVAL, lambda: modify(srq, e.IBV_SRQ_LIMIT, srq_limit=65))
    refused(errno.EINVAL, lambda: modify(srq, e.IBV_SRQ_MAX_WR, max_wr=0))
    refused(errno.EINVAL, lambda: modify(srq, e.IBV_SRQ_MAX_WR, max_wr=1 << 20))
    refused(errno.EINVAL, lambda: modify(srq, e.IBV_SRQ_MAX_WR | e.IBV_SRQ_LIMIT, max_wr=128,
                                         srq_limit=200))
    refused(errno.EINVAL, lambda: modify(srq, 0x10))
    after = srq.query()
    equal((after.max_wr, after.max_sge, after.srq_limit),
          (before.max_wr, before.max_sge, before.srq_limit), "attributes")
    refused(errno.EINVAL, lambda: pair.y.make_srq(1 << 20, 1))
    refused(errno.EINVAL, lambda: pair.y.make_srq(16, 1000))


@test("resized, nothing posted is lost")
def resize(pair):
    """Larger and smaller; less than what is posted is refused."""
    x, y = pair.x, pair.y
    dst, src = y.memory(1000), x.memory(10)
    for i in range(60):
        y.recv(i, [dst.sge(10, 10 * i)])
    for i in range(20):
        x.send(i, SEND, [src.sge()])
    y.received_well(range(20))
    x.sent(20)
    refused(errno.EINVAL, lambda: modify(y.srq, e.IBV_SRQ_MAX_WR, max_wr=32))
    modify(y.srq, e.IBV_SRQ_MAX_WR | e.IBV_SRQ_LIMIT, max_wr=100, srq_limit=2)
    equal((y.srq.query().max_wr, y.srq.query().srq_limit), (128, 2), "attributes")
    for i in range(60, 148):
        y.recv(i, [dst.sge(10)])
    refused(errno.ENOMEM, y.recv, 999, [dst.sge(10)])
    for i in range(20, 140):
        x.send(i, SEND, [src.sge()])
        y.received_well([i])
        x.sent_well([i])
    modify(y.srq, e.IBV_SRQ_MAX_WR, max_wr=8)
    refused(errno.ENOMEM, y.recv, 999, [dst.sge(10)])
    for i in range(140, 148):
        x.send(i, SEND, [src.sge()])
        y.received_well([i])
        x.sent_well([i])
    check(y.has_event(e.IBV_EVENT_SRQ_LIMIT_REACHED), "the limit did not move along")


@test("resized again and again while messages come in", pairs=3)
def resize_live(*pairs):
    """Every request is used once, in order of posting, whatever the size is."""
    y = pairs[0].y
    dst, src = y.memory(64), pairs[0].x.memory(32)
    total, stop, errors = 1500, threading.Event(), []

    def resizer():
        sizes = [64, 1024, 128, 2048, 256]
        n = 0
        try:
            while not stop.is_set():
                n += 1
                modify(y.srq, e.IBV_SRQ_MAX_WR, max_wr=sizes[n % len(sizes)])
                time.sleep(0.001)
        except Exception as error:  # pylint: disable=broad-except # told by the main thread
            errors.append(error)

    thread = threading.Thread(target=resizer)
    thread.start()
    try:
        posted = got = sent = done = 0
        seen = []
        while got < total:
            while posted < total and posted - got < 48:
                y.recv(posted, [dst.sge()])
                posted += 1
            while sent < total and sent - done < 48:
                pairs[sent % 3].x.send(sent, SEND, [src.sge()])
                sent += 1
            done += len(pairs[0].x.scq.poll(48)[1])
            number, wcs = y.rcq.poll(48)
            for wc in wcs:
                equal(status_name(wc.status), "SUCCESS", "status")
                seen.append(wc.wr_id)
            got += number
    finally:
        stop.set()
        thread.join()
    if errors:
        raise Fail(f"a resize failed: {errors[0]}")
    equal(sorted(seen), list(range(total)), "requests")
    y.nothing_more()


@test("the error state: what was taken is flushed, the rest stays", pairs=2)
def flush(one, two):
    """And the event says that there is no more."""
    y = one.y
    dst, src = y.memory(4096), two.x.memory(4000)
    for i in range(4):
        y.recv(i, [dst.sge()])
    y.to_state(e.IBV_QPS_ERR)
    check(y.has_event(e.IBV_EVENT_QP_LAST_WQE_REACHED), "no event")
    y.nothing_more(0.05)
    no_event(y)
    two.x.send(1, SEND, [src.sge()])
    equal(two.y.received_well([0])[0].qp_num, two.y.qp.qp_num, "queue pair")
    two.x.sent_well([1])
    # A second time, after a life in between.
    y.to_state(e.IBV_QPS_RESET)
    y.to_init()
    y.to_state(e.IBV_QPS_ERR)
    check(y.has_event(e.IBV_EVENT_QP_LAST_WQE_REACHED), "no event the second time")


@test("a message that does not fit breaks its queue pair only", pairs=2)
def too_long(one, two):
    """Local length error; the others go on with the next request."""
    y = one.y
    small, dst, src = y.memory(8), y.memory(100), one.x.memory(100)
    y.recv(0, [small.sge()])
    y.recv(1, [dst.sge()])
    one.x.send(1, SEND, [src.sge()])
    equal(one.x.sent()[0].status, e.IBV_WC_REM_INV_REQ_ERR, "status of the sender")
    wc = y.received()[0]
    equal((wc.wr_id, wc.status, wc.qp_num), (0, e.IBV_WC_LOC_LEN_ERR, one.y.qp.qp_num),
          "completion")
    check(y.has_event(e.IBV_EVENT_QP_LAST_WQE_REACHED), "no event")
    two.x.send(2, SEND, [src.sge()])
    y.received_well([1])
    two.x.sent_well([2])


@test("memory is checked against the domain of the shared queue")
def domains(pair):
    """Not against that of the queue pair."""
    x, y = pair.x, pair.y
    other = PD(y.ctx)
    srq = y.make_srq(16, 2, other)
    cap = QPCap(16, 16, 2, 2, 0)
    qp = QP(y.pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=y.scq, rcq=y.rcq, cap=cap, srq=srq))
    old, y.qp, y.srq = (y.qp, y.srq), qp, srq
    try:
        x.to_state(e.IBV_QPS_RESET)
        pair.connect()
        good = y.memory(100, pd=other)
        bad = y.memory(100)
        src = x.memory(100)
        src.set(pattern(100))
        y.recv(1, [good.sge()])
        x.send(1, SEND, [src.sge()])
        x.sent_well([1])
        y.received_well([1])
        same(good.get(), pattern(100), "data")
        y.recv(2, [bad.sge()])
        x.send(2, SEND, [src.sge()])
        equal(y.received()[0].status, e.IBV_WC_LOC_PROT_ERR, "status")
        same(bad.get(), bytes(100), "memory of another domain")
        del good, bad
    finally:
        qp.close()
        srq.close()
        y.qp, y.srq = old
        other.close()


def datagram_qp(end, srq):
    """In RTS, on a shared queue or not."""
    init = QPInitAttr(qp_type=e.IBV_QPT_UD, scq=end.scq, rcq=end.rcq,
                        cap=QPCap(16, 16, 1, 1, 0), srq=srq, sq_sig_all=1)
    attr = QPAttr(port_num=1)
    attr.qkey = QKEY
    return QP(end.pd, init, attr)


@test("datagrams take from it, beside connections")
def datagrams(pair):
    """With room for the GRH, in the order in which they come."""
    x, y = pair.x, pair.y
    sender, receiver = datagram_qp(x, None), datagram_qp(y, y.srq)
    route = GlobalRoute(dgid=GID(str(y.gid())), sgid_index=x.gid_index)
    ah = AH(x.pd, attr=AHAttr(gr=route, is_global=1, port_num=1))
    dst, src = y.memory(400), x.memory(100)
    src.set(pattern(100))
    try:
        for i in range(3):
            y.recv(i, [dst.sge(140, 130 * i)])
        wr = SendWR(1, SEND, 1, 0, [src.sge()], SIGNALED)
        wr.set_wr_ud(ah, receiver.qp_num, QKEY)
        sender.post_send(wr)
        x.sent_well([1])
        wc = y.received_well([0])[0]
        equal((wc.byte_len, wc.qp_num, wc.src_qp),
              (140, receiver.qp_num, sender.qp_num), "completion")
        same(dst.get(90, 40), pattern(100)[:90], "datagram")
        x.send(2, SEND, [src.sge()])
        equal(y.received_well([1])[0].qp_num, y.qp.qp_num, "queue pair")
        x.sent_well([2])
        receiver.modify(QPAttr(qp_state=e.IBV_QPS_ERR), e.IBV_QP_STATE)
        check(y.has_event(e.IBV_EVENT_QP_LAST_WQE_REACHED), "no event")
        y.nothing_more()
    finally:
        ah.close()
        sender.close()
        receiver.close()


if __name__ == "__main__":
    ends.main(TESTS)
