#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Shared memory communications: stream sockets that take the way of RDMA by themselves.

usage: smc.py server ADDRESS COUNT
       smc.py client ADDRESS COUNT [tcp]
       smc.py eid add|remove NAME

The client makes COUNT connections and says what they are made of: "tcp" is what it
then expects, where otherwise RDMA is.  Everything that it sends comes back.

Version 2 of the protocol, which is that of routable RoCE, needs both hosts to belong
to the same group: its name (EID) is set through generic netlink.
"""

import hashlib
import os
import select
import socket
import struct
import sys

AF_SMC = 43
PORT = 7700
TOTAL = 6 << 20

NETLINK_SOCK_DIAG, NETLINK_GENERIC = 4, 16
NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP = 1, 4, 0x300
NLMSG_ERROR, NLMSG_DONE = 2, 3
SOCK_DIAG_BY_FAMILY = 20
DIAG_LGRINFO, DIAG_FALLBACK = 2, 5
MODES = {0: "SMC-R", 1: "TCP", 2: "SMC-D"}
GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME = 16, 3, 1, 2
GET_LGR_SMCR, ADD_UEID, REMOVE_UEID, UEID_ENTRY = 2, 10, 11, 1
LGR_SMCR, LGR_V2_COMMON, LGR_V2_VERSION = 2, 7, 0


# ---------------------------------------------------------------------- netlink

def attributes(data):
    """The attributes in some bytes, by their type."""
    found = {}
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        if length < 4:
            break
        found[kind & 0x3fff] = data[4:length]
        data = data[(length + 3) & ~3:]
    return found


def netlink(protocol, kind, payload, dump=False):
    """One request; the payloads of what came back."""
    answers = []
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol) as s:
        s.settimeout(20)
        flags = NLM_F_REQUEST | (NLM_F_DUMP if dump else NLM_F_ACK)
        s.send(struct.pack("=IHHII", 16 + len(payload), kind, flags, 1, 0) + payload)
        while True:
            data = s.recv(65536)
            while len(data) >= 16:
                length, got = struct.unpack_from("=IH", data)
                body, data = data[16:length], data[(length + 3) & ~3:]
                if got == NLMSG_DONE:
                    return answers
                if got == NLMSG_ERROR:
                    code = -struct.unpack_from("=i", body)[0]
                    if code:
                        raise OSError(code, os.strerror(code))
                    return answers
                answers.append(body)


def genl(family, command, attribute=b"", dump=False):
    """A request to a family of generic netlink."""
    return [attributes(body[4:]) for body in
            netlink(NETLINK_GENERIC, family, struct.pack("=BBH", command, 1, 0) + attribute, dump)]


def attribute(kind, data):
    """An attribute as it is sent."""
    return struct.pack("=HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


def smc_family():
    """The number that the kernel gave to the family."""
    name = attribute(CTRL_ATTR_FAMILY_NAME, b"SMC_GEN_NETLINK\0")
    answer = genl(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, name)[0]
    return struct.unpack("=H", answer[CTRL_ATTR_FAMILY_ID])[0]


def eid(what, name):
    """The group that this host belongs to, or does not any more."""
    command = {"add": ADD_UEID, "remove": REMOVE_UEID}[what]
    genl(smc_family(), command, attribute(UEID_ENTRY, name.ljust(32).encode() + b"\0"))


def versions():
    """Of the protocol, in use by link groups over RDMA."""
    found = []
    for answer in genl(smc_family(), GET_LGR_SMCR, dump=True):
        group = attributes(answer[LGR_SMCR])
        common = attributes(group.get(LGR_V2_COMMON, b""))
        found.append(common[LGR_V2_VERSION][0] if common else 1)
    return found


def connection(s):
    """What a connection is made of: mode, and device or why there is none."""
    ports = (s.getsockname()[1], s.getpeername()[1])
    ext = 1 << (DIAG_LGRINFO - 1) | 1 << (DIAG_FALLBACK - 1)
    request = struct.pack("=BBBB48x", AF_SMC, 0, 0, ext)
    for body in netlink(NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, request, dump=True):
        mode = body[2]
        if struct.unpack_from("!HH", body, 4) != ports:
            continue
        more = attributes(body[64 + 8:])
        if mode == 0:
            return MODES[mode], more[DIAG_LGRINFO][1:65].split(b"\0")[0].decode()
        return MODES[mode], more.get(DIAG_FALLBACK, b"").hex()
    raise SystemExit("the kernel does not know the connection")


# ---------------------------------------------------------------------- the data

def smc_socket(address):
    """Python knows no addresses of this family; they are those of IP."""
    six = ":" in address
    s = socket.socket(AF_SMC, socket.SOCK_STREAM, 1 if six else 0)
    return socket.socket(socket.AF_INET6 if six else socket.AF_INET, socket.SOCK_STREAM, 0,
                         fileno=s.detach())


def data_of(turn):
    """The same at both ends, and different for each connection."""
    return hashlib.shake_128(str(turn).encode()).digest(TOTAL + turn)


def serve(address, count):
    """Sends back what comes, in pieces of all sizes."""
    s = smc_socket(address)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((address, PORT))
    s.listen(8)
    print("listening", flush=True)
    for turn in range(count):
        c = s.accept()[0]
        got = 0
        while True:
            piece = c.recv(1 + (got * 7919) % 150000)
            if not piece:
                break
            c.sendall(piece)
            got += len(piece)
        print(f"connection {turn}: {got} bytes")
        c.close()


def exchange(s, data):
    """Sends and receives at the same time."""
    got = bytearray()
    sent = 0
    s.setblocking(False)
    while len(got) < len(data):
        ready = select.select([s], [s] if sent < len(data) else [], [], 60)
        if not ready[0] and not ready[1]:
            sys.exit(f"nothing for a minute: sent {sent}, got {len(got)} of {len(data)}")
        if ready[1]:
            sent += s.send(memoryview(data)[sent:sent + 1 + sent * 31 % 200000])
        if ready[0]:
            piece = s.recv(200000)
            if not piece:
                sys.exit(f"closed after {len(got)} of {len(data)}")
            got += piece
    if got != data:
        at = next(i for i, pair in enumerate(zip(got, data)) if pair[0] != pair[1])
        sys.exit(f"byte {at} of {len(data)} is {got[at]:#x}, wanted {data[at]:#x}")


def call(address, count, wanted):
    """Connections one after the other, the last ones of the same link group."""
    for turn in range(count):
        s = smc_socket(address)
        s.settimeout(60)
        s.connect((address, PORT))
        mode, more = connection(s)
        used = versions() if mode == "SMC-R" else []
        print(f"connection {turn}: {mode} {more}, versions {used}", flush=True)
        if mode != wanted:
            sys.exit(f"it is {mode}, wanted {wanted}")
        exchange(s, data_of(turn))
        if wanted == "SMC-R":
            os.system("rdma resource show qp")
        s.close()


def main():
    """See above."""
    role, *words = sys.argv[1:]
    if role == "eid":
        eid(*words)
    elif role == "server":
        serve(words[0], int(words[1]))
    else:
        call(words[0], int(words[1]), "TCP" if "tcp" in words else "SMC-R")


if __name__ == "__main__":
    main()
