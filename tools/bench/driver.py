# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Two ends with a driver's links on them, and what can be run between them."""

import contextlib
import json
import os
import re
import subprocess
import tempfile
import time

PERFTEST_PORT = 18515
CMTIME_PORT = 7471
MTU = 4200
# Of two programs the server has the first CPU, the client the last one, for good: where the
# guest's CPUs are threads of the machine, a program and its kernel stay together then.
ON_FIRST = ("taskset", "-c", "0")
ON_LAST = ("taskset", "-c", str(os.cpu_count() - 1))


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


def cm_listens(port):
    """Whether somebody waits for a connection."""
    return bool(re.search(rf"state LISTEN.*:{port}\b", run("rdma", "resource", "show", "cm_id")))


def cpu_seconds():
    """That all CPUs together have been busy."""
    with open("/proc/stat", encoding="ascii") as stat:
        fields = [int(word) for word in stat.readline().split()[1:]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


class Driver:
    """Namespaces, netdevs and links of one driver."""

    def __init__(self, kind, number, many):
        self.kind = kind
        self.many = many
        self.ends = [f"{kind}-a", f"{kind}-b"]
        self.links = [f"{kind[0:3]}{number}a", f"{kind[0:3]}{number}b"]
        # siw has no GIDs of RoCE: its connections are made by librdmacm.
        self.over_cm = kind == "siw"
        self.one_host = False

    def make(self):
        """Two namespaces joined by a veth, a link in each."""
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

    @contextlib.contextmanager
    def mtu(self, value):
        """Within it the netdevs have another MTU."""
        def change(to):
            for end in self.ends:
                run("ip", "-n", end, "link", "set", "e0", "mtu", str(to))
        change(value)
        try:
            yield
        finally:
            change(MTU)

    @contextlib.contextmanager
    def same_host(self):
        """Within it programs run at one end only, between its link and itself."""
        self.one_host = True
        try:
            yield
        finally:
            self.one_host = False

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
        ends = [self.ends[0], self.ends[0 if self.one_host else 1]]
        with tempfile.TemporaryFile("w+") as said, subprocess.Popen(
                [*ON_FIRST, "ip", "netns", "exec", ends[0], "timeout", "-k", "2", str(seconds),
                 *server], stdout=said, stderr=subprocess.STDOUT) as process:
            try:
                wait_until(lambda: ready(process.pid) or process.poll() is not None,
                           f"{server[0]} is not ready")
                out = run(*ON_LAST, "ip", "netns", "exec", ends[1], "timeout", "-k", "2",
                          str(seconds), *client, seconds=seconds + 5)
                return out
            except RuntimeError as error:
                said.seek(0)
                raise RuntimeError(f"{self.kind}: {error}\nthe server said:\n{said.read()}") from None
            finally:
                try:
                    process.wait(2)
                except subprocess.TimeoutExpired:
                    process.terminate()

    def perftest(self, tool, *options, before=()):
        """What the client printed; before: put in front of its command."""
        links = [self.links[0], self.links[0 if self.one_host else 1]]
        commands = []
        for link in links:
            how = ["-R"] if self.over_cm else ["-x", str(self.gid_index(link))]
            commands.append([tool, "-F", "-d", link, *how, *options])
        if self.over_cm:
            # With links of other kinds about, siw cannot listen on all addresses.
            commands[0] += ["--bind_source_ip", "10.0.0.1"]
        ready = (lambda pid: cm_listens(PERFTEST_PORT)) if self.over_cm \
            else (lambda pid: listens(pid, PERFTEST_PORT))
        return self.pair(commands[0], [*before, *commands[1], "10.0.0.1"], ready)

    def last_line(self, out):
        """The numbers of the last line of results."""
        lines = [line.split() for line in out.splitlines()
                 if re.match(r"^ *\d+ +\d+ +[\d.]+ ", line)]
        if not lines:
            raise RuntimeError(f"{self.kind}: no figures in\n{out}")
        return [float(word) for word in lines[-1]]

    def figures(self, tool, *options):
        """The numbers that a tool ends with."""
        return self.last_line(self.perftest(tool, *options))

    def messages(self, tool, size, *options):
        """In a second. Counted, since perftest's own figures take its word for the rate of
        the machine's clock."""
        return self.figures(tool, "-s", str(size), "-D", "1", "-f", "0", *options)[1]

    def mib(self, tool, size, *options):
        """MiB a second."""
        return self.messages(tool, size, *options) * size / 2 ** 20

    def latencies(self, tool, *options):
        """Of 64 bytes, microseconds, all of them, sorted."""
        out = self.perftest(tool, "-s", "64", "-n", "4000", "-U", *options)
        values = sorted(float(found[1]) for found in
                        re.finditer(r"^\d+, ([\d.]+)$", out, re.MULTILINE))
        if not values:
            raise RuntimeError(f"{self.kind}: no figures in what {tool} printed:\n{out}")
        return values

    def system_calls(self):
        """That a client of ib_write_bw makes for 1000 messages, with all set-up."""
        out = self.perftest("ib_write_bw", "-s", "8", "-D", "2", "-f", "0",
                            before=["strace", "-f", "-c", "-U", "calls,name"])
        calls = int(re.search(r"^ *(\d+) total$", out, re.MULTILINE)[1])
        return calls * 1000 / self.last_line(out)[1]

    def many_qps(self, *options):
        """What many prints: see many.c."""
        links = [self.links[0], self.links[0 if self.one_host else 1]]
        out = run(*ON_LAST, "ip", "netns", "exec", self.ends[0], self.many, "-g",
                  str(self.gid_index(links[0])), *options, *links)
        return [float(word) for word in out.split()]

    def cpu_per_gib(self):
        """CPU seconds of the whole guest for a GiB, when nobody polls."""
        seconds = 2
        begin = cpu_seconds()
        rate = self.many_qps("-e", "-t", str(seconds), "-s", "1048576")[0]
        return (cpu_seconds() - begin) / (rate * seconds / 1024)

    def connections(self):
        """Made, used and cut by rdma_cm in a second."""
        count = 400
        begin = time.monotonic()
        self.pair(["cmtime", "-b", "10.0.0.1", "-c", str(count)],
                  ["cmtime", "-s", "10.0.0.1", "-q", "500000", "-c", str(count)],
                  lambda pid: cm_listens(CMTIME_PORT))
        return count / (time.monotonic() - begin)

    # ------------------------------------------------------- TCP, between the same ends

    def tcp_bw(self, size="1M"):
        """MiB a second, and CPU seconds for a GiB, of one stream."""
        begin = cpu_seconds()
        out = self.pair(["iperf3", "-s", "-1"],
                        ["iperf3", "-c", "10.0.0.1", "-l", str(size), "-t", "1", "-J"],
                        lambda pid: listens(pid, 5201))
        end = json.loads(out)["end"]["sum_received"]
        return end["bits_per_second"] / 8 / 2 ** 20, \
            (cpu_seconds() - begin) / (end["bytes"] / 2 ** 30)

    def tcp_lat(self):
        """Microseconds one way of 64 bytes."""
        out = self.pair(["qperf"], ["qperf", "10.0.0.1", "-t", "1", "-m", "64", "-u", "tcp_lat"],
                        lambda pid: listens(pid, 19765))
        found = re.search(r"latency *= *([\d.]+) *(ns|us|ms)", out)
        return float(found[1]) * {"ns": 1e-3, "us": 1, "ms": 1e3}[found[2]]
