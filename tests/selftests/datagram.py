#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Unreliable connections (UC) and datagrams (UD) by verbs: data, what a loss costs,
the GRH area, keys, address handles, errors and the way back from them."""

import errno
import ipaddress
import os
import struct
import subprocess
import time

from pyverbs import enums as e
from pyverbs.addr import AH, AHAttr, GID, GlobalRoute
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QPAttr
from pyverbs.wr import SGE, SendWR

import ends
from ends import (SIGNALED, Pair, Skip, check, equal, failed, pattern, refused, same, status_name,
                  wait_until)

SEND, WRITE, READ = e.IBV_WR_SEND, e.IBV_WR_RDMA_WRITE, e.IBV_WR_RDMA_READ
SEND_IMM, WRITE_IMM = e.IBV_WR_SEND_WITH_IMM, e.IBV_WR_RDMA_WRITE_WITH_IMM
ADD = e.IBV_WR_ATOMIC_FETCH_AND_ADD
MTU = 1024
GRH = 40
QKEY = 0x11223344
UC = {"type": e.IBV_QPT_UC}
UD = {"type": e.IBV_QPT_UD, "connect": False}
TESTS = []
test = ends.tester(TESTS)


def counter(end, name):
    """A statistic of the link."""
    try:
        return ends.counter(end.ctx.name, name)
    except FileNotFoundError as missing:
        raise Skip(f"no counter {name}") from missing


def settled(end):
    """Whatever was sent is there: what is sent on one machine takes no time."""
    del end
    time.sleep(0.05)


# ------------------------------------------------------------------------- UC

@test("UC: SEND and WRITE of every length, with and without immediate data", **UC)
def uc_data(_, x, y):
    """Data, length and the fields of the completion."""
    for seed, length in enumerate([0, 1, 3, MTU - 1, MTU, MTU + 1, 3 * MTU + 7, 65536, 300001]):
        src, dst = x.memory(length + 1, offset=seed), y.memory(length + 1)
        src.set(pattern(length, seed))
        sges = [src.sge(length)] if length else []
        for op in (SEND, SEND_IMM, WRITE_IMM, WRITE):
            dst.set(bytes(length + 1))
            if op != WRITE:
                y.recv(7, [dst.sge()] if op != WRITE_IMM else [])
            x.send(seed, op, sges, (dst.addr, dst.rkey) if op in (WRITE, WRITE_IMM) else None,
                   imm=0x01020304)
            x.sent_well([seed])
            if op == WRITE:
                check(wait_until(lambda d=dst, n=length, s=seed: d.get(n) == pattern(n, s)),
                      f"WRITE of {length} bytes does not come")
                continue
            wc = y.received_well([7])[0]
            equal(wc.byte_len, length, "length")
            equal(bool(wc.wc_flags & e.IBV_WC_WITH_IMM), op != SEND, "immediate data")
            # In a connection nobody needs it; rove tells it all the same.
            if y.is_rove:
                equal(wc.src_qp, x.qp.qp_num, "the sender's number")
            same(dst.get(length), pattern(length, seed), f"{length} bytes")
    y.nothing_more()


@test("UC: inline data", inline=64, **UC)
def uc_inline(_, x, y):
    """The buffer may be used at once."""
    src, dst = x.memory(64), y.memory(64)
    src.set(pattern(64))
    y.recv(1, [dst.sge()])
    x.send(1, SEND, [src.sge()], flags=SIGNALED | e.IBV_SEND_INLINE)
    src.set(bytes(64))
    y.received_well([1])
    same(dst.get(), pattern(64), "data")


@test("UC: the peer's buffers are too few or too small: that message is lost, no other", **UC)
def uc_no_buffer(_, x, y):
    """Nobody is told, but the counters; a receive serves the next message."""
    src, dst = x.memory(3 * MTU), y.memory(3 * MTU)
    none, fault = counter(y, "drop_no_rqe"), counter(y, "drop_fault")
    src.set(pattern(3 * MTU, 1))
    x.send(1, SEND, [src.sge()])
    x.sent_well([1])
    settled(y)
    equal(counter(y, "drop_no_rqe") - none, 1, "messages without a receive")
    y.recv(1, [dst.sge(2 * MTU + 100)])
    x.send(2, SEND, [src.sge()])
    x.sent_well([2])
    settled(y)
    y.nothing_more()
    equal(counter(y, "drop_fault") - fault, 1, "messages that do not fit")
    src.set(pattern(3 * MTU, 2))
    x.send(3, SEND, [src.sge(2 * MTU + 100)])
    x.sent_well([3])
    equal(y.received_well([1])[0].byte_len, 2 * MTU + 100, "length")
    same(dst.get(2 * MTU + 100), pattern(3 * MTU, 2)[:2 * MTU + 100], "data")
    equal((x.state(), y.state()), (e.IBV_QPS_RTS, e.IBV_QPS_RTS), "states")


@test("UC: a WRITE that is not allowed is lost, and breaks nothing", **UC)
def uc_bad_key(_, x, y):
    """As the peer could not be told."""
    src, dst = x.memory(3 * MTU), y.memory(3 * MTU)
    fault = counter(y, "drop_fault")
    src.set(pattern(3 * MTU))
    for i, (addr, rkey) in enumerate([(dst.addr, dst.rkey ^ 0x5500), (dst.addr + 1, dst.rkey)]):
        x.send(i, WRITE, [src.sge()], (addr, rkey))
        x.sent_well([i])
    settled(y)
    same(dst.get(), bytes(3 * MTU), "memory")
    check(counter(y, "drop_fault") - fault >= 2, "not counted")
    x.send(9, WRITE, [src.sge()], (dst.addr, dst.rkey))
    x.sent_well([9])
    check(wait_until(lambda: dst.get() == pattern(3 * MTU)), "the next one does not come")
    equal(y.state(), e.IBV_QPS_RTS, "state")


@test("UC: READ and atomics are refused", **UC)
def uc_no_read(_, x, y):
    """There is nothing that could answer."""
    src, dst = y.memory(8), x.memory(8)
    refused(errno.EINVAL, x.send, 1, READ, [dst.sge()], (src.addr, src.rkey))
    refused(errno.EINVAL, x.send, 1, ADD, [dst.sge()], (src.addr, src.rkey, 1, 0))


@test("UC: a send that fails leads to SQE, and back", **UC)
def uc_sqe(_, x, y):
    """What follows is flushed; receiving goes on; after SQE to RTS all is as before."""
    src, dst, back = x.memory(2 * MTU), y.memory(2 * MTU), x.memory(10)
    src.set(pattern(2 * MTU))
    y.recv(1, [dst.sge()])
    x.send(1, SEND, [SGE(src.addr, 10, src.lkey ^ 0x5500)])
    failed(x.sent(1), e.IBV_WC_LOC_PROT_ERR, None, [1], x.qp.qp_num)
    check(wait_until(lambda: x.state() == e.IBV_QPS_SQE), "state is not SQE")
    x.send(2, SEND, [src.sge(10)])
    failed(x.sent(1), e.IBV_WC_WR_FLUSH_ERR, None, [2], x.qp.qp_num)
    x.recv(5, [back.sge()])
    other = y.memory(10)
    other.set(pattern(10, 3))
    y.send(5, SEND, [other.sge()])
    x.received_well([5])
    same(back.get(), pattern(10, 3), "what came in SQE")
    x.to_state(e.IBV_QPS_RTS)
    x.send(3, SEND, [src.sge()])
    x.sent_well([3])
    y.received_well([1])
    same(dst.get(), pattern(2 * MTU), "data")


@test("UC: a receive that is wrong breaks its queue pair", **UC)
def uc_bad_recv(_, x, y):
    """With the receive's status; the sender knows nothing of it."""
    src, dst = x.memory(10), y.memory(10)
    y.recv(1, [SGE(dst.addr, 10, dst.lkey ^ 0x5500)])
    y.recv(2, [dst.sge()])
    x.send(1, SEND, [src.sge()])
    x.sent_well([1])
    failed(y.received(2), e.IBV_WC_LOC_PROT_ERR, e.IBV_WC_WR_FLUSH_ERR, [1, 2], y.qp.qp_num)
    equal(y.state(), e.IBV_QPS_ERR, "state")


