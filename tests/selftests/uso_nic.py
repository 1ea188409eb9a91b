#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""uso_nic.py NETDEV NETDEV FILE: two NICs with UDP segmentation offload, and their wire.

The NICs are taps that take trains whole, as adapters with that offload do. What one of them
is given is cut here as hardware would, by lengths and offsets alone, without knowing what
is inside; checksums are filled in. Each frame goes to the other one, and to FILE (pcap).
Prints "ready"; when it is ended, how many trains it cut and into how many frames.
"""

import fcntl
import os
import select
import signal
import struct
import sys

TUNSETIFF, TUNSETOFFLOAD = 0x400454CA, 0x400454D0
IFF_TAP, IFF_NO_PI, IFF_VNET_HDR = 0x0002, 0x1000, 0x4000
TUN_F_CSUM, TUN_F_USO4, TUN_F_USO6 = 0x01, 0x20, 0x40
NEEDS_CSUM, GSO_NONE, GSO_UDP_L4 = 1, 0, 5
VNET_HDR = struct.Struct("=BBHHHH")
ETH_LEN, UDP_LEN = 14, 8


def open_tap(name):
    """A tap of this name with all that this program can do."""
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name.encode(),
                                           IFF_TAP | IFF_NO_PI | IFF_VNET_HDR))
    fcntl.ioctl(fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_USO4 | TUN_F_USO6)
    return fd


def folded(data, start=0):
    """The ones' complement sum of 16-bit words."""
    if len(data) % 2:
        data += b"\0"
    total = start + sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def pseudo_sum(frame):
    """Addresses and protocol, without the length."""
    if frame[12:14] == b"\x08\x00":
        return folded(frame[26:34], 17)
    return folded(frame[22:54], 17)


def piece(head, l4, number, payload):
    """One frame: @head, but for lengths, identification and checksums."""
    out = bytearray(head + payload)
    length = len(out) - l4
    if head[12:14] == b"\x08\x00":
        ident = struct.unpack_from(">H", head, 18)[0]
        struct.pack_into(">H", out, 16, len(out) - ETH_LEN)
        struct.pack_into(">H", out, 18, (ident + number) & 0xFFFF)
        struct.pack_into(">H", out, 24, 0)
        struct.pack_into(">H", out, 24, folded(bytes(out[ETH_LEN:l4])) ^ 0xFFFF)
    else:
        struct.pack_into(">H", out, 18, length)
    struct.pack_into(">HH", out, l4 + 4, length, 0)
    total = folded(bytes(out[l4:]), pseudo_sum(out) + length) ^ 0xFFFF
    struct.pack_into(">H", out, l4 + 6, total or 0xFFFF)
    return bytes(out)


def frames_of(packet):
    """What goes on the wire for what the stack gave, and whether that was a train."""
    flags, kind, _hdr_len, size, l4, at = VNET_HDR.unpack_from(packet)
    frame = packet[VNET_HDR.size:]
    if kind == GSO_UDP_L4:
        if not flags & NEEDS_CSUM or at != 6 or not size:
            raise SystemExit("a train without a checksum to fill in")
        head, data = frame[:l4 + UDP_LEN], frame[l4 + UDP_LEN:]
        return [piece(head, l4, i, data[i * size:(i + 1) * size])
                for i in range((len(data) + size - 1) // size)], True
    if kind != GSO_NONE:
        raise SystemExit(f"an offload of type {kind} that the NIC does not have")
    if flags & NEEDS_CSUM:
        # Of any protocol: the sum of the pseudo header is there already.
        total = folded(frame[l4:]) ^ 0xFFFF
        frame = frame[:l4 + at] + struct.pack(">H", total or 0xFFFF) + frame[l4 + at + 2:]
    return [frame], False


class Ended(Exception):
    """By a signal."""


def end(_number, _frame):
    """SIGTERM."""
    raise Ended


def run(taps, pcap):
    """Carry frames until ended; trains, frames of them."""
    trains = pieces = 0
    pcap.write(struct.pack("=IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    try:
        while True:
            for fd in select.select(list(taps), [], [])[0]:
                frames, is_train = frames_of(os.read(fd, 1 << 17))
                trains += is_train
                pieces += len(frames) * is_train
                for frame in frames:
                    pcap.write(struct.pack("=IIII", 0, 0, len(frame), len(frame)) + frame)
                    try:
                        os.write(taps[fd], VNET_HDR.pack(0, GSO_NONE, 0, 0, 0, 0) + frame)
                    except OSError:
                        pass    # it is down
    except Ended:
        return trains, pieces


def main():
    """Two taps and a wire."""
    signal.signal(signal.SIGTERM, end)
    x, y = open_tap(sys.argv[1]), open_tap(sys.argv[2])
    print("ready", flush=True)
    with open(sys.argv[3], "wb") as pcap:
        trains, pieces = run({x: y, y: x}, pcap)
    print(f"{trains} trains were cut into {pieces} frames")


if __name__ == "__main__":
    main()
