#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Runs commands for the other guest; there.c asks for them.

A connection is one command. It begins with three numbers of four bytes: of words, of
variables, the length of what follows, which is strings with a zero byte at their ends: the
folder, the words, the environment. Then each byte that comes is a signal for the command; when the connection ends, all that
the command started is killed. What goes back are frames: a letter (o: stdout, e: stderr,
x: the exit status, as four bytes), a length of four bytes, the content.
"""

import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading

PORT = 7000
ADDRESS = "192.0.2.2"


def in_control_namespace(function):
    """What it returns; sockets stay in the namespace in which they were made."""
    with open("/proc/self/ns/net", "rb") as home, open("/run/netns/control", "rb") as control:
        os.setns(control.fileno(), os.CLONE_NEWNET)
        try:
            return function()
        finally:
            os.setns(home.fileno(), os.CLONE_NEWNET)


def send(connection, kind, content):
    """One frame."""
    connection.sendall(struct.pack(">cI", kind, len(content)) + content)


def exactly(connection, length):
    """That many bytes, or less at the end of the connection."""
    content = b""
    while len(content) < length:
        part = connection.recv(length - len(content))
        if not part:
            break
        content += part
    return content


def start(folder, words, variables):
    """The process and nothing, or None and why it cannot be run."""
    try:
        return subprocess.Popen(  # pylint: disable=consider-using-with # lives on
            words, env=dict(variable.split(b"=", 1) for variable in variables), cwd=folder,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            bufsize=0, start_new_session=True), b""
    except OSError as error:
        return None, words[0] + f": {error.strerror}\n".encode()


def pass_on(connection, kind, pipe):
    """What is there; whether there may be more."""
    try:
        content = os.read(pipe.fileno(), 65536)
    except BlockingIOError:
        return False
    if content:
        send(connection, kind, content)
    return bool(content)


def attend(connection, process):
    """Until the command has ended, or nobody is interested in it any more."""
    pipes = {process.stdout.fileno(): (b"o", process.stdout),
             process.stderr.fileno(): (b"e", process.stderr)}
    for number in pipes:
        os.set_blocking(number, False)
    ended = os.pidfd_open(process.pid)
    poll = select.poll()
    for number in (connection.fileno(), ended, *pipes):
        poll.register(number, select.POLLIN)
    try:
        while True:
            ready = [number for number, _ in poll.poll()]
            for number in ready:
                if number in pipes and not pass_on(connection, *pipes[number]):
                    poll.unregister(number)
            if connection.fileno() in ready:
                signals = connection.recv(64)
                if not signals:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
                    return
                for number in signals:
                    process.send_signal(number)
            if ended in ready:
                # What others still write to its pipes is not waited for.
                for kind, pipe in pipes.values():
                    while pass_on(connection, kind, pipe):
                        pass
                send(connection, b"x", struct.pack(">i", process.wait()))
                return
    finally:
        os.close(ended)
        process.stdout.close()
        process.stderr.close()


def serve(connection):
    """One command."""
    with connection:
        head = exactly(connection, 12)
        if len(head) < 12:
            return
        words, variables, length = struct.unpack(">III", head)
        strings = exactly(connection, length).split(b"\0")[:-1]
        if len(strings) != 1 + words + variables:
            return
        if strings[1] == b"--end":
            send(connection, b"x", struct.pack(">i", 0))
            os._exit(0)
        process, complaint = start(strings[0], strings[1:1 + words], strings[1 + words:])
        if process is None:
            send(connection, b"e", complaint)
            send(connection, b"x", struct.pack(">i", 127))
            return
        try:
            attend(connection, process)
        except OSError:
            # The caller is gone.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def listen():
    """A socket of the control channel."""
    listener = socket.socket()
    listener.bind((ADDRESS, PORT))
    listener.listen(64)
    return listener


def main():
    """Serve until told to end."""
    listener = in_control_namespace(listen)
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=serve, args=(connection,), daemon=True).start()


if __name__ == "__main__":
    sys.exit(main())
