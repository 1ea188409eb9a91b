#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A link takes no CPU when the programs that have queue pairs there have nothing to do.

Whatever of rove runs, or is to run at some time, shows itself in the tracepoints of the
kernel: its threads are switched to, its timers are started and expire, as do its tasklets and
its work. After traffic of each kind there must come a time in which none of that is seen.
"""

import os
import time

import ends
from ends import check, e

TESTS = []
test = ends.tester(TESTS)

TRACING = "/sys/kernel/tracing"
EVENTS = ("sched/sched_switch", "timer/timer_start", "timer/timer_expire_entry",
          "timer/hrtimer_start", "timer/hrtimer_expire_entry", "irq/tasklet_entry",
          "irq/tasklet_hi_entry", "workqueue/workqueue_queue_work",
          "workqueue/workqueue_execute_start")
WINDOW = 2
PATIENCE = 15


def put(file, value):
    """Into a file of tracing."""
    with open(f"{TRACING}/{file}", "w", encoding="ascii") as f:
        f.write(value)


class Trace:
    """What of rove is seen to run."""

    def __enter__(self):
        if not os.path.isdir(f"{TRACING}/events/sched"):
            raise ends.Skip("no tracepoints here")
        put("buffer_size_kb", "8192")
        self.switch("1")
        self.seen()
        return self

    def __exit__(self, *_):
        self.switch("0")
        put("trace", "")

    @staticmethod
    def switch(value):
        """All of the events that this kernel has."""
        for name in EVENTS:
            if os.path.isdir(f"{TRACING}/events/{name}"):
                put(f"events/{name}/enable", value)

    @staticmethod
    def seen():
        """Since it was last asked. Lines that have to do with rove, or say that some were lost."""
        with open(f"{TRACING}/trace", encoding="utf-8", errors="replace") as f:
            lines = f.readlines()
        put("trace", "")
        return [line.strip() for line in lines if
                "=rove" in line or "[rove]" in line or line.startswith("CPU:")]

    def comes_to_rest(self):
        """Nothing for a while, in the end."""
        check(self.seen(), "the trace shows nothing of what runs")
        end = time.monotonic() + PATIENCE * ends.SLOW / 2
        while True:
            time.sleep(WINDOW)
            lines = self.seen()
            if not lines:
                return
            check(time.monotonic() < end, "it goes on: " + " | ".join(lines[-6:]))


def writes(x, y, count, at_once):
    """So many, by polling."""
    ours, theirs = x.memory(65536), y.memory(65536)
    for first in range(0, count, at_once):
        ids = list(range(first, first + at_once))
        for wr_id in ids:
            x.send(wr_id, e.IBV_WR_RDMA_WRITE, [ours.sge()], (theirs.addr, theirs.rkey))
        x.sent_well(ids)


def rests_after(x, y, traffic):
    """The queue pairs stay open, and are alive afterwards."""
    with Trace() as trace:
        traffic(x, y)
        trace.comes_to_rest()
        traffic(x, y)


@test("after WRITEs with a full queue")
def full(_, x, y):
    """The engine was awake."""
    rests_after(x, y, lambda x, y: writes(x, y, 3200, 64))


@test("after WRITEs one by one")
def single(_, x, y):
    """It was woken now and then."""
    rests_after(x, y, lambda x, y: writes(x, y, 300, 1))


@test("after SENDs both ways, in turns")
def turns(_, x, y):
    """ACKs waited for answers."""
    def traffic(x, y):
        ours, theirs = x.memory(64), y.memory(64)
        for i in range(200):
            for one, other, mine, its in ((x, y, ours, theirs), (y, x, theirs, ours)):
                other.recv(i, [its.sge()])
                one.send(i, e.IBV_WR_SEND, [mine.sge()])
                other.received_well([i])
                one.sent_well([i])
    rests_after(x, y, traffic)


@test("after READs")
def reads(_, x, y):
    """A timer was armed for them."""
    def traffic(x, y):
        ours, theirs = x.memory(65536), y.memory(65536)
        for i in range(200):
            x.send(i, e.IBV_WR_RDMA_READ, [ours.sge()], (theirs.addr, theirs.rkey))
            x.sent_well([i])
    rests_after(x, y, traffic)


@test("after unreliable WRITEs", type=e.IBV_QPT_UC)
def unreliable(_, x, y):
    """Nobody says when they have arrived."""
    rests_after(x, y, lambda x, y: writes(x, y, 3200, 64))


@test("after a request that no receiver was ready for", rnr_retry=7)
def not_ready(_, x, y):
    """It is tried again without end, until the queue pair is in error."""
    sent = ends.counter(y.ctx.name, "rnr_sent")
    with Trace() as trace:
        ours = x.memory(64)
        x.send(1, e.IBV_WR_SEND, [ours.sge()])
        check(ends.wait_until(lambda: ends.counter(y.ctx.name, "rnr_sent") > sent),
              "the receiver was ready")
        x.to_state(e.IBV_QPS_ERR)
        x.sent()
        trace.comes_to_rest()


if __name__ == "__main__":
    ends.main(TESTS)
