#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Measure rove, rxe, TCP and plain datagrams between two hosts, in the lab's topology two.

The links of one driver at a time are there, on the same netdevs; rounds go over all
drivers, and of each figure the median is shown. The client is in the other guest. Messages
are counted for some seconds, since perftest takes its word for the rate of a clock that is
emulated; latencies are what it says of its typical one. UDP is what datagrams.c makes of
sockets: packets as large, no checksum like the ICRC; acknowledgements only where each waits
for one, with the answer to what they acknowledge.
"""

import argparse
import functools
import json
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = 2
TCP, UDP = "TCP", "UDP"
UDP_PORT = 5555
# Packets, from BTH to ICRC: of path MTU 4096, an ACK, and of 64 bytes WRITE, SEND, READ.
PIECE = 4096 + 16
ACK = 20
PINGS = {"write_lat": (96, ACK), "send_lat": (80, ACK), "read_lat": (84, 0)}
# name, unit, text, perftest tool and its options
METRICS = [
    ("write_bw", "MiB/s", "RDMA WRITE 64 KiB, one QP", "ib_write_bw", ("-s", "65536")),
    ("read_bw", "MiB/s", "RDMA READ 64 KiB, one QP", "ib_read_bw", ("-s", "65536")),
    ("write_rate", "k/s", "RDMA WRITE 8 bytes, one by one", "ib_write_bw", ("-s", "8")),
    ("list_rate", "k/s", "RDMA WRITE 8 bytes, lists of 32", "ib_write_bw", ("-s", "8", "-l", "32")),
    ("write_lat", "us", "ib_write_lat 64 bytes, typical", "ib_write_lat", ("-s", "64")),
    ("send_lat", "us", "ib_send_lat 64 bytes, typical", "ib_send_lat", ("-s", "64")),
    ("read_lat", "us", "ib_read_lat 64 bytes, typical", "ib_read_lat", ("-s", "64")),
]
LATENCY_ROUNDS = "1000"
# What must be reached against rxe.
GOALS = {"write_bw": 3, "write_rate": 4, "list_rate": 4, "write_lat": 2, "send_lat": 2,
         "read_lat": 2}


class Failed(Exception):
    """A command did, or there is no figure in what it printed."""


class End:
    """One of the two hosts."""

    def __init__(self, before, link, netdev):
        self.before = shlex.split(before)
        self.link = link
        self.netdev = netdev

    def command(self, *words):
        """What runs it there."""
        return [*self.before, *words]

    def run(self, *words, check=True):
        """Its output."""
        done = subprocess.run(self.command("timeout", "-k", "2", "60", *words), check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if check and done.returncode:
            raise Failed(f"{shlex.join(words)}: status {done.returncode}\n{done.stdout}")
        return done.stdout

    def gid_index(self):
        """That of the IPv4 address, RoCE v2, or None."""
        port = f"/sys/class/infiniband/{self.link}/ports/1"
        out = self.run("sh", "-c", f"cd {port} && grep -Hs . gids/* && cd gid_attrs && "
                                   "grep -Hs . types/*", check=False)
        gids = set(re.findall(r"^gids/(\d+):.*:ffff:0a00:", out, re.MULTILINE))
        types = set(re.findall(r"^types/(\d+):RoCE v2", out, re.MULTILINE))
        return min(gids & types, key=int, default=None)

    def delete_link(self):
        """Whatever it is. Rxe keeps the port of RoCE as long as it is loaded."""
        self.run("rdma", "link", "del", self.link, check=False)
        self.run("modprobe", "-qr", "rdma_rxe", check=False)

    def add_link(self, kind):
        """Of that driver, and wait until it can be used."""
        self.run("modprobe", {"rxe": "rdma_rxe"}.get(kind, kind))
        self.run("rdma", "link", "add", self.link, "type", kind, "netdev", self.netdev)
        end = time.monotonic() + 30
        while self.gid_index() is None:
            if time.monotonic() > end:
                raise Failed(f"{self.link}: no GID")


def listens(port):
    """Whether somebody waits for a TCP connection in this host, or for datagrams."""
    # A socket of UDP that is connected to its peer has the state of such a connection.
    for name, state in (("tcp", "0A"), ("tcp6", "0A"), ("udp", "01")):
        with open(f"/proc/net/{name}", encoding="ascii") as table:
            if re.search(rf":{port:04X} \S+ {state} ", table.read()):
                return True
    return False


def pair(server, client, port):
    """What the client prints; both are whole commands."""
    with subprocess.Popen(server, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True) as process:
        try:
            end = time.monotonic() + 30
            while not listens(port) and process.poll() is None:
                if time.monotonic() > end:
                    raise Failed(f"{shlex.join(server)} is not ready")
                time.sleep(0.05)
            # Warnings (perftest's of the clock) come in the middle of its figures.
            done = subprocess.run(client, check=False, capture_output=True, text=True)
            if done.returncode:
                process.terminate()
                raise Failed(f"{shlex.join(client)}: status {done.returncode}\n{done.stdout}\n"
                             f"{done.stderr}\nthe server said:\n{process.stdout.read()}")
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                pass
        finally:
            process.terminate()
    return done.stdout


def perftest(ends, tool, *options):
    """The numbers of its last line of results."""
    commands = [end.command("timeout", "-k", "2", "60", tool, "-F", "-d", end.link, "-x",
                            end.gid_index(), *options) for end in ends]
    out = pair(commands[0], [*commands[1], "10.0.0.1"], 18515)
    lines = [line.split() for line in out.splitlines() if re.match(r"^ *\d+ +\d+ +[\d.]+", line)]
    if not lines:
        raise Failed(f"no figures in what {tool} printed:\n{out}")
    return [float(word) for word in lines[-1]]


def measure(ends, metric):
    """One figure."""
    _name, unit, _text, tool, options = metric
    if unit == "us":
        return perftest(ends, tool, *options, "-n", LATENCY_ROUNDS)[4]
    count = perftest(ends, tool, *options, "-D", str(SECONDS), "-f", "0")[1] / SECONDS
    return count * 65536 / 2 ** 20 if unit == "MiB/s" else count / 1000


def measure_tcp(ends, metric):
    """What stands for it with TCP, or None."""
    if metric[0] == "write_bw":
        out = pair(ends[0].command("env", "TMPDIR=/tmp", "iperf3", "-s", "-1"),
                   ends[1].command("env", "TMPDIR=/tmp", "iperf3", "-c", "10.0.0.1", "-l", "1M",
                                   "-t", str(SECONDS), "-J"),
                   5201)
        return json.loads(out)["end"]["sum_received"]["bits_per_second"] / 8 / 2 ** 20
    if metric[0] == "send_lat":
        out = pair(ends[0].command("qperf"),
                   ends[1].command("qperf", "10.0.0.1", "-t", str(SECONDS), "-m", "64", "-u", "tcp_lat"),
                   19765)
        found = re.search(r"latency *= *([\d.]+) *(ns|us|ms)", out)
        return float(found[1]) * {"ns": 1e-3, "us": 1, "ms": 1e3}[found[2]]
    return None


def measure_udp(program, ends, metric):
    """What stands for it with datagrams, or None."""
    server, client = [end.command(program) for end in ends]
    if metric[0] == "write_bw":
        return float(pair([*server, "sink", "10.0.0.2"],
                          [*client, "source", "10.0.0.1", str(SECONDS), str(PIECE)], UDP_PORT))
    if metric[0] in PINGS:
        sizes = [str(size) for size in PINGS[metric[0]]]
        half = float(pair([*server, "pong", "10.0.0.2", *sizes],
                          [*client, "ping", "10.0.0.1", *sizes, LATENCY_ROUNDS], UDP_PORT))
        # A READ is the whole of one.
        return 2 * half if metric[0] == "read_lat" else half
    return None


def measure_driver(ends, kind, metrics, results, sockets):
    """One round of a driver, or of sockets."""
    if kind not in sockets:
        for end in ends:
            end.delete_link()
        for end in ends:
            end.add_link(kind)
    for metric in metrics:
        try:
            value = sockets.get(kind, measure)(ends, metric)
        except Failed as error:
            # One that fails does not take the others' figures.
            print(f"{kind}, {metric[0]}: {error}", file=sys.stderr)
            continue
        if value is not None and 0 < value < float("inf"):
            results[kind].setdefault(metric[0], []).append(value)


def table(results, kinds, metrics):
    """Medians, a line for each figure, with rove against rxe at its end."""
    lines = [f"{'':34}" + "".join(f"{kind:>10}" for kind in kinds)]
    for name, unit, text, _tool, _options in metrics:
        medians = {kind: statistics.median(results[kind][name]) for kind in kinds
                   if results[kind].get(name)}
        line = f"{text:34}" + "".join(f"{medians[kind]:10.1f}" if kind in medians else f"{'-':>10}"
                                      for kind in kinds) + f"  {unit}"
        if "rove" in medians and "rxe" in medians:
            better = medians["rove"] / medians["rxe"]
            better = 1 / better if unit == "us" else better
            goal = f", wanted {GOALS[name]}" if better < GOALS.get(name, 0) else ""
            line += f"  ({better:.1f} times better than rxe{goal})"
        lines.append(line)
    return "\n".join(lines)


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("-r", "--rounds", type=int, default=3)
    parser.add_argument("-m", "--mtu", type=int, default=4200)
    parser.add_argument("--json", metavar="FILE", help="all figures")
    parser.add_argument("--metrics", help="some of " + ",".join(m[0] for m in METRICS))
    parser.add_argument("drivers", nargs="*", default=["rove", "rxe"])
    args = parser.parse_args()

    metrics = [m for m in METRICS if not args.metrics or m[0] in args.metrics.split(",")]
    ends = [End(os.environ["NA"], "ra", "ea"), End(os.environ["NB"], "rb", "eb")]
    for end in ends:
        end.run("ip", "link", "set", end.netdev, "mtu", str(args.mtu))
    kinds = [*args.drivers, TCP, UDP]
    results = {kind: {} for kind in kinds}
    # Where both hosts see it.
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "datagrams")
        subprocess.run(["gcc", "-O2", "-o", program, os.path.join(HERE, "datagrams.c")],
                       check=True)
        sockets = {TCP: measure_tcp, UDP: functools.partial(measure_udp, program)}
        for number in range(args.rounds):
            for kind in kinds:
                measure_driver(ends, kind, metrics, results, sockets)
            print(f"round {number + 1} of {args.rounds} done", file=sys.stderr)
    print(table(results, kinds, metrics))
    if args.json:
        with open(args.json, "w", encoding="ascii") as file:
            json.dump(results, file, indent=1)
            file.write("\n")
    # A figure that is missing is a failure.
    return 0 if all(len(results[kind].get(m[0], [])) == args.rounds
                    for kind in args.drivers for m in metrics) else 1


if __name__ == "__main__":
    sys.exit(main())
