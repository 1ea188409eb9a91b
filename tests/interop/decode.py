#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""decode.py FILE...: check every RoCEv2 packet of classic pcap files.

An independent reading of the wire format: nothing here comes from the module.
Prints one line of JSON (packets, packets by opcode, errors) and, for each packet
that is malformed or has a wrong ICRC, one line before it. Exit status 1 if there
was any. decode.py --self-test checks this program itself.
"""

import argparse
import collections
import json
import struct
import sys
import zlib

ROCE_PORT = 4791
LINK_ETHERNET, LINK_RAW, LINK_SLL, LINK_SLL2 = 1, 101, 113, 276
ETH_IPV4, ETH_IPV6 = 0x0800, 0x86DD
ETH_VLANS = (0x8100, 0x88A8, 0x9100)
IP_UDP, IP6_FRAGMENT = 17, 44
IP6_SKIP = (0, 43, 60)          # hop-by-hop, routing, destination options
BTH_LEN, ICRC_LEN, MTU_MAX, CNP_LEN = 12, 4, 4096, 16

# Extended headers and their lengths, in bytes.
EXT_LEN = {"DETH": 8, "RETH": 16, "AtomicETH": 28, "AETH": 4, "AtomicAckETH": 8,
           "ImmDt": 4, "IETH": 4}

Op = collections.namedtuple("Op", "name headers payload last")


def opcode_table():
    """BTH opcode -> Op, IBTA vol. 1 table 38."""
    rows = [
        # low bits, name, headers, payload, ends a message
        (0x00, "SEND_FIRST", (), True, False),
        (0x01, "SEND_MIDDLE", (), True, False),
        (0x02, "SEND_LAST", (), True, True),
        (0x03, "SEND_LAST_IMM", ("ImmDt",), True, True),
        (0x04, "SEND_ONLY", (), True, True),
        (0x05, "SEND_ONLY_IMM", ("ImmDt",), True, True),
        (0x06, "WRITE_FIRST", ("RETH",), True, False),
        (0x07, "WRITE_MIDDLE", (), True, False),
        (0x08, "WRITE_LAST", (), True, True),
        (0x09, "WRITE_LAST_IMM", ("ImmDt",), True, True),
        (0x0A, "WRITE_ONLY", ("RETH",), True, True),
        (0x0B, "WRITE_ONLY_IMM", ("RETH", "ImmDt"), True, True),
        (0x0C, "READ_REQUEST", ("RETH",), False, True),
        (0x0D, "READ_RESPONSE_FIRST", ("AETH",), True, False),
        (0x0E, "READ_RESPONSE_MIDDLE", (), True, False),
        (0x0F, "READ_RESPONSE_LAST", ("AETH",), True, True),
        (0x10, "READ_RESPONSE_ONLY", ("AETH",), True, True),
        (0x11, "ACK", ("AETH",), False, True),
        (0x12, "ATOMIC_ACK", ("AETH", "AtomicAckETH"), False, True),
        (0x13, "CMP_SWAP", ("AtomicETH",), False, True),
        (0x14, "FETCH_ADD", ("AtomicETH",), False, True),
        (0x16, "SEND_LAST_INV", ("IETH",), True, True),
        (0x17, "SEND_ONLY_INV", ("IETH",), True, True),
    ]
    table = {}
    for low, name, headers, payload, last in rows:
        table[low] = Op("RC_" + name, headers, payload, last)
        if low <= 0x0B:
            table[0x20 | low] = Op("UC_" + name, headers, payload, last)
        if low in (0x04, 0x05):
            table[0x60 | low] = Op("UD_" + name, ("DETH",) + headers, payload, last)
    table[0x81] = Op("CNP", (), True, True)
    return table


OPCODES = opcode_table()


class Bad(Exception):
    """A packet is not what it should be."""


def icrc(ip, l4):
    """The ICRC of a datagram: ip[:l4] are its IP headers, its end is the last byte of pad."""
    buf = bytearray(b"\xff" * 8 + ip)
    base = 8
    if ip[0] >> 4 == 4:
        buf[base + 1] = 0xFF                            # ToS
        buf[base + 8] = 0xFF                            # TTL
        buf[base + 10:base + 12] = b"\xff\xff"          # header checksum
    else:
        buf[base] |= 0x0F                               # traffic class, flow label
        buf[base + 1:base + 4] = b"\xff\xff\xff"
        buf[base + 7] = 0xFF                            # hop limit
    udp = base + l4
    buf[udp + 6:udp + 8] = b"\xff\xff"                  # UDP checksum
    buf[udp + 8 + 4] = 0xFF                             # FECN, BECN, reserved
    return struct.pack("<I", zlib.crc32(bytes(buf)))


def strip_link(link, frame):
    """Return (ethertype, bytes from the network header on)."""
    if link == LINK_RAW:
        kind = {4: ETH_IPV4, 6: ETH_IPV6}.get(frame[0] >> 4 if frame else 0, 0)
        return kind, frame
    at = {LINK_ETHERNET: 12, LINK_SLL: 14, LINK_SLL2: 0}[link]
    end = {LINK_ETHERNET: 14, LINK_SLL: 16, LINK_SLL2: 20}[link]
    if len(frame) < end:
        return 0, b""
    kind = struct.unpack_from(">H", frame, at)[0]
    while kind in ETH_VLANS and len(frame) >= end + 4:
        kind = struct.unpack_from(">H", frame, end + 2)[0]
        end += 4
    return kind, frame[end:]


def udp_of_ipv4(pkt):
    """Return (datagram cut to its length, offset of UDP), or None if it is not for us."""
    if len(pkt) < 20 or pkt[0] >> 4 != 4 or pkt[9] != IP_UDP:
        return None
    l4 = (pkt[0] & 15) * 4
    total, frag = struct.unpack_from(">HxxH", pkt, 2)
    if l4 < 20 or len(pkt) < l4 + 4 or total > len(pkt):
        return None if len(pkt) < l4 + 4 or not is_roce(pkt, l4) else fail("cut short")
    if frag & 0x1FFF:
        return None                                     # no UDP header in there
    if not is_roce(pkt, l4):
        return None
    if frag & 0x2000:
        fail("IP fragment")
    if l4 != 20:
        fail("IP options")
    return pkt[:total], l4


def udp_of_ipv6(pkt):
    """The same for IPv6."""
    if len(pkt) < 40 or pkt[0] >> 4 != 6:
        return None
    total = 40 + struct.unpack_from(">H", pkt, 4)[0]
    kind, l4 = pkt[6], 40
    while kind in IP6_SKIP and len(pkt) >= l4 + 8:
        kind, l4 = pkt[l4], l4 + 8 * (1 + pkt[l4 + 1])
    if kind == IP6_FRAGMENT and len(pkt) >= l4 + 12:
        first = not struct.unpack_from(">H", pkt, l4 + 2)[0] & 0xFFF8
        if pkt[l4] == IP_UDP and first and is_roce(pkt, l4 + 8):
            fail("IP fragment")
        return None
    if kind != IP_UDP or len(pkt) < l4 + 4 or not is_roce(pkt, l4):
        return None
    if total > len(pkt):
        fail("cut short")
    if l4 != 40:
        fail("IPv6 extension headers")
    return pkt[:total], l4


def fail(why):
    raise Bad(why)


def is_roce(pkt, l4):
    return struct.unpack_from(">H", pkt, l4 + 2)[0] == ROCE_PORT


def check_ip4_sum(pkt):
    words = struct.unpack_from(">10H", pkt)
    total = sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    if total != 0xFFFF:
        fail("IPv4 header checksum")


def decode_ext(name, raw):
    """The fields of an extended header."""
    if name == "RETH":
        va, rkey, length = struct.unpack(">QII", raw)
        return {"va": va, "rkey": rkey, "dma_len": length}
    if name == "AtomicETH":
        va, rkey, swap_add, compare = struct.unpack(">QIQQ", raw)
        if va % 8:
            fail(f"atomic at {va:#x}")
        return {"va": va, "rkey": rkey, "swap_add": swap_add, "compare": compare}
    if name == "AETH":
        word = struct.unpack(">I", raw)[0]
        kind, value = word >> 29, word >> 24 & 31
        if kind not in (0, 1, 3):
            fail(f"AETH syndrome {word >> 24:#04x}")
        if kind == 3 and value > 4:
            fail(f"NAK code {value}")
        return {"syndrome": word >> 24, "msn": word & 0xFFFFFF}
    if name == "AtomicAckETH":
        return {"orig": struct.unpack(">Q", raw)[0]}
    if name == "DETH":
        qkey, sqpn = struct.unpack(">II", raw)
        if sqpn >> 24:
            fail("reserved bits in DETH")
        return {"qkey": qkey, "sqpn": sqpn}
    return {name: struct.unpack(">I", raw)[0]}


def decode_bth(raw):
    opcode, flags, pkey, qpn, psn = struct.unpack_from(">BBHII", raw)
    if flags & 15:
        fail(f"transport version {flags & 15}")
    if opcode not in OPCODES:
        fail(f"opcode {opcode:#04x}")
    if psn >> 24 & 0x7F:
        fail("reserved bits in BTH")
    if qpn >> 24 & 0x3F:
        fail("reserved bits in BTH")
    return {"opcode": opcode, "se": flags >> 7, "migreq": flags >> 6 & 1, "pad": flags >> 4 & 3,
            "pkey": pkey, "dqpn": qpn & 0xFFFFFF, "becn": qpn >> 30 & 1,
            "ackreq": psn >> 31, "psn": psn & 0xFFFFFF}


def check_payload(opcode, op, pad, payload):
    """@payload: with its pad."""
    if not op.payload:
        if payload or pad:
            fail(f"{op.name} with {len(payload)} bytes of payload, pad {pad}")
        return
    if len(payload) % 4:
        fail(f"payload and pad of {len(payload)} bytes")
    if pad > len(payload):
        fail(f"pad {pad} in {len(payload)} bytes")
    if pad and not op.last:
        fail(f"{op.name} with pad {pad}")
    if not op.last and not payload:
        fail(f"{op.name} without payload")
    if len(payload) - pad > MTU_MAX:
        fail(f"payload of {len(payload) - pad} bytes")
    if pad and any(payload[-pad:]):
        fail("pad is not zero")
    if opcode == 0x81 and payload != bytes(CNP_LEN):
        fail("CNP reserved bytes")


def check_fields(op, pkt, length):
    """What the fields say of each other."""
    transport = pkt["opcode"] >> 5
    if transport in (1, 3) and pkt["ackreq"]:
        fail(f"{op.name} with AckReq")
    if "dma_len" in pkt and op.payload:
        if op.last and pkt["dma_len"] != length:
            fail(f"{op.name} of {length} bytes, RETH says {pkt['dma_len']}")
        if not op.last and pkt["dma_len"] <= length:
            fail(f"{op.name} of {length} bytes, RETH says {pkt['dma_len']}")
    if pkt["opcode"] in range(0x0D, 0x11) and pkt.get("syndrome", 0) >> 5:
        fail(f"{op.name} with a NAK")


def decode(pkt, l4):
    """Decode one datagram that starts with its IP header; raise Bad."""
    if len(pkt) < l4 + 8:
        fail("no UDP header")
    sport, _, ulen, _ = struct.unpack_from(">HHHH", pkt, l4)
    if ulen != len(pkt) - l4:
        fail(f"UDP length {ulen}, IP has {len(pkt) - l4}")
    body = pkt[l4 + 8:]
    if len(body) < BTH_LEN + ICRC_LEN:
        fail(f"{len(body)} bytes are no packet")
    want = icrc(pkt[:-ICRC_LEN], l4)
    if want != body[-ICRC_LEN:]:
        fail(f"ICRC {body[-ICRC_LEN:].hex()}, should be {want.hex()}")

    out = decode_bth(body)
    op = OPCODES[out["opcode"]]
    at, end = BTH_LEN, len(body) - ICRC_LEN
    for name in op.headers:
        if at + EXT_LEN[name] > end:
            fail(f"{op.name} too short for its {name}")
        out.update(decode_ext(name, body[at:at + EXT_LEN[name]]))
        at += EXT_LEN[name]
    check_payload(out["opcode"], op, out["pad"], body[at:end])
    check_fields(op, out, end - at - out["pad"])
    out.update(name=op.name, sport=sport, len=end - at - out["pad"])
    return out


def decode_frame(link, frame):
    """Return the fields of a RoCE packet, or None for anything else; raise Bad."""
    kind, pkt = strip_link(link, frame)
    found = None
    if kind == ETH_IPV4:
        found = udp_of_ipv4(pkt)
        if found:
            check_ip4_sum(pkt)
    elif kind == ETH_IPV6:
        found = udp_of_ipv6(pkt)
    return decode(*found) if found else None


def read_pcap(f):
    """Yield (number, link type, frame) of a classic pcap file."""
    head = f.read(24)
    order = {b"\xd4\xc3\xb2\xa1": "<", b"\x4d\x3c\xb2\xa1": "<",
             b"\xa1\xb2\xc3\xd4": ">", b"\xa1\xb2\x3c\x4d": ">"}.get(head[:4])
    if order is None or len(head) < 24:
        raise SystemExit("not a classic pcap file")
    link = struct.unpack_from(order + "I", head, 20)[0] & 0xFFFF
    if link not in (LINK_ETHERNET, LINK_RAW, LINK_SLL, LINK_SLL2):
        raise SystemExit(f"link type {link} is not known")
    number = 0
    while True:
        head = f.read(16)
        if len(head) < 16:
            return
        number += 1
        kept = struct.unpack_from(order + "I", head, 8)[0]
        yield number, link, f.read(kept)


def check_file(path, complain):
    """Return (packets, counts by opcode, errors)."""
    packets = errors = 0
    by_opcode = collections.Counter()
    with open(path, "rb") as f:
        for number, link, frame in read_pcap(f):
            try:
                pkt = decode_frame(link, frame)
            except Bad as why:
                packets += 1
                errors += 1
                complain(f"{path}: packet {number}: {why}")
                continue
            if pkt:
                packets += 1
                by_opcode[pkt["name"]] += 1
    return packets, by_opcode, errors


VECTORS = [
    ("45010040047840004011b4d5c0a80007c0a80007" "c00012b7002caca2"
     "2460ffff000000d300cf1710" "4630818be28935d90e9a95505401be885e500000", 20, "78f353f3"),
    ("6e21face002c11ff20220000000000000000000000001023" "20230000000000000000000000001024"
     "c00012b7002caca2" "2460ffff000000d300cf1710"
     "4630818be28935d90e9a95505401be885e500000", 40, "3e5b743b"),
    ("45c2003c718c4000401191610a0011010a001201" "000012b700280000" "8100ffff4000011800000000"
     "00000000000000000000000000000000", 20, "82fd002a"),
]


def pcap(link, frames, order="<"):
    out = struct.pack(order + "IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link)
    for frame in frames:
        out += struct.pack(order + "IIII", 0, 0, len(frame), len(frame)) + frame
    return out


def datagram(transport, ulen_more=0, vary=()):
    """An IPv4 datagram with a right ICRC around BTH to pad; @vary: (offset, byte) later."""
    ulen = 8 + len(transport) + ICRC_LEN
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + ulen, 7, 0x4000, 64, 17, 0,
                     b"\x0a\x00\x00\x01", b"\x0a\x00\x00\x02")
    total = sum(struct.unpack(">10H", ip))
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    ip = ip[:10] + struct.pack(">H", total ^ 0xFFFF) + ip[12:]
    pkt = ip + struct.pack(">HHHH", 50000, ROCE_PORT, ulen + ulen_more, 0) + transport
    pkt = bytearray(pkt + icrc(pkt, 20))
    for at, value in vary:
        pkt[at] = value
    return bytes(pkt)


def bth(opcode, pad=0, version=0, psn=1):
    return struct.pack(">BBHII", opcode, 0x40 | pad << 4 | version, 0xFFFF, 0x11, psn)


def good_packets():
    for code, op in OPCODES.items():
        ext = b""
        for name in op.headers:
            ext += bytes(12) + struct.pack(">I", 16 if op.last else 99) if name == "RETH" else \
                bytes(EXT_LEN[name])
        yield datagram(bth(code) + ext + (bytes(16) if op.payload else b""))


def bad_packets():
    eight = bytes(8)
    yield "opcode", datagram(bth(0x15) + eight)
    yield "version", datagram(bth(0x04, version=1) + eight)
    yield "pad is not zero", datagram(bth(0x04, pad=1) + b"\xff" * 8)
    yield "with pad", datagram(bth(0x00, pad=1) + eight)
    yield "pad 3 in 0", datagram(bth(0x04, pad=3))
    yield "payload and pad of 7", datagram(bth(0x04) + bytes(7))
    yield "payload of 4100", datagram(bth(0x04) + bytes(4100))
    yield "ACK with 8 bytes", datagram(bth(0x11) + bytes(4) + eight)
    yield "too short for its RETH", datagram(bth(0x0C) + eight)
    yield "RETH says", datagram(bth(0x0A) + bytes(12) + b"\0\0\0\x09" + eight)
    yield "syndrome", datagram(bth(0x11) + b"\x40\0\0\0")
    yield "NAK code", datagram(bth(0x11) + b"\x65\0\0\0")
    yield "CNP", datagram(bth(0x81) + bytes(12))
    yield "AckReq", datagram(bth(0x24, psn=1 << 31) + eight)
    yield "UDP length", datagram(bth(0x04) + eight, ulen_more=4)
    yield "header checksum", datagram(bth(0x04) + eight, vary=[(8, 1)])
    yield "ICRC", datagram(bth(0x04) + eight, vary=[(41, 1)])
    yield "ICRC", datagram(bth(0x04) + eight, vary=[(20, 1)])
    yield "no packet", datagram(bth(0x04)[:8])
    yield "cut short", datagram(bth(0x04) + eight)[:-2]


def self_test():
    """Return the number of failures."""
    failures = []

    def expect(what, ok):
        if not ok:
            failures.append(what)
            print(f"self-test: {what}")

    def result(frame, link=LINK_RAW):
        try:
            return decode_frame(link, frame)
        except Bad as why:
            return str(why)

    for packet, l4, want in VECTORS:
        raw = bytes.fromhex(packet)
        expect(f"vector {want}", icrc(raw, l4).hex() == want)
        for at in range(len(raw)):
            changed = raw[:at] + bytes([raw[at] ^ 0x10]) + raw[at + 1:]
            if at != 0:
                free = {20: (1, 8, 10, 11, 26, 27, 32), 40: (1, 2, 3, 7, 46, 47, 52)}[l4]
                expect(f"byte {at} of {want}", (icrc(changed, l4).hex() == want) == (at in free))
    # the ICRC of the captured packet does not hide what else is looked at
    whole = bytes.fromhex(VECTORS[2][0] + VECTORS[2][2])
    expect("CNP", isinstance(result(whole), dict) and result(whole)["dqpn"] == 0x118)

    good = list(good_packets())
    for frame in good:
        expect(f"opcode {frame[28]:#04x}: {result(frame)}", isinstance(result(frame), dict))
    for why, frame in bad_packets():
        expect(f"{why}: {result(frame)}", why in str(result(frame)))

    eth, vlan = bytes(12) + b"\x08\x00", bytes(12) + b"\x81\x00\x00\x05\x88\xa8\0\0\x08\x00"
    sll2 = b"\x08\x00" + bytes(18)
    for link, head in ((LINK_ETHERNET, eth), (LINK_ETHERNET, vlan),
                       (LINK_SLL, bytes(14) + b"\x08\x00"), (LINK_SLL2, sll2)):
        expect(f"link {link}", isinstance(result(head + good[0] + bytes(6), link), dict))
    expect("not for us", result(eth + good[0][:22] + b"\0\x35" + good[0][24:], LINK_ETHERNET) is None)
    v6 = bytes.fromhex(VECTORS[1][0] + VECTORS[1][2])
    expect("IPv6", isinstance(result(bytes(12) + b"\x86\xdd" + v6, LINK_ETHERNET), dict))
    failures += self_test_file(good)
    return len(failures)


def self_test_file(good):
    import os
    import tempfile
    failures = []
    for order in "<>":
        with tempfile.NamedTemporaryFile(delete=False) as f:
            f.write(pcap(LINK_RAW, good + [good[0][:-1] + b"\0"], order))
        said = []
        packets, by_opcode, errors = check_file(f.name, said.append)
        os.unlink(f.name)
        if (packets, len(by_opcode), errors, len(said)) != (len(good) + 1, len(good), 1, 1):
            failures.append(order)
            print(f"self-test: file {order}: {packets} {dict(by_opcode)} {errors}")
    return failures


def main():
    parser = argparse.ArgumentParser(description="Check the RoCEv2 packets of pcap files.")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--at-least", type=int, default=0, metavar="N",
                        help="fewer packets than that are an error")
    parser.add_argument("file", nargs="*")
    args = parser.parse_args()
    if args.self_test:
        failures = self_test()
        print(f"self-test: {failures} failures")
        return 1 if failures else 0
    if not args.file:
        parser.error("no file")

    packets = errors = 0
    by_opcode = collections.Counter()
    for path in args.file:
        n, ops, bad = check_file(path, print)
        packets += n
        by_opcode += ops
        errors += bad
    if packets < args.at_least:
        errors += 1
        print(f"{packets} packets, expected {args.at_least}")
    print(json.dumps({"packets": packets, "by_opcode": dict(sorted(by_opcode.items())),
                      "errors": errors}))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
