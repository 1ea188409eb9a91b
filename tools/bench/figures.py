# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What is measured.

A figure is measured once in each round; it may give several values at once (a
latency and its 99th percentile). A curve is measured once, for the charts.
"""

from dataclasses import dataclass, field
from typing import Callable, Optional

ALL = ("rove", "rxe", "siw")
ROCE = ("rove", "rxe")
BUFFER = 2 ** 20
SIZES = (64, 512, 4096, 16384, 65536, 262144, 1048576, 8388608)
QPS = (1, 4, 16, 64, 256, 1024)


@dataclass
class Row:
    """A line of the table."""
    name: str
    unit: str
    text: str


@dataclass
class Figure:
    """Rows that one measurement gives, and how to measure them."""
    rows: list
    measure: Callable
    drivers: tuple = ROCE
    tcp: Optional[Callable] = None
    # Names of what limit/rove_limit.c measures, for the rows.
    limits: dict = field(default_factory=dict)


def percentiles(values):
    """Typical (the median, as perftest has it) and the 99th of sorted values."""
    return values[len(values) // 2], values[len(values) * 99 // 100]


def within(context, measure):
    """Measure while the driver's context of that name holds."""
    def inner(driver):
        with context(driver):
            return measure(driver)
    return inner


def small_mtu(measure):
    """On links with an MTU of 1500, path MTU 1024."""
    return within(lambda driver: driver.mtu(1500), measure)


def one_host(measure):
    """Between a link and itself."""
    return within(lambda driver: driver.same_host(), measure)


def bandwidth(name, text, tool, size, **more):
    """Of one queue pair."""
    return Figure([Row(name, "MiB/s", text)], lambda driver: [driver.mib(tool, size)], **more)


def rate(name, text, tool, size, *options, **more):
    """Messages of one queue pair."""
    return Figure([Row(name, "k/s", text)],
                  lambda driver: [driver.messages(tool, size, *options) / 1000], **more)


def latency(name, text, tool, *options, wrap=None, **more):
    """One way (READ: there and back) of 64 bytes."""
    def measure(driver):
        return percentiles(driver.latencies(tool, *options))
    return Figure([Row(name, "us", f"{text}, typical"), Row(f"{name}_p99", "us", f"{text}, 99 %")],
                  wrap(measure) if wrap else measure, **more)


def many(count):
    """WRITEs of 64 KiB over so many queue pairs; some hundreds of each are counted."""
    def measure(driver):
        total, least, most = driver.many_qps("-q", str(count), "-t", str(max(4, count // 64)),
                                             "-d", str(max(4, 128 // count)))
        return [total * 65536 / 2 ** 20, least / most]
    return Figure([Row(f"qps_{count}", "MiB/s", f"WRITE 64 KiB, {count} QPs, in all"),
                   Row(f"fair_{count}", "", "  the slowest QP against the fastest")], measure)


FIGURES = [
    bandwidth("write_bw", "WRITE 64 KiB, one QP", "ib_write_bw", 65536, drivers=ALL,
              tcp=lambda driver: [driver.tcp_bw()[0]], limits={"write_bw": "trains"}),
    bandwidth("write_bw_1m", "WRITE 1 MiB", "ib_write_bw", BUFFER,
              limits={"write_bw_1m": "trains"}),
    Figure([Row("write_bw_1500", "MiB/s", "WRITE 64 KiB, MTU 1500")],
           small_mtu(lambda driver: [driver.mib("ib_write_bw", 65536)]),
           tcp=small_mtu(lambda driver: [driver.tcp_bw()[0]]),
           limits={"write_bw_1500": "trains_1024"}),
    bandwidth("send_bw", "SEND 64 KiB", "ib_send_bw", 65536),
    bandwidth("read_bw", "READ 64 KiB", "ib_read_bw", 65536, drivers=ALL),
    bandwidth("read_bw_1m", "READ 1 MiB", "ib_read_bw", BUFFER),
    bandwidth("write_bw_8m", "WRITE 8 MiB", "ib_write_bw", 8 * BUFFER),
    bandwidth("read_bw_8m", "READ 8 MiB", "ib_read_bw", 8 * BUFFER),
    rate("write_rate", "WRITE 8 bytes, one QP", "ib_write_bw", 8, drivers=ALL),
    rate("write_rate_32", "WRITE 8 bytes, in lists of 32", "ib_write_bw", 8, "-l", "32"),
    rate("uc_rate", "UC WRITE 64 bytes", "ib_write_bw", 64, "-c", "UC"),
    rate("ud_rate", "UD SEND 64 bytes", "ib_send_bw", 64, "-c", "UD"),
    latency("write_lat", "WRITE 64 bytes", "ib_write_lat", drivers=ALL,
            tcp=lambda driver: [driver.tcp_lat(), None], limits={"write_lat": "echo"}),
    latency("send_lat", "SEND 64 bytes", "ib_send_lat", drivers=ALL),
    latency("read_lat", "READ 64 bytes", "ib_read_lat", drivers=ALL),
    latency("send_lat_e", "SEND 64 bytes, events", "ib_send_lat", "-e",
            limits={"send_lat_e": "wake"}),
    latency("read_lat_e", "READ 64 bytes, events", "ib_read_lat", "-e"),
    Figure([Row("host_bw", "MiB/s", "same host: WRITE 1 MiB")],
           one_host(lambda driver: [driver.mib("ib_write_bw", BUFFER)]),
           limits={"host_bw": "memcpy"}),
    latency("host_lat", "same host: WRITE 64 bytes", "ib_write_lat", wrap=one_host),
    many(16),
    many(256),
    many(1024),
    Figure([Row("cpu", "s", "CPU seconds for a GiB, events, 1 MiB")],
           lambda driver: [driver.cpu_per_gib()],
           tcp=lambda driver: [driver.tcp_bw()[1]]),
    Figure([Row("cm_rate", "1/s", "rdma_cm: connections (cmtime)")],
           lambda driver: [driver.connections()]),
]

# Those that do not vary from round to round.
ONCE = [
    Figure([Row("idle_qp", "bytes", "memory of an idle QP")],
           lambda driver: driver.many_qps("-i", "1000")),
    Figure([Row("calls", "", "system calls for 1000 WRITEs")],
           lambda driver: [driver.system_calls()]),
]


def curves(driver):
    """For the charts: name, then points."""
    out = {}
    if driver.kind in ROCE:
        out["size"] = [(size, driver.mib("ib_write_bw", size)) for size in SIZES]
        out["qps"] = [(count, driver.many_qps("-q", str(count), "-s", "8", "-d", "64",
                                              "-b", "65536")[0] / 1000) for count in QPS]
    out["latency"] = driver.latencies("ib_write_lat")
    return out


def tcp_curves(driver):
    """The same for TCP, where there is such a thing."""
    return {"size": [(size, driver.tcp_bw(size)[0]) for size in SIZES if size <= BUFFER]}
