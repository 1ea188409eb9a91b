#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Measure drivers side by side in one guest, in one run.

Each driver gets two namespaces joined by a veth of its own, so that none of
them knows of the others; TCP is measured over the one of the first driver.
Rounds go over all drivers, so that a slow minute of the machine hits all of
them; of each figure the median is shown.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

MTU = 4200
# It may misjudge the clock of the machine, and then prints 0 or inf.
CLOCK_TRIES = 3
# name, unit, better is more, text
METRICS = [
    ("write_bw", "MiB/s", "RDMA WRITE 64 KiB, one QP"),
    ("write_rate", "k/s", "RDMA WRITE 8 bytes, one QP"),
    ("read_bw", "MiB/s", "RDMA READ 64 KiB, one QP"),
    ("write_lat", "us", "ib_write_lat 64 bytes, typical"),
    ("send_lat", "us", "ib_send_lat 64 bytes, typical"),
    ("read_lat", "us", "ib_read_lat 64 bytes, typical"),
]
# What stands for them with TCP.
TCP_METRICS = {"write_bw": "bw", "write_lat": "lat"}
GETPPID = r"""
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int main(void)
{
	struct timespec a, b;
	int i, n = 20000;

	clock_gettime(CLOCK_MONOTONIC, &a);
	for (i = 0; i < n; i++)
		syscall(SYS_getppid);
	clock_gettime(CLOCK_MONOTONIC, &b);
	printf("%.2f\n", ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / 1e3 / n);
	return 0;
}
"""


def run(*command, seconds=60):
    """A command's output; fails with what it said."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=seconds, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}")
    return done.stdout


def wait_until(condition, text, seconds=10):
    """Loop until the condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(text)
        time.sleep(0.02)


def listens(pid, port):
    """Whether a TCP port is open in the namespace of a process."""
    for name in ("tcp", "tcp6"):
        try:
            with open(f"/proc/{pid}/net/{name}", encoding="ascii") as table:
                if re.search(rf":{port:04X} \S+ 0A ", table.read()):
                    return True
        except OSError:
            pass
    return False


