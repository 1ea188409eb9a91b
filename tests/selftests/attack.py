#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Packets that nobody should send, at a RoCE port.

usage: attack.py KIND SECONDS SOURCE TARGET [QPN...]

KIND: headers, lengths, icrc, reth, qpn, stranger, peer, noise6 (TARGET is IPv6
there), or all but the last two.  Prints how many packets of each kind went out.
Packets have a right ICRC unless that is the point.
"""

import os
import random
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "interop"))
from decode import icrc  # pylint: disable=wrong-import-position

PORT = 4791
BTH_LEN = 12
RNG = random.Random(4791)
EDGES32 = [0, 1, 3, 4, 255, 4096, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff]
EDGES64 = [0, 1, 4095, 1 << 31, 1 << 32, 1 << 63, 2 ** 64 - 1, 2 ** 64 - 8, 2 ** 64 - 4096]


def header_sum(header):
    """The checksum of an IPv4 header."""
    total = sum(struct.unpack("!10H", header))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def datagram(source, target, body, good=True):
    """IPv4 and UDP around a transport packet, with its ICRC."""
    udp_length = 8 + len(body) + 4
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + udp_length, RNG.randrange(1, 65536), 0x4000, 64,
                     17, 0, socket.inet_aton(source), socket.inet_aton(target))
    ip = ip[:10] + struct.pack("!H", header_sum(ip)) + ip[12:]
    packet = ip + struct.pack("!HHHH", RNG.randrange(49152, 65536), PORT, udp_length, 0) + body
    # Of less than the part that it covers there is none.
    check = icrc(packet, 20) if len(body) > 4 else noise(4)
    if not good:
        check = bytes([check[0] ^ RNG.randrange(1, 256)]) + check[1:]
    return packet + check


def bth(opcode, qpn, pad=0, version=0, psn=None, pkey=0xffff, ack=1):
    """A base transport header."""
    psn = RNG.randrange(1 << 24) if psn is None else psn
    return struct.pack("!BBHII", opcode, RNG.choice([0, 0x80, 0x40]) | pad << 4 | version, pkey,
                       qpn, ack << 31 | psn)


def noise(length):
    """Random bytes."""
    return RNG.randbytes(length)


def reth(length=None, iova=None):
    """An RDMA header that asks for the impossible."""
    return struct.pack("!QII", RNG.choice(EDGES64) if iova is None else iova, RNG.getrandbits(32),
                       RNG.choice(EDGES32) if length is None else length)


class Attack:
    """Makes packets of each kind, for ever."""

    def __init__(self, source, target, qpns):
        self.source, self.target = source, target
        self.qpns = qpns or [2]
        self.turn = 0

    def some_qpn(self):
        """One that is there, one that may be, or a special one."""
        return RNG.choice(self.qpns + [0, 1, 0xffffff, RNG.randrange(1 << 24)])

    def headers(self):
        """All opcodes, pads and versions, with and without payload."""
        self.turn += 1
        opcode = self.turn & 255
        body = bth(opcode, RNG.choice([0, 1, 0xffffff, RNG.randrange(2, 1 << 24)]),
                   self.turn >> 8 & 3, RNG.choice([0, 0, 0, 1, 15]))
        return datagram(self.source, self.target, body + noise(RNG.choice([0, 1, 4, 16, 28, 44])))

    def lengths(self):
        """0 to 60 bytes behind UDP, of every opcode."""
        self.turn += 1
        length = self.turn % 61
        # A whole header from the peer's address would be the peer's: a sequence
        # of PSNs out of order costs the connection its retries.
        qpn = self.some_qpn() if length < BTH_LEN else self.some_qpn_but_ours()
        whole = bth(RNG.randrange(256), qpn) + noise(48)
        return datagram(self.source, self.target, whole[:length])

    def icrc(self):
        """A wrong ICRC at a queue pair that is there: also from its very peer."""
        body = bth(RNG.choice([0, 4, 6, 10, 12, 17, 20, 100]), RNG.choice(self.qpns)) + reth() + noise(64)
        return datagram(self.source, self.target, body, False)

    def reth(self):
        """Lengths of 0 and 2^32 - 1, addresses near 2^64, reserved opcodes of later versions."""
        opcode = RNG.choice([0x06, 0x0a, 0x0b, 0x0c, 0x13, 0x14, 0x1c, 0x1d, 0x2a])
        body = bth(opcode, self.some_qpn_but_ours()) + reth() + noise(RNG.choice([0, 4, 12, 1024]))
        return datagram(self.source, self.target, body)

    def some_qpn_but_ours(self):
        """From a peer's address a right packet would be the peer's."""
        return RNG.choice([0, 1, 0xffffff, RNG.randrange(1 << 20, 1 << 24)])

    def qpn(self):
        """Right packets to queue pairs that are not there."""
        body = bth(RNG.choice([4, 10, 12, 17, 100]), RNG.randrange(1 << 20, 1 << 24)) + noise(64)
        return datagram(self.source, self.target, body)

    def stranger(self):
        """Right packets to queue pairs that are there, from an address that is not their peer."""
        source = self.source.rsplit(".", 1)[0] + f".{RNG.randrange(100, 200)}"
        body = bth(RNG.randrange(0x18), RNG.choice(self.qpns)) + reth(64) + noise(64)
        return datagram(source, self.target, body)

    def peer(self):
        """The same as if from the peer: whatever comes of the connection, nothing else may."""
        body = bth(RNG.randrange(256), RNG.choice(self.qpns), RNG.randrange(4)) + reth() + \
            noise(RNG.choice([0, 4, 16, 256, 1024]))
        return datagram(self.source, self.target, body)


def send(make, out, seconds):
    """As many as go out in this time."""
    sent = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in range(50):
            try:
                out(make())
                sent += 1
            except OSError:
                # No buffer space: the wire is full.
                time.sleep(0.001)
    return sent


def main():
    """One kind, or most."""
    kind, seconds, source, target = sys.argv[1], float(sys.argv[2]), sys.argv[3], sys.argv[4]
    attack = Attack(source, target, [int(word) for word in sys.argv[5:]])
    if kind == "noise6":
        sock = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        print("noise6", send(lambda: noise(RNG.randrange(0, 100)),
                             lambda data: sock.sendto(data, (target, PORT)), seconds))
        return
    kinds = ["headers", "lengths", "icrc", "reth", "qpn", "stranger"] if kind == "all" else [kind]
    sock = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    for name in kinds:
        print(name, send(getattr(attack, name), lambda data: sock.sendto(data, (target, PORT)),
                         seconds / len(kinds)), flush=True)


if __name__ == "__main__":
    main()
