#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Data through a network that loses and reorders: nothing lost, nothing twice.

usage: verify.py DEVICE DEVICE GID-INDEX GID-INDEX ROUNDS

Writes, reads, sends and fetch-and-adds in flight together, both ways, each
checked against what a model says; atomics by the old values they bring back.
"""

import struct
import sys

from pyverbs import enums as e

from ends import Pair, equal, pattern, same

LENGTHS = [1, 13, 1024, 4097, 30000, 65536]
BIG = 1 << 20


def one_way(x, y, turn):
    """One round from x to y."""
    src, dst = x.memory(BIG), y.memory(BIG)
    inbox, home = y.memory(65536 * 4), x.memory(65536)
    was, total = x.memory(8 * 16), y.memory(8)
    src.set(pattern(BIG, turn))
    length = LENGTHS[turn % len(LENGTHS)]
    for i in range(4):
        y.recv(i, [inbox.sge(65536, 65536 * i)])

    posted = []

    def post(opcode, sge, remote=None):
        x.send(len(posted), opcode, [sge], remote)
        posted.append(opcode)

    for i in range(16):
        post(e.IBV_WR_ATOMIC_FETCH_AND_ADD, was.sge(8, 8 * i), (total.addr, total.rkey, 7, 0))
        if i % 4 == 0:
            post(e.IBV_WR_SEND, src.sge(length, 100 * i))
            at = i // 4 * (BIG // 4)
            post(e.IBV_WR_RDMA_WRITE, src.sge(BIG // 4, at), (dst.addr + at, dst.rkey))
    # After the writes: brings back what they wrote.
    post(e.IBV_WR_RDMA_READ, home.sge(), (dst.addr + BIG - 65536, dst.rkey))

    x.sent_well(range(len(posted)), 120)
    wcs = y.received_well(range(4), 60)
    for i, wc in enumerate(wcs):
        equal(wc.byte_len, length, f"length of message {i}")
        same(inbox.get(length, 65536 * i), src.get(length, 400 * i), f"message {i}")
    same(dst.get(), pattern(BIG, turn), "what was written")
    same(home.get(), pattern(BIG, turn)[-65536:], "what was read")
    olds = [struct.unpack("=Q", was.get(8, 8 * i))[0] for i in range(16)]
    equal(olds, [7 * i for i in range(16)], "old values of the atomics")
    equal(struct.unpack("=Q", total.get())[0], 7 * 16, "their sum")
    for memory in (src, dst, inbox, home, was, total):
        memory.check_guard()
        memory.mr.close()


def main():
    """All rounds on one connection."""
    pair = Pair(sys.argv[1:5], timeout=12, retry=7, mtu=e.IBV_MTU_4096)
    for turn in range(int(sys.argv[5])):
        one_way(pair.x, pair.y, turn)
        one_way(pair.y, pair.x, turn + 1)
    for end in (pair.x, pair.y):
        equal(end.state(), e.IBV_QPS_RTS, "state at the end")
        end.nothing_more()
    pair.close()
    print("all as it should be")


if __name__ == "__main__":
    main()