class Driver:
    """Two ends, and how to measure between them."""

    def __init__(self, kind, number):
        self.kind = kind
        self.ends = [f"{kind}-a", f"{kind}-b"]
        self.links = [f"{kind[0:3]}{number}a", f"{kind[0:3]}{number}b"]
        # siw has no GIDs of RoCE: its connections are made by librdmacm.
        self.over_cm = kind == "siw"

    def make(self):
        """Namespaces, netdevs, links."""
        for end in self.ends:
            run("ip", "netns", "add", end)
            run("ip", "-n", end, "link", "set", "lo", "up")
        run("ip", "link", "add", "e0", "netns", self.ends[0], "mtu", str(MTU), "type", "veth",
            "peer", "name", "e0", "netns", self.ends[1], "mtu", str(MTU))
        for i, end in enumerate(self.ends):
            run("ip", "-n", end, "addr", "add", f"10.0.0.{i + 1}/24", "dev", "e0")
            run("ip", "-n", end, "link", "set", "e0", "up")
        for end, link in zip(self.ends, self.links):
            run("ip", "netns", "exec", end, "rdma", "link", "add", link, "type", self.kind,
                "netdev", "e0")
        if not self.over_cm:
            wait_until(lambda: all(self.gid_index(link) is not None for link in self.links),
                       f"{self.kind}: no GIDs")

    def unmake(self):
        """What make made."""
        for link in self.links:
            subprocess.run(["rdma", "link", "del", link], check=False, stderr=subprocess.DEVNULL)
        for end in self.ends:
            subprocess.run(["ip", "netns", "del", end], check=False, stderr=subprocess.DEVNULL)

    def gid_index(self, link):
        """That of the IPv4 address, RoCE v2."""
        port = f"/sys/class/infiniband/{link}/ports/1"
        for i in range(32):
            try:
                with open(f"{port}/gids/{i}", encoding="ascii") as gid, \
                        open(f"{port}/gid_attrs/types/{i}", encoding="ascii") as kind:
                    if ":ffff:0a00:" in gid.read() and "v2" in kind.read():
                        return i
            except OSError:
                continue
        return None

    def pair(self, server, client, ready, seconds=60):
        """Output of the client; the server must end well too, unless it stays."""
        with tempfile.TemporaryFile("w+") as said, subprocess.Popen(
                ["ip", "netns", "exec", self.ends[0], "timeout", "-k", "2", str(seconds), *server],
                stdout=said, stderr=subprocess.STDOUT) as process:
            try:
                wait_until(lambda: ready(process.pid) or process.poll() is not None,
                           f"{server[0]} is not ready")
                out = run("ip", "netns", "exec", self.ends[1], "timeout", "-k", "2", str(seconds),
                          *client, seconds=seconds + 5)
                return out
            except RuntimeError as error:
                said.seek(0)
                raise RuntimeError(f"{self.kind}: {error}\nthe server said:\n{said.read()}") from None
            finally:
                try:
                    process.wait(2)
                except subprocess.TimeoutExpired:
                    process.terminate()

    def perftest(self, tool, *options):
        """The numbers of the last line of results."""
        commands = []
        for link in self.links:
            how = ["-R"] if self.over_cm else ["-x", str(self.gid_index(link))]
            commands.append([tool, "-F", "-d", link, *how, *options])
        if self.over_cm:
            # With links of other kinds about, siw cannot listen on all addresses.
            commands[0] += ["--bind_source_ip", "10.0.0.1"]
        ready = (lambda pid: cm_listens()) if self.over_cm else (lambda pid: listens(pid, 18515))
        out = self.pair(commands[0], commands[1] + ["10.0.0.1"], ready)
        lines = [line.split() for line in out.splitlines() if re.match(r"^ *\d+ +\d+ +[\d.]+", line)]
        if not lines:
            raise RuntimeError(f"{self.kind}: no figures in what {tool} printed:\n{out}")
        return [float(word) for word in lines[-1]]

    def measure(self, metric):
        """One figure."""
        if metric == "write_bw":
            return self.messages("ib_write_bw", 65536) * 65536 / 2 ** 20
        if metric == "read_bw":
            return self.messages("ib_read_bw", 65536) * 65536 / 2 ** 20
        if metric == "write_rate":
            return self.messages("ib_write_bw", 8) / 1000
        for _ in range(CLOCK_TRIES):
            value = self.perftest("ib_" + metric, "-s", "64", "-n", "2000")[4]
            if 0 < value < float("inf"):
                break
        return value

    def messages(self, tool, size):
        """In a second. Counted, since perftest's own figures take its word for the rate of
        the machine's clock."""
        return self.perftest(tool, "-s", str(size), "-D", "1", "-f", "0")[1]

    def tcp(self, metric):
        """The same by the kernel's TCP, between the same ends."""
        if metric == "bw":
            out = self.pair(["iperf3", "-s", "-1"],
                            ["iperf3", "-c", "10.0.0.1", "-l", "1M", "-t", "1", "-J"],
                            lambda pid: listens(pid, 5201))
            return json.loads(out)["end"]["sum_received"]["bits_per_second"] / 8 / 2 ** 20
        out = self.pair(["qperf"], ["qperf", "10.0.0.1", "-t", "1", "-m", "64", "-u", "tcp_lat"],
                        lambda pid: listens(pid, 19765))
        found = re.search(r"latency *= *([\d.]+) *(ns|us|ms)", out)
        return float(found[1]) * {"ns": 1e-3, "us": 1, "ms": 1e3}[found[2]]


def cm_listens():
    """Whether perftest waits for a connection."""
    return bool(re.search(r"state LISTEN.*:18515\b", run("rdma", "resource", "show", "cm_id")))


