#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Measure drivers side by side in one guest, in one run.

Each driver gets two namespaces joined by a veth of its own, so that none of
them knows of the others; TCP is measured over the one of the first driver, and
so is what the kernel allows without RDMA (limit/rove_limit.c). Rounds go over
all drivers, so that a slow minute of the machine hits all of them; of each
figure the median is shown.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

from driver import ON_LAST, Driver, run
from figures import FIGURES, ONCE, curves, tcp_curves
from table import table

HERE = os.path.dirname(os.path.realpath(__file__))
# perftest and its server may miss each other.
TRIES = 3
LIMITS = ("trains", "trains_1024", "memcpy", "echo")


def compile_c(name, folder, *libraries):
    """A program of this folder."""
    path = os.path.join(folder, name)
    run("gcc", "-O2", "-o", path, os.path.join(HERE, name + ".c"), *libraries)
    return path


class Limits:
    """What rove_limit.ko finds between the ends of a driver: in the unit of the figures."""

    def __init__(self, driver, calls):
        self.driver = driver
        self.calls = calls
        self.module = os.path.join(os.environ.get("ROVE_MODULES", ""), "rove_limit.ko")

    def there(self):
        """Whether it was built."""
        return os.path.exists(self.module)

    def measure(self):
        """All of it, the doorbell too."""
        ends = self.driver.ends
        with subprocess.Popen(["ip", "netns", "exec", ends[0], "sleep", "60"]) as peer:
            try:
                run("ip", "netns", "exec", ends[1], "insmod", self.module,
                    f"peer_pid={peer.pid}", "src=10.0.0.2", "dst=10.0.0.1")
                found = {name: float(run(*ON_LAST, self.calls, name))
                         for name in ("doorbell", "wake")}
                for name in LIMITS:
                    with open(f"/sys/module/rove_limit/parameters/{name}",
                              encoding="ascii") as file:
                        value = int(file.read())
                    found[name] = value / 1000 if name == "echo" else value / 2 ** 20
                run("rmmod", "rove_limit")
                return found
            finally:
                peer.kill()


def parse():
    """The command line."""
    names = ",".join(figure.rows[0].name for figure in FIGURES + ONCE)
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("-r", "--rounds", type=int, default=5)
    parser.add_argument("--json", metavar="FILE", help="all figures")
    parser.add_argument("--metrics", default=names, help="of " + names)
    parser.add_argument("--curves", action="store_true", help="what the charts show, too")
    parser.add_argument("drivers", nargs="*", default=["rove", "rxe", "siw"])
    return parser.parse_args()


def once(driver, measure, names):
    """Values of the names, and what went wrong in words."""
    for _ in range(TRIES):
        try:
            values = measure(driver)
        except (RuntimeError, subprocess.TimeoutExpired, TypeError) as error:
            wrong = error
            continue
        return {name: value for name, value in zip(names, values) if value is not None}
    print(f"{driver.kind}, {names[0]}: {wrong}", file=sys.stderr)
    return {}


class Results:
    """Name of a row, then name of a column, then values."""

    def __init__(self):
        self.values = {}
        self.missing = False

    def add(self, column, found):
        """Values of one measurement; none: something is missing."""
        self.missing |= not found
        for name, value in found.items():
            self.values.setdefault(name, {}).setdefault(column, []).append(value)

    def figure(self, figure, drivers):
        """One round of it."""
        names = [row.name for row in figure.rows]
        for driver in drivers:
            if driver.kind in figure.drivers:
                self.add(driver.kind, once(driver, figure.measure, names))
        if figure.tcp:
            self.add("TCP", once(drivers[0], figure.tcp, names))

    def limits(self, figures, found):
        """Those that were measured, in the rows of the figures that name them."""
        for figure in figures:
            for name, limit in figure.limits.items():
                self.add("limit", {name: found[limit]})


def measure_all(drivers, figures, fixed, limits, rounds):
    """Rounds over all drivers, TCP and the limits."""
    results = Results()
    kernel = {}
    for figure in fixed:
        results.figure(figure, drivers)
    for number in range(rounds):
        for figure in figures:
            results.figure(figure, drivers)
        if limits.there():
            found = limits.measure()
            results.limits(figures, found)
            for name, value in found.items():
                kernel.setdefault(name, []).append(value)
        print(f"round {number + 1} of {rounds} done", file=sys.stderr, flush=True)
    return results, kernel


def all_curves(drivers):
    """Those of each driver, and TCP's."""
    out = {driver.kind: curves(driver) for driver in drivers}
    out["TCP"] = tcp_curves(drivers[0])
    return out


def machine():
    """What it was measured on."""
    kernel = os.uname()
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        found = re.search(r"^(?:host|model name)\s*: (.*)", file.read(), re.MULTILINE)
    return f"Linux {kernel.release} ({kernel.machine}), {os.cpu_count()} CPUs" + \
        (f", on {found[1]}" if found else "")


def make(driver):
    """With its module."""
    if driver.kind != "rove":
        subprocess.run(["modprobe", "-q", {"rxe": "rdma_rxe"}.get(driver.kind, driver.kind)],
                       check=False)
    driver.make()


def measured(args, folder):
    """The whole run: what is written as JSON, and whether something is missing."""
    wanted = args.metrics.split(",")
    figures, fixed = ([f for f in some if any(row.name in wanted for row in f.rows)]
                      for some in (FIGURES, ONCE))
    calls = compile_c("calls", folder)
    many = compile_c("many", folder, "-libverbs")
    drivers = [Driver(kind, i, many) for i, kind in enumerate(args.drivers)]
    try:
        for driver in drivers:
            make(driver)
        getppid = float(run(*ON_LAST, calls, "syscall"))
        held = [float(word) for word in run(*ON_LAST, calls, "held").split()]
        results, kernel = measure_all(drivers, figures, fixed, Limits(drivers[0], calls),
                                      args.rounds)
        lines = all_curves(drivers) if args.curves else {}
    finally:
        for driver in drivers:
            driver.unmake()
    return {
        "rows": [vars(row) for figure in figures + fixed for row in figure.rows],
        "results": results.values,
        "rounds": args.rounds,
        "machine": machine(),
        "getppid_us": getppid,
        "held": held,
        "kernel": kernel,
        "curves": lines,
    }, results.missing


def main():
    """Measure and print."""
    args = parse()
    with tempfile.TemporaryDirectory() as folder:
        data, missing = measured(args, folder)
    print(table(data))
    if args.json:
        with open(args.json, "w", encoding="ascii") as file:
            json.dump(data, file, indent=1)
            file.write("\n")
    # A figure that is missing is a failure.
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
