#!/usr/bin/python3 -SE
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""there.py COMMAND...: run it in the other guest, as if it ran here.

It has this environment and folder, and an empty standard input; output, exit status and
death by a signal come back, signals go there, and when this ends, so does that.
there.py --end: the other guest ends.
"""

import json
import os
import signal
import socket
import struct
import sys

PORT = 7000
ADDRESS = "192.0.2.2"
PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1,
             signal.SIGUSR2)


def connect():
    """To the agent, from the namespace that has the control channel."""
    with open("/proc/self/ns/net", "rb") as home, open("/run/netns/control", "rb") as control:
        os.setns(control.fileno(), os.CLONE_NEWNET)
        try:
            return socket.create_connection((ADDRESS, PORT))
        finally:
            os.setns(home.fileno(), os.CLONE_NEWNET)


def exactly(connection, length):
    """That many bytes."""
    content = b""
    while len(content) < length:
        part = connection.recv(length - len(content))
        if not part:
            sys.exit("there: the other guest is gone")
        content += part
    return content


def write(number, content):
    """All of it."""
    while content:
        content = content[os.write(number, content):]


def main():
    """Ask, pass on, return what the command did."""
    try:
        connection = connect()
    except OSError as error:
        sys.exit(f"there: no other guest: {error}")
    if sys.argv[1:] == ["--end"]:
        request = "end"
    else:
        request = {"words": sys.argv[1:], "environment": dict(os.environ), "folder": os.getcwd()}
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.sendall(json.dumps(request).encode() + b"\n")
    for number in PASSED_ON:
        signal.signal(number, lambda number, _frame: connection.send(bytes([number])))
    while True:
        kind, length = struct.unpack(">cI", exactly(connection, 5))
        content = exactly(connection, length)
        if kind == b"x":
            break
        write(1 if kind == b"o" else 2, content)
    status = struct.unpack(">i", content)[0]
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    sys.exit(status)


if __name__ == "__main__":
    main()
