#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""seeds.py DIR: write the seed inputs of the fuzzers to DIR/<target>/."""

import os
import struct
import sys

# BTH opcode -> bytes of extended headers
EXT = {0x00: 0, 0x01: 0, 0x02: 0, 0x03: 4, 0x04: 0, 0x05: 4, 0x06: 16, 0x07: 0, 0x08: 0,
       0x09: 4, 0x0a: 16, 0x0b: 20, 0x0c: 16, 0x0d: 4, 0x0e: 0, 0x0f: 4, 0x10: 4, 0x11: 4,
       0x12: 12, 0x13: 28, 0x14: 28, 0x16: 4, 0x17: 4, 0x24: 0, 0x25: 4, 0x2a: 16,
       0x2b: 20, 0x64: 8, 0x65: 12, 0x81: 0}
NO_PAYLOAD = {0x0c, 0x11, 0x12, 0x13, 0x14}


def packet(opcode, payload, pad=0):
    bth = struct.pack(">BBHII", opcode, 0x40 | pad << 4, 0xffff, 0x11, 0x80000000 | 77)
    ext = bytes(range(1, EXT[opcode] + 1))
    return bth + ext + bytes(payload + pad) + b"icrc"


def parse_seeds():
    for opcode in EXT:
        size = 0 if opcode in NO_PAYLOAD else 16
        yield f"op-{opcode:02x}", packet(opcode, size)
    for pad in range(1, 4):
        yield f"pad-{pad}", packet(0x04, 8 - pad, pad)
    yield "pad-without-payload", packet(0x11, 0, 0)[:1] + b"\x70" + packet(0x11, 0)[2:]
    yield "full", packet(0x04, 4096)
    yield "too-long", packet(0x04, 4100)
    yield "short", packet(0x0a, 0)[:24]
    yield "unknown", b"\x15" + packet(0x04, 0)[1:]
    yield "version", b"\x04\x41" + packet(0x04, 0)[2:]


def sqe(op, flags, num, sges=(), data=b"", union=bytes(32)):
    head = struct.pack("=QBBHI", 0x1234, op, flags, num, 0) + union
    body = b"".join(struct.pack("=QII", *s) for s in sges) + data
    return (head + body).ljust(48 + 96, b"\0")


def ring(limits, prod, slots, head=0, changes=b""):
    shared = struct.pack("=II", prod, 0) + b"".join(slots)
    shared = shared.ljust(8 + 4 * 144 + 128 + 4 * 64, b"\0")
    return bytes(limits) + struct.pack("=I", head) + shared + changes


def ring_seeds():
    every = (88, 6, 0, 0xff)
    sge = (0x1000, 8, 1)
    yield "ops", ring(every, 4, [sqe(op, 1, 1, [sge]) for op in range(4)])
    yield "ops2", ring(every, 4, [sqe(op, 1, 1, [sge]) for op in range(4, 8)])
    yield "inline", ring(every, 1, [sqe(0, 9, 88, data=bytes(range(88)))])
    yield "sges", ring(every, 1, [sqe(3, 1, 6, [sge] * 6)])
    yield "ud", ring((88, 6, 1, 3), 1, [sqe(0, 1, 1, [sge])])
    yield "sum", ring(every, 1, [sqe(0, 0, 2, [(0, 0x80000000, 0)] * 2)])
    yield "prod", ring(every, 0xdeadbeef, [sqe(0, 0, 0)] * 4, head=0xfffffffe)
    # num of the first slot grows between two loads
    grow = struct.pack("=BHB", 0, 8 + 10, 200)
    yield "grow", ring(every, 1, [sqe(0, 0, 2, [sge] * 2)], changes=grow * 16)


def main():
    for target, seeds in (("parse", parse_seeds()), ("ring", ring_seeds())):
        folder = os.path.join(sys.argv[1], target)
        os.makedirs(folder, exist_ok=True)
        for name, data in seeds:
            with open(os.path.join(folder, name), "wb") as f:
                f.write(data)


if __name__ == "__main__":
    main()