def disturbed(*how):
    """The first end loses packets, one by one."""
    where = os.environ["NA"].split()
    netdev = os.environ["EA"]

    def run(*words):
        done = subprocess.run([*where, *words], capture_output=True, text=True, check=False)
        return done.returncode == 0

    if how:
        run("ethtool", "-K", netdev, "tx-udp-segmentation", "off")
        return run("tc", "qdisc", "add", "dev", netdev, "root", "netem", "limit", "20000", *how)
    run("tc", "qdisc", "del", "dev", netdev, "root")
    return run("ethtool", "-K", netdev, "tx-udp-segmentation", "on")


class Numbered:
    """Messages with their number all over."""

    def __init__(self, x, y, count, length):
        self.x, self.y, self.length = x, y, length
        self.src, self.dst = x.memory(length), y.memory(length * count)
        self.next = 0
        for i in range(count):
            y.recv(i, [self.dst.sge(length, length * i)])

    def text(self, number):
        """What message @number is."""
        return struct.pack("<I", number) * (self.length // 4)

    def send(self, numbers):
        """The numbers of those that came."""
        for i in numbers:
            self.src.set(self.text(i))
            self.x.send(i, SEND_IMM, [self.src.sge()], imm=i)
            self.x.sent_well([i])
        time.sleep(0.2)
        arrived = []
        for wc in self.y.rcq.poll(len(numbers))[1]:
            equal(status_name(wc.status), "SUCCESS", "status")
            equal(wc.wr_id, self.next, "receive")
            same(self.dst.get(self.length, self.length * self.next), self.text(wc.imm_data),
                 f"message {wc.imm_data}")
            self.next += 1
            arrived.append(wc.imm_data)
        check(all(a < b for a, b in zip(arrived, arrived[1:])), f"order: {arrived}")
        return arrived


@test("UC: under loss each message arrives whole and once, or not at all", recv_wr=256, cqe=512,
      **UC)
def uc_loss(_, x, y):
    """Gaps are counted, and nothing is sent again."""
    gaps, again = counter(y, "uc_psn_gaps"), counter(x, "retransmits")
    if not disturbed("loss", "2%"):
        raise Skip("no netem")
    messages = Numbered(x, y, 210, 8 * MTU)
    try:
        arrived = messages.send(range(200))
    finally:
        disturbed()
    check(20 < len(arrived) < 200, f"{len(arrived)} of 200 arrived")
    check(counter(y, "uc_psn_gaps") > gaps, "no gap was counted")
    equal(counter(x, "retransmits"), again, "retransmits")
    equal(messages.send(range(200, 210))[-9:], list(range(201, 210)), "without loss")


@test("UC: doubled and overtaken packets make no message come twice", recv_wr=256, cqe=512, **UC)
def uc_disorder(_, x, y):
    """Some are lost then."""
    if not disturbed("delay", "1ms", "reorder", "50%", "duplicate", "10%"):
        raise Skip("no netem")
    try:
        arrived = Numbered(x, y, 200, 2 * MTU).send(range(200))
    finally:
        disturbed()
    check(0 < len(arrived) <= 200, f"{len(arrived)} of 200 arrived")


@test("UC: attributes that it has not are refused", connect=False, **UC)
def uc_attributes(_, x, y):
    """Time-outs and outstanding reads belong to answers."""
    x.to_init()
    refused(errno.EINVAL, x.qp.modify, x.rtr_attr(y), x.mask(ends.RTR_MASK) |
            e.IBV_QP_MIN_RNR_TIMER)
    x.to_rtr(y)
    refused(errno.EINVAL, x.qp.modify, x.rts_attr(), x.mask(ends.RTS_MASK) | e.IBV_QP_TIMEOUT)
    x.to_rts()
    equal(x.state(), e.IBV_QPS_RTS, "state")


# ------------------------------------------------------------------------- UD

def ready(*sides, qkey=QKEY):
    """To RTS."""
    for end in sides:
        attr = QPAttr(qp_state=e.IBV_QPS_INIT, port_num=1)
        attr.qkey = qkey
        end.qp.modify(attr, e.IBV_QP_STATE | e.IBV_QP_PKEY_INDEX | e.IBV_QP_PORT | e.IBV_QP_QKEY)
        end.to_state(e.IBV_QPS_RTR)
        attr = QPAttr(qp_state=e.IBV_QPS_RTS)
        attr.sq_psn = 0x10
        end.qp.modify(attr, e.IBV_QP_STATE | e.IBV_QP_SQ_PSN)


def gid_of(end, kind):
    """The index of a GID: an IPv4 or a global IPv6 one."""
    for i in range(64):
        address = ipaddress.IPv6Address(str(end.ctx.query_gid(1, i)))
        if kind == "v4" and address.ipv4_mapped:
            return i
        if kind == "v6" and int(address) and not address.ipv4_mapped and \
                not address.is_link_local:
            return i
    raise Skip(f"no GID of kind {kind}")


def handle(end, peer, kind="v4", **route):
    """An address handle for @peer."""
    attr = GlobalRoute(dgid=GID(str(peer.ctx.query_gid(1, gid_of(peer, kind)))),
                       sgid_index=gid_of(end, kind), **route)
    return AH(end.pd, attr=AHAttr(gr=attr, is_global=1, port_num=1))


def send_to(end, wr_id, ah, peer, sges, op=SEND, imm=0, qkey=QKEY, flags=SIGNALED):
    """Post a datagram."""
    wr = SendWR(wr_id, op, len(sges) or 1, imm, sges or [SGE(0, 0, 0)], flags)
    wr.num_sge = len(sges)
    wr.set_wr_ud(ah, peer.qp.qp_num, qkey)
    end.qp.post_send(wr)


def parse_grh(area, kind):
    """Source, destination, traffic class, hop limit of what lies there."""
    if kind == "v6":
        word, length, proto, hops = struct.unpack(">IHBB", area[:8])
        equal(word >> 28, 6, "version")
        equal(proto, 17, "next header")
        return (ipaddress.IPv6Address(area[8:24]), ipaddress.IPv6Address(area[24:40]),
                word >> 20 & 0xff, hops, length, word & 0xfffff)
    same(area[:20], bytes(20), "before the IPv4 header")
    header = area[20:]
    equal(header[0], 0x45, "version and length")
    equal(header[9], 17, "protocol")
    return (ipaddress.IPv4Address(header[12:16]), ipaddress.IPv4Address(header[16:20]), header[1],
            header[8], struct.unpack(">H", header[2:4])[0] - 20, None)


def address(end, kind):
    """As an IP address."""
    gid = ipaddress.IPv6Address(str(end.ctx.query_gid(1, gid_of(end, kind))))
    return gid.ipv4_mapped if kind == "v4" else gid


def grh_is_right(x, y, kind):
    """The area in front of the datagram, and the handle that is made of it."""
    ready(x, y)
    src, dst = x.memory(500), y.memory(GRH + 500)
    src.set(pattern(500))
    label = 0xabcde if kind == "v6" else 0
    ah = handle(x, y, kind, traffic_class=0x68, hop_limit=33, flow_label=label)
    y.recv(1, [dst.sge()])
    send_to(x, 1, ah, y, [src.sge()], SEND_IMM, imm=0x01020304)
    x.sent_well([1])
    wc = y.received_well([1])[0]
    equal(wc.byte_len, GRH + 500, "length")
    check(wc.wc_flags & e.IBV_WC_GRH and wc.wc_flags & e.IBV_WC_WITH_IMM, "flags")
    equal(wc.imm_data, 0x01020304, "immediate data")
    equal(wc.src_qp, x.qp.qp_num, "the sender's number")
    # As adapters do: UDP, and the kind of header; UCX goes by it.
    if y.is_rove:
        equal(wc.sl, 0xa if kind == "v4" else 0x9, "kind of the datagram")
    same(dst.get(500, GRH), pattern(500), "data")
    source, dest, tclass, hops, length, flow = parse_grh(dst.get(GRH), kind)
    equal(source, address(x, kind), "source")
    equal(dest, address(y, kind), "destination")
    equal(tclass, 0x68, "traffic class")
    # The RDMA core puts that of the route in place of the user's.
    equal(hops, 64, "hop limit")
    equal(length, 8 + 12 + 8 + 4 + 500 + 4, "length in the header")
    if kind == "v6" and x.is_rove:
        equal(flow, label, "flow label")
    return wc, dst


@test("UD: GRH area and data over IPv4", **UD)
def ud_v4(_, x, y):
    """20 zero bytes and the IPv4 header."""
    grh_is_right(x, y, "v4")


@test("UD: GRH area and data over IPv6", **UD)
def ud_v6(_, x, y):
    """The IPv6 header."""
    grh_is_right(x, y, "v6")


def answered(x, y, kind):
    """An answer by way of the completion and the GRH area."""
    wc, area = grh_is_right(x, y, kind)
    back = AH(y.pd, wc=wc, grh=area.addr, port_num=1)
    src, dst = y.memory(9), x.memory(GRH + 9)
    src.set(pattern(9, 2))
    x.recv(4, [dst.sge()])
    send_to(y, 4, back, x, [src.sge()])
    y.sent_well([4])
    equal(x.received_well([4])[0].src_qp, y.qp.qp_num, "the sender's number")
    same(dst.get(9, GRH), pattern(9, 2), "answer")
    source = parse_grh(dst.get(GRH), kind)[0]
    equal(source, address(y, kind), "source of the answer")


@test("UD: an answer to where a datagram came from, IPv6", **UD)
def ud_back_v6(_, x, y):
    """ibv_create_ah_from_wc()."""
    answered(x, y, "v6")


@test("UD: an answer to where a datagram came from, IPv4", **UD)
def ud_back_v4(_, x, y):
    """The header is found where IPv4's is."""
    answered(x, y, "v4")


@test("UD: every length up to the path MTU, in and out of order of size", recv_wr=64, **UD)
def ud_lengths(_, x, y):
    """Each arrives as it was."""
    ready(x, y)
    ah = handle(x, y)
    lengths = [0, 1, 2, 3, 4095, 4096, 17, 4096, 4096, 64, 64, 64, 1, 2048]
    src, dst = x.memory(4096), y.memory(len(lengths) * 4200)
    src.set(pattern(4096))
    for i, length in enumerate(lengths):
        y.recv(i, [dst.sge(4200, 4200 * i)])
    for i, length in enumerate(lengths):
        send_to(x, i, ah, y, [src.sge(length)] if length else [])
    x.sent_well(range(len(lengths)))
    for i, wc in enumerate(y.received_well(range(len(lengths)))):
        equal(wc.byte_len, GRH + lengths[i], f"length of datagram {i}")
        same(dst.get(lengths[i], 4200 * i + GRH), pattern(4096)[:lengths[i]], f"datagram {i}")


@test("UD: datagrams for several peers in turn", recv_wr=256, send_wr=256, **UD)
def ud_peers(pair, x, y):
    """Each goes where it belongs, in order."""
    third = Pair(pair.names, **{**UD, "recv_wr": 256})
    try:
        ready(x, y, third.x, third.y)
        peers = [y, third.y, y, y, third.x]
        handles = {id(y): handle(x, y), id(third.y): handle(x, third.y, "v6"),
                   id(third.x): handle(x, third.x)}
        src = x.memory(250 * 8)
        boxes = {}
        for peer in (y, third.y, third.x):
            boxes[id(peer)] = peer.memory(250 * 64)
            for i in range(250):
                peer.recv(i, [boxes[id(peer)].sge(64, 64 * i)])
        wanted = {key: [] for key in boxes}
        for i in range(250):
            peer = peers[i % 5]
            src.set(struct.pack("<Q", i), 8 * i)
            send_to(x, i, handles[id(peer)], peer, [src.sge(8, 8 * i)],
                    flags=SIGNALED if i == 249 else 0)
            wanted[id(peer)].append(i)
        x.sent_well([249])
        for peer in (y, third.y, third.x):
            numbers = wanted[id(peer)]
            peer.received_well(range(len(numbers)))
            got = [struct.unpack("<Q", boxes[id(peer)].get(8, 64 * i + GRH))[0]
                   for i in range(len(numbers))]
            equal(got, numbers, "datagrams")
            peer.nothing_more()
    finally:
        third.close()


@test("UD: a wrong Q_Key is dropped and counted", **UD)
def ud_qkey(_, x, y):
    """The top bit asks for the queue pair's own."""
    ready(x)
    ready(y, qkey=QKEY + 1)
    src, dst = x.memory(8), y.memory(100)
    ah = handle(x, y)
    before = counter(y, "drop_qkey")
    violations = y.ctx.query_port(1).qkey_viol_cntr
    y.recv(1, [dst.sge()])
    send_to(x, 1, ah, y, [src.sge()])
    send_to(x, 2, ah, y, [src.sge()], qkey=0x80000000)
    x.sent_well([1, 2])
    settled(y)
    y.nothing_more()
    equal(counter(y, "drop_qkey") - before, 2, "counted")
    check(y.ctx.query_device().device_cap_flags & e.IBV_DEVICE_BAD_QKEY_CNTR,
          "the device does not say that it counts them")
    equal(y.ctx.query_port(1).qkey_viol_cntr - violations, 2, "counted for the port")
    send_to(x, 3, ah, y, [src.sge()], qkey=QKEY + 1)
    x.sent_well([3])
    y.received_well([1])


@test("UD: a buffer that is too small waits for the next one", **UD)
def ud_small(_, x, y):
    """And no buffer at all costs the datagram."""
    ready(x, y)
    src, dst = x.memory(100), y.memory(GRH + 50)
    ah = handle(x, y)
    none = counter(y, "drop_no_rqe")
    send_to(x, 1, ah, y, [src.sge()])
    x.sent_well([1])
    settled(y)
    equal(counter(y, "drop_no_rqe") - none, 1, "counted")
    y.recv(1, [dst.sge()])
    send_to(x, 2, ah, y, [src.sge()])
    x.sent_well([2])
    settled(y)
    y.nothing_more()
    send_to(x, 3, ah, y, [src.sge(50)])
    y.received_well([1])


@test("UD: a send that fails leads to SQE, and back", **UD)
def ud_sqe(_, x, y):
    """What follows is flushed; receiving goes on; after SQE to RTS all is as before."""
    ready(x, y)
    src, dst = x.memory(8192), y.memory(GRH + 50)
    ah, back = handle(x, y), handle(y, x)
    for wr_id, sge, status in ((1, SGE(src.addr, 10, src.lkey ^ 0x5500), e.IBV_WC_LOC_PROT_ERR),
                               (3, src.sge(8192), e.IBV_WC_LOC_LEN_ERR)):
        send_to(x, wr_id, ah, y, [sge])
        send_to(x, wr_id + 1, ah, y, [src.sge(10)])
        failed(x.sent(2), status, e.IBV_WC_WR_FLUSH_ERR, [wr_id, wr_id + 1], x.qp.qp_num)
        check(wait_until(lambda: x.state() == e.IBV_QPS_SQE), "state is not SQE")
        box = x.memory(100)
        x.recv(7, [box.sge()])
        send_to(y, 7, back, x, [dst.sge(5)])
        x.received_well([7])
        y.sent_well([7])
        x.to_state(e.IBV_QPS_RTS)
        y.recv(8, [dst.sge()])
        send_to(x, 8, ah, y, [src.sge(10)])
        x.sent_well([8])
        y.received_well([8])


@test("UD: a receive that is wrong breaks its queue pair", **UD)
def ud_bad_recv(_, x, y):
    """With the receive's status."""
    ready(x, y)
    src, dst = x.memory(10), y.memory(100)
    y.recv(1, [SGE(dst.addr, 100, dst.lkey ^ 0x5500)])
    y.recv(2, [dst.sge()])
    ah = handle(x, y)
    send_to(x, 1, ah, y, [src.sge()])
    x.sent_well([1])
    failed(y.received(2), e.IBV_WC_LOC_PROT_ERR, e.IBV_WC_WR_FLUSH_ERR, [1, 2], y.qp.qp_num)
    equal(y.state(), e.IBV_QPS_ERR, "state")


@test("UD: a handle of another protection domain is refused", **UD)
def ud_pd(_, x, y):
    """As the key of a region would be."""
    ready(x, y)
    other = ends.PD(x.ctx)
    src = x.memory(10)
    attr = GlobalRoute(dgid=GID(str(y.ctx.query_gid(1, gid_of(y, "v4")))),
                       sgid_index=gid_of(x, "v4"))
    ah = AH(other, attr=AHAttr(gr=attr, is_global=1, port_num=1))
    send_to(x, 1, ah, y, [src.sge()])
    failed(x.sent(1), e.IBV_WC_LOC_QP_OP_ERR, None, [1], x.qp.qp_num)
    ah.close()
    other.close()


@test("UD: 2,000 handles, each of them good", **UD)
def ud_handles(_, x, y):
    """They are limited by memory only."""
    ready(x, y)
    src, dst = x.memory(8), y.memory(100)
    handles = [handle(x, y) for _ in range(2000)]
    for ah in handles[::400] + handles[-1:]:
        y.recv(1, [dst.sge()])
        send_to(x, 1, ah, y, [src.sge()])
        x.sent_well([1])
        y.received_well([1])
    for ah in handles:
        ah.close()


@test("UD: READ, WRITE and atomics are refused", **UD)
def ud_ops(_, x, y):
    """At once."""
    ready(x, y)
    src = x.memory(8)
    for op in (WRITE, READ, WRITE_IMM):
        wr = SendWR(1, op, 1, 0, [src.sge()], SIGNALED)
        try:
            x.qp.post_send(wr)
        except PyverbsRDMAError as error:
            equal(error.error_code, errno.EINVAL, "refused with")
        else:
            check(False, f"operation {op} was accepted: {status_name(x.sent(1)[0].status)}")


if __name__ == "__main__":
    ends.main(TESTS)