def getppid():
    """Microseconds of a system call: the other CPU idle, and busy."""
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "getppid")
        subprocess.run(["gcc", "-O2", "-x", "c", "-o", program, "-"], input=GETPPID, text=True,
                       check=True)
        idle = float(run(program))
        with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as spinner:
            busy = float(run(program))
            spinner.kill()
        return idle, busy


def table(results, names, calls):
    """Medians, one line for each figure."""
    head = f"{'':34}" + "".join(f"{name:>12}" for name in names)
    lines = [head]
    for metric, unit, text in METRICS:
        cells = ""
        for name in names:
            values = results[name].get(metric)
            if not values:
                cells += f"{'-':>12}"
                continue
            value = statistics.median(values)
            cells += f"{value:12.1f}" if value < 1000 else f"{value:12.0f}"
        lines.append(f"{text:34}{cells}  {unit}")
    lines.append(f"one system call here (getppid): {calls[0]} us, "
                 f"{calls[1]} us while the other CPU is busy")
    return "\n".join(lines)


def ratios(results):
    """Rove against rxe: how many times better."""
    out = {}
    for metric, unit, _text in METRICS:
        pair = [results.get(name, {}).get(metric) for name in ("rove", "rxe")]
        if not all(pair):
            continue
        ours, theirs = (statistics.median(values) for values in pair)
        out[metric] = theirs / ours if unit == "us" else ours / theirs
    return out


def parse():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("-r", "--rounds", type=int, default=5)
    parser.add_argument("--json", metavar="FILE", help="all figures")
    parser.add_argument("--metrics", default=",".join(m[0] for m in METRICS))
    parser.add_argument("drivers", nargs="*", default=["rove", "rxe", "siw"])
    return parser.parse_args()


def measure_all(drivers, wanted, rounds):
    """Rounds over all drivers and TCP."""
    results = {driver.kind: {} for driver in drivers}
    results["TCP"] = {}
    for number in range(rounds):
        for driver in drivers:
            for metric in wanted:
                try:
                    value = driver.measure(metric)
                except RuntimeError as error:
                    # One driver that fails does not take the others' figures.
                    print(f"{driver.kind}, {metric}: {error}", file=sys.stderr)
                    continue
                # Perftest that misjudges the machine's clock: no figure, and none of those.
                if not 0 < value < float("inf"):
                    print(f"{driver.kind}, {metric}: perftest says {value}", file=sys.stderr)
                    continue
                results[driver.kind].setdefault(metric, []).append(value)
        for metric, name in TCP_METRICS.items():
            if metric in wanted:
                results["TCP"].setdefault(metric, []).append(drivers[0].tcp(name))
        print(f"round {number + 1} of {rounds} done", file=sys.stderr)
    return results


def main():
    """Measure and print."""
    args = parse()
    wanted = [m[0] for m in METRICS if m[0] in args.metrics.split(",")]
    drivers = [Driver(kind, i) for i, kind in enumerate(args.drivers)]
    made = []
    try:
        for driver in drivers:
            made.append(driver)
            if driver.kind != "rove":
                subprocess.run(["modprobe", "-q", {"rxe": "rdma_rxe"}.get(driver.kind, driver.kind)],
                               check=False)
            driver.make()
        calls = getppid()
        results = measure_all(drivers, wanted, args.rounds)
    finally:
        for driver in made:
            driver.unmake()
    METRICS[:] = [m for m in METRICS if m[0] in wanted]
    print(table(results, [d.kind for d in drivers] + ["TCP"], calls))
    better = ratios(results)
    if better:
        print("rove against rxe: " + ", ".join(f"{name} {value:.1f} times"
                                              for name, value in better.items()))
    if args.json:
        with open(args.json, "w", encoding="ascii") as file:
            json.dump({"results": results, "getppid_us": calls, "rove_against_rxe": better},
                      file, indent=1)
            file.write("\n")
    # A figure that is missing is a failure.
    return 0 if all(len(results[d.kind].get(m, [])) == args.rounds
                    for d in drivers for m in wanted) else 1


if __name__ == "__main__":
    sys.exit(main())
