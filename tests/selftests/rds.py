#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Reliable datagrams (RDS) over RDMA: messages, and transfers straight into memory.

usage: rds.py ADDRESS ADDRESS TEST

Both ends are sockets of this process.  Each is told to use the transport of InfiniBand
and no other.
"""

import ctypes
import errno
import mmap
import random
import select
import socket
import struct
import sys

AF_RDS, SOL_RDS = 21, 276
SO_RDS_TRANSPORT, TRANS_IB = 8, 0
CMSG_RDMA_ARGS, CMSG_RDMA_DEST, CMSG_RDMA_MAP, CMSG_RDMA_STATUS = 1, 2, 3, 4
READWRITE, USE_ONCE, NOTIFY_ME = 1, 8, 0x20
PORT = 4000
LARGEST = 1 << 20


class End:
    """A socket, its address, and the address of its peer."""

    def __init__(self, address, peer, port=PORT):
        self.peer = (peer, port)
        self.socket = socket.socket(AF_RDS, socket.SOCK_SEQPACKET, 0)
        self.socket.setsockopt(SOL_RDS, SO_RDS_TRANSPORT, TRANS_IB)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * LARGEST)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * LARGEST)
        self.socket.bind((address, port))
        self.socket.setblocking(False)

    def wait(self, what):
        """For poll's POLLIN or POLLOUT."""
        poll = select.poll()
        poll.register(self.socket, what)
        if not poll.poll(60000):
            sys.exit("nothing for a minute")

    def send(self, data):
        """As soon as there is room."""
        while True:
            try:
                return self.socket.sendto(data, self.peer)
            except OSError as e:
                if e.errno not in (errno.EAGAIN, errno.ENOBUFS):
                    raise
                self.wait(select.POLLOUT)

    def receive(self):
        """The next message."""
        while True:
            try:
                return self.socket.recvfrom(LARGEST + 1)
            except BlockingIOError:
                self.wait(select.POLLIN)


def same(got, wanted, what):
    """Names the first byte that is not."""
    if got == wanted:
        return
    at = next((i for i, pair in enumerate(zip(got, wanted)) if pair[0] != pair[1]), None)
    sys.exit(f"{what}: {len(got)} bytes, wanted {len(wanted)}; the first wrong one: {at}")


def messages(x, y):
    """Of all sizes, both ways at once, in order."""
    pick = random.Random(5)
    for size in [1, 2, 4095, 4096, 4097, LARGEST] + [pick.randrange(1, 100000) for _ in range(300)]:
        one, two = pick.randbytes(size), pick.randbytes(pick.randrange(1, 5000))
        x.send(one)
        x.send(two)
        y.send(two)
        for wanted in (one, two):
            got, sender = y.receive()
            same(got, wanted, f"message of {size}")
            if sender != y.peer:
                sys.exit(f"from {sender}, wanted {y.peer}")
        same(x.receive()[0], two, "message back")


def backlog(x, y):
    """Many before any is taken, until there is congestion; then all in order."""
    sent = 0
    try:
        while sent < 4000:
            x.socket.sendto(struct.pack("=I", sent) + bytes([sent & 255]) * 5000, x.peer)
            sent += 1
    except OSError as e:
        if e.errno not in (errno.EAGAIN, errno.ENOBUFS):
            raise
    for i in range(sent):
        same(y.receive()[0], struct.pack("=I", i) + bytes([i & 255]) * 5000, f"message {i}")
    if sent < 100:
        sys.exit(f"only {sent} were taken")
    print(f"{sent} messages waited")


class Memory:
    """Pages whose address the kernel is told."""

    def __init__(self, size):
        self.map = mmap.mmap(-1, size)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.map))


def map_for(end, other, memory, offset, length):
    """Tells the other end by a message how to reach these bytes; the cookie it gets."""
    unused = ctypes.c_uint64()
    args = struct.pack("=QQQQ", memory.address + offset, length, ctypes.addressof(unused),
                       USE_ONCE | READWRITE)
    while True:
        try:
            end.socket.sendmsg([b"here"], [(SOL_RDS, CMSG_RDMA_MAP, args)], 0, end.peer)
            break
        except BlockingIOError:
            end.wait(select.POLLOUT)
    while True:
        other.wait(select.POLLIN)
        try:
            data, control = other.socket.recvmsg(10, 1000)[:2]
        except BlockingIOError:
            continue
        if data:
            break
    cookies = [x for level, kind, x in control if (level, kind) == (SOL_RDS, CMSG_RDMA_DEST)]
    if data != b"here" or len(cookies) != 1:
        sys.exit(f"{data} and {control}, wanted a cookie")
    return struct.unpack("=Q", cookies[0])[0]


def transfer(end, cookie, memory, offset, length, write):
    """An RDMA by cookie, and a message that follows it; waits until it has been done."""
    local = struct.pack("=QQ", memory.address + offset, length)
    vec = ctypes.create_string_buffer(local)
    flags = NOTIFY_ME | (READWRITE if write else 0)
    args = struct.pack("=QQQQQQQ", cookie, 0, length, ctypes.addressof(vec), 1, flags, length)
    while True:
        try:
            end.socket.sendmsg([b"done"], [(SOL_RDS, CMSG_RDMA_ARGS, args)], 0, end.peer)
            break
        except BlockingIOError:
            end.wait(select.POLLOUT)
    while True:
        end.wait(select.POLLIN | select.POLLERR)
        try:
            control = end.socket.recvmsg(10, 1000)[1]
        except BlockingIOError:
            continue
        for level, kind, data in control:
            if (level, kind) == (SOL_RDS, CMSG_RDMA_STATUS):
                token, status = struct.unpack_from("=Qi", data)
                if (token, status) != (length, 0):
                    sys.exit(f"RDMA of {token} bytes: status {status}")
                return


def rdma(x, y):
    """Written and read by memory keys, as databases do."""
    pick = random.Random(6)
    near, far = Memory(LARGEST * 2), Memory(LARGEST * 2)
    # The way is made by the first message; keys are made for a way that there is.
    y.send(b"hello")
    x.receive()
    for turn in range(60):
        length = pick.choice((1, 100, 4096, 65536, LARGEST, pick.randrange(1, LARGEST)))
        here, there = pick.randrange(LARGEST), pick.randrange(LARGEST)
        write = turn % 2 == 0
        near.map[:] = pick.randbytes(LARGEST * 2)
        far.map[:] = pick.randbytes(LARGEST * 2)
        to, at, source, start = (far, there, near, here) if write else (near, here, far, there)
        wanted = bytearray(to.map)
        wanted[at:at + length] = source.map[start:start + length]
        cookie = map_for(y, x, far, there, length)
        transfer(x, cookie, near, here, length, write)
        same(y.receive()[0], b"done", "message after it")
        same(to.map[:], wanted, f"{'write' if write else 'read'} of {length}")


def main():
    """See above."""
    one, two, test = sys.argv[1:]
    x, y = End(one, two), End(two, one)
    {"messages": messages, "backlog": backlog, "rdma": rdma}[test](x, y)


if __name__ == "__main__":
    main()
