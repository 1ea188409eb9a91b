#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""frames.py --mtu MTU --sums right|none [--from BYTE] FILE: what a NIC put on the wire.

FILE is a classic pcap file of Ethernet frames; with --from only what lies behind that
byte of it. Besides what decode.py checks of each RoCE packet: no IP packet is longer than
MTU, and UDP checksums are right, or all zero. Prints a line for each fault and the
number of packets; exit status 1 if there was a fault, or no packet.
"""

import argparse
import io
import struct
import sys

from decode import Bad, LINK_ETHERNET, decode_frame, fail, read_pcap, strip_link

PCAP_HEADER = 24
ETH_KINDS = (0x0800, 0x86DD)


def ones_sum(data):
    """The sum that IP's checksums are the complement of."""
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def check_udp_sum(kind, packet, sums):
    """Of a packet that decode.py is content with: neither options nor extension headers."""
    if kind == 0x0800:
        packet = packet[:struct.unpack_from(">H", packet, 2)[0]]
        addresses, udp = packet[12:20], packet[20:]
    else:
        packet = packet[:40 + struct.unpack_from(">H", packet, 4)[0]]
        addresses, udp = packet[8:40], packet[40:]
    stored = struct.unpack_from(">H", udp, 6)[0]
    if sums == "none":
        if stored:
            fail(f"UDP checksum {stored:#06x}, wanted none")
        return
    if not stored:
        fail("no UDP checksum")
    if ones_sum(addresses + struct.pack(">HH", 17, len(udp)) + udp) != 0xFFFF:
        fail(f"UDP checksum {stored:#06x} is wrong")


def check_frame(frame, args):
    """The length of the packet, if it is a RoCE packet, or 0."""
    kind, packet = strip_link(LINK_ETHERNET, frame)
    if kind not in ETH_KINDS:
        return 0
    # The padding of short frames is no packet.
    if len(packet) > args.mtu:
        fail(f"{len(packet)} bytes, the MTU is {args.mtu}")
    if not decode_frame(LINK_ETHERNET, frame):
        return 0
    check_udp_sum(kind, packet, args.sums)
    return len(packet)


def main():
    """Check and tell."""
    parser = argparse.ArgumentParser(description="Check the frames that a NIC sent.")
    parser.add_argument("--mtu", type=int, required=True)
    parser.add_argument("--sums", choices=("right", "none"), required=True)
    parser.add_argument("--from", dest="begin", type=int, default=PCAP_HEADER, metavar="BYTE")
    parser.add_argument("file")
    args = parser.parse_args()

    with open(args.file, "rb") as f:
        header = f.read(PCAP_HEADER)
        f.seek(max(args.begin, PCAP_HEADER))
        part = io.BytesIO(header + f.read())
    packets = faults = longest = 0
    for number, _link, frame in read_pcap(part):
        try:
            length = check_frame(frame, args)
        except Bad as why:
            faults += 1
            print(f"frame {number}: {why}")
            continue
        packets += length > 0
        longest = max(longest, length)
    print(f"{packets} packets, the longest of {longest} bytes, {faults} faults")
    return 1 if faults or not packets else 0


if __name__ == "__main__":
    sys.exit(main())
