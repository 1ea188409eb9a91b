# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Two connected queue pairs in one process, for the tests in Python.

In the shared mode of RDMA namespaces one process can open both devices,
though their netdevs are in two network namespaces: so nothing has to be
agreed on over another channel, and a test can look at both ends at once.
"""

import ctypes
import errno
import mmap
import os
import re
import select
import sys
import time
import traceback

from pyverbs import enums as e
from pyverbs.addr import AHAttr, GID, GlobalRoute
from pyverbs.cq import CQ, CompChannel
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPEx, QPInitAttr, QPInitAttrEx
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

SLOW = int(os.environ.get("SLOW", "2"))
ALL_ACCESS = (e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE |
              e.IBV_ACCESS_REMOTE_READ | e.IBV_ACCESS_REMOTE_ATOMIC)
SIGNALED = e.IBV_SEND_SIGNALED

INIT_MASK = (e.IBV_QP_STATE | e.IBV_QP_PKEY_INDEX | e.IBV_QP_PORT | e.IBV_QP_ACCESS_FLAGS)
RTR_MASK = (e.IBV_QP_STATE | e.IBV_QP_AV | e.IBV_QP_PATH_MTU | e.IBV_QP_DEST_QPN |
            e.IBV_QP_RQ_PSN | e.IBV_QP_MAX_DEST_RD_ATOMIC | e.IBV_QP_MIN_RNR_TIMER)
RTS_MASK = (e.IBV_QP_STATE | e.IBV_QP_TIMEOUT | e.IBV_QP_RETRY_CNT | e.IBV_QP_RNR_RETRY |
            e.IBV_QP_SQ_PSN | e.IBV_QP_MAX_QP_RD_ATOMIC)
# What there is of them without answers.
UC_MASK = (e.IBV_QP_STATE | e.IBV_QP_PKEY_INDEX | e.IBV_QP_PORT | e.IBV_QP_ACCESS_FLAGS |
           e.IBV_QP_AV | e.IBV_QP_PATH_MTU | e.IBV_QP_DEST_QPN | e.IBV_QP_RQ_PSN |
           e.IBV_QP_SQ_PSN)


class Fail(Exception):
    """The code under test did something wrong."""


class Skip(Exception):
    """The test cannot be run here."""


def check(what, text):
    """A test's assertion."""
    if not what:
        raise Fail(text)


def equal(got, wanted, what):
    """Two values are the same."""
    check(got == wanted, f"{what}: {short(got)}, wanted {short(wanted)}")


def short(value):
    """A value in few words, for messages."""
    text = value.hex() if isinstance(value, (bytes, bytearray)) else str(value)
    return text if len(text) < 80 else text[:77] + "..."


def same(got, wanted, what):
    """Two byte strings are the same; names the first byte that is not."""
    if got == wanted:
        return
    equal(len(got), len(wanted), f"{what}: length")
    at = next(i for i, pair in enumerate(zip(got, wanted)) if pair[0] != pair[1])
    raise Fail(f"{what}: byte {at} of {len(wanted)} is {got[at]:#x}, wanted {wanted[at]:#x}")


def refused(code, function, *args):
    """A call that must fail with this errno (or one of several)."""
    codes = code if isinstance(code, tuple) else (code,)
    try:
        function(*args)
    except PyverbsRDMAError as error:
        check(error.error_code in codes,
              f"refused with {errno.errorcode.get(error.error_code, error.error_code)}, "
              f"wanted {[errno.errorcode[c] for c in codes]}")
        return
    raise Fail("accepted, and should have been refused")


def status_name(status):
    """The name of a completion's status."""
    return next((name[7:] for name in dir(e)
                 if name.startswith("IBV_WC_") and getattr(e, name) == status
                 and (name.endswith("_ERR") or name == "IBV_WC_SUCCESS")), str(status))


def pattern(length, seed=0):
    """Bytes that differ from place to place and from seed to seed."""
    block = bytes((i * 131 + (i >> 8) * 7 + seed * 17 + 3) & 255 for i in range(min(length, 65521)))
    if length <= len(block):
        return block[:length]
    return (block * (length // len(block) + 1))[:length]


def wait_until(condition, seconds=5):
    """True as soon as the condition is."""
    end = time.monotonic() + seconds * SLOW / 2
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.001)
    return True


def counter(device, name):
    """Of the port's statistics: as it is, and not as it was some milliseconds ago."""
    folder = f"/sys/class/infiniband/{device}/ports/1/hw_counters"
    with open(f"{folder}/lifespan", "w", encoding="ascii") as f:
        f.write("0")
    with open(f"{folder}/{name}", encoding="ascii") as f:
        return int(f.read())


def node_description(device):
    """As its driver calls it."""
    with open(f"/sys/class/infiniband/{device}/node_desc", encoding="ascii") as f:
        return f.read()


def event_fds():
    """Descriptors of event channels; the bindings do not tell which is whose."""
    found = set()
    for fd in os.listdir("/proc/self/fd"):
        try:
            if "infinibandevent" in os.readlink(f"/proc/self/fd/{fd}"):
                found.add(int(fd))
        except OSError:
            pass
    return found


def readable(fd, seconds):
    """Whether there is something to read within this time."""
    return bool(select.select([fd], [], [], seconds)[0])


class Memory:
    """A buffer with guard bytes around it, registered."""
    GUARD = 64

    def __init__(self, pd, length, access=ALL_ACCESS, offset=0):
        self.length = length
        total = length + 2 * self.GUARD + offset
        self.map = mmap.mmap(-1, total)
        self.at = self.GUARD + offset
        self.map[:] = b"\xee" * total
        self.base = ctypes.addressof(ctypes.c_char.from_buffer(self.map))
        self.addr = self.base + self.at
        self.mr = MR(pd, length, access, address=self.addr)
        # Kept, since the bindings crash when a region that is gone is asked.
        self.rkey, self.lkey = self.mr.rkey, self.mr.lkey
        self.set(bytes(length))

    def set(self, data, at=0):
        """Write it as a program would."""
        self.map[self.at + at:self.at + at + len(data)] = data

    def get(self, length=None, at=0):
        """What is there."""
        if length is None:
            length = self.length - at
        return self.map[self.at + at:self.at + at + length]

    def sge(self, length=None, at=0):
        """A part of it to send or to receive into."""
        return SGE(self.addr + at, self.length - at if length is None else length, self.lkey)

    def check_guard(self):
        """Nobody wrote outside."""
        same(self.map[self.at - self.GUARD:self.at], b"\xee" * self.GUARD, "before the buffer")
        same(self.map[self.at + self.length:self.at + self.length + self.GUARD],
             b"\xee" * self.GUARD, "behind the buffer")


class End:
    """A device, a queue pair and what belongs to it."""

    def __init__(self, device, gid_index, options):
        self.gid_index = gid_index
        self.options = options
        self.channel = None
        self.seen = []
        self.owner = options.get("of")
        if self.owner:
            self.share(self.owner)
            return
        before = event_fds()
        self.ctx = Context(name=device)
        self.is_rove = node_description(device).startswith("rove")
        self.async_fd = (event_fds() - before).pop()
        self.pd = PD(self.ctx)
        if options.get("events"):
            before = event_fds()
            self.channel = CompChannel(self.ctx)
            self.channel_fd = (event_fds() - before).pop()
        cqe = options.get("cqe", 256)
        self.scq = CQ(self.ctx, cqe, None, self.channel, 0)
        self.rcq = CQ(self.ctx, options.get("rcqe", cqe), None, self.channel, 0)
        self.srq = None
        if options.get("srq"):
            self.srq = self.make_srq(options["srq"], options.get("sge", 4))
        self.qp = self.make_qp()

    def share(self, owner):
        """One more queue pair of the same context, domain and queues."""
        self.ctx, self.async_fd, self.pd = owner.ctx, owner.async_fd, owner.pd
        self.is_rove = owner.is_rove
        self.scq, self.rcq, self.srq = owner.scq, owner.rcq, owner.srq
        self.qp = self.make_qp()

    def make_srq(self, wrs, sges, pd=None):
        """An empty one."""
        return SRQ(pd or self.pd, SrqInitAttr(SrqAttr(max_wr=wrs, max_sge=sges)))

    def make_qp(self):
        """By the options, in state RESET."""
        o = self.options
        cap = QPCap(o.get("send_wr", 128), o.get("recv_wr", 128), o.get("sge", 4), o.get("sge", 4),
                    o.get("inline", 0))
        if o.get("ex"):
            ops = (e.IBV_QP_EX_WITH_SEND | e.IBV_QP_EX_WITH_SEND_WITH_IMM |
                   e.IBV_QP_EX_WITH_RDMA_WRITE | e.IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                   e.IBV_QP_EX_WITH_RDMA_READ | e.IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                   e.IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | o.get("ex_ops", 0))
            init = QPInitAttrEx(qp_type=e.IBV_QPT_RC, scq=self.scq, rcq=self.rcq, cap=cap,
                                sq_sig_all=o.get("sig_all", 0), pd=self.pd, send_ops_flags=ops,
                                comp_mask=e.IBV_QP_INIT_ATTR_PD |
                                e.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
            return QPEx(self.ctx, init)
        init = QPInitAttr(qp_type=o.get("type", e.IBV_QPT_RC), scq=self.scq, rcq=self.rcq,
                          cap=cap, sq_sig_all=o.get("sig_all", 0), srq=self.srq)
        return QP(self.pd, init)

    # ------------------------------------------------------------- connecting

    def mask(self, bits):
        """Of these attributes those that this kind of queue pair has."""
        return bits & UC_MASK if self.options.get("type") == e.IBV_QPT_UC else bits

    def gid(self):
        """Our address."""
        return self.ctx.query_gid(1, self.gid_index)

    def init_attr(self):
        """Attributes for RESET to INIT."""
        attr = QPAttr(qp_state=e.IBV_QPS_INIT, port_num=1)
        attr.pkey_index = self.options.get("pkey_index", 0)
        attr.qp_access_flags = self.options.get("access", ALL_ACCESS)
        return attr

    def rtr_attr(self, peer):
        """Attributes for INIT to RTR."""
        o = self.options
        attr = QPAttr(qp_state=e.IBV_QPS_RTR)
        route = GlobalRoute(dgid=GID(str(peer.gid())), sgid_index=self.gid_index)
        attr.ah_attr = AHAttr(gr=route, is_global=1, port_num=1)
        attr.path_mtu = o.get("mtu", e.IBV_MTU_1024)
        attr.dest_qp_num = peer.qp.qp_num
        attr.rq_psn = peer.options.get("psn", 0x123456)
        attr.max_dest_rd_atomic = o.get("dest_rd_atomic", 16)
        attr.min_rnr_timer = o.get("rnr_timer", 12)
        return attr

    def rts_attr(self):
        """Attributes for RTR to RTS."""
        o = self.options
        attr = QPAttr(qp_state=e.IBV_QPS_RTS)
        attr.timeout = o.get("timeout", 14)
        attr.retry_cnt = o.get("retry", 7)
        attr.rnr_retry = o.get("rnr_retry", 7)
        attr.sq_psn = o.get("psn", 0x123456)
        attr.max_rd_atomic = o.get("rd_atomic", 16)
        return attr

    def to_init(self):
        """RESET to INIT."""
        self.qp.modify(self.init_attr(), self.mask(INIT_MASK))

    def to_rtr(self, peer):
        """INIT to RTR."""
        self.qp.modify(self.rtr_attr(peer), self.mask(RTR_MASK))

    def to_rts(self):
        """RTR to RTS."""
        self.qp.modify(self.rts_attr(), self.mask(RTS_MASK))

    def to_state(self, state):
        """A change that needs nothing else."""
        self.qp.modify(QPAttr(qp_state=state), e.IBV_QP_STATE)

    def state(self):
        """As the kernel sees it."""
        return self.qp.query(e.IBV_QP_STATE)[0].qp_state

    # ---------------------------------------------------------------- posting

    def memory(self, length, access=ALL_ACCESS, offset=0, pd=None):
        """A registered buffer."""
        return Memory(pd or self.pd, length, access, offset)

    def send(self, wr_id, opcode, sges, remote=None, flags=SIGNALED, imm=0):
        """Post one; remote is (address, rkey) or, for atomics, with two operands."""
        wr = SendWR(wr_id, opcode, len(sges) or 1, imm, sges or [SGE(0, 0, 0)], flags)
        # The bindings want a piece at least; the hardware does not.
        wr.num_sge = len(sges)
        if remote and len(remote) == 4:
            wr.set_wr_atomic(remote[1], remote[0], remote[2], remote[3])
        elif remote:
            wr.set_wr_rdma(remote[1], remote[0])
        self.qp.post_send(wr)

    def recv(self, wr_id, sges):
        """Post a receive."""
        wr = RecvWR(wr_id, len(sges) or 1, sges or [SGE(0, 0, 0)])
        wr.num_sge = len(sges)
        (self.srq or self.qp).post_recv(wr)

    # ------------------------------------------------------------ completions

    def poll(self, cq, count, seconds=5):
        """That many completions, or fail."""
        got = []
        end = time.monotonic() + seconds * SLOW / 2
        while len(got) < count:
            number, wcs = cq.poll(count - len(got))
            got += wcs
            if not number:
                check(time.monotonic() < end,
                      f"{len(got)} completions of {count} came in {seconds * SLOW / 2} s" +
                      "".join(f"; {wc.wr_id}: {status_name(wc.status)}" for wc in got))
                time.sleep(0.0002)
        return got

    def sent(self, count=1, seconds=5):
        """Completions of sends, whatever their status."""
        return self.poll(self.scq, count, seconds)

    def received(self, count=1, seconds=5):
        """Completions of receives, whatever their status."""
        return self.poll(self.rcq, count, seconds)

    def sent_well(self, wr_ids, seconds=5):
        """These sends complete in this order without an error."""
        return well(self.sent(len(wr_ids), seconds), wr_ids)

    def received_well(self, wr_ids, seconds=5):
        """These receives complete in this order without an error."""
        return well(self.received(len(wr_ids), seconds), wr_ids)

    def nothing_more(self, seconds=0.02):
        """No completion that nobody waits for."""
        end = time.monotonic() + seconds
        while True:
            for cq in (self.scq, self.rcq):
                number, wcs = cq.poll(1)
                check(not number, "a completion too many: "
                      f"{[(wc.wr_id, status_name(wc.status)) for wc in wcs]}")
            if time.monotonic() > end:
                return
            time.sleep(0.002)

    # ----------------------------------------------------------------- events

    def async_event(self, seconds=3):
        """The next asynchronous event, or None."""
        if not readable(self.async_fd, seconds * SLOW / 2):
            return None
        event = self.ctx.get_async_event()
        kind = event.event_type
        event.ack()
        self.seen.append(kind)
        return kind

    def has_event(self, kind, seconds=3):
        """Such an event comes; others (of the connection, addresses) may come before."""
        end = time.monotonic() + seconds * SLOW / 2
        while time.monotonic() < end:
            if self.async_event(end - time.monotonic()) == kind:
                return True
        return False

    def close(self):
        """The queue pair first: the rest follows when nobody refers to it."""
        while self.async_event(0) is not None:
            pass
        self.qp.close()
        if self.owner:
            return
        if self.srq:
            self.srq.close()
        self.scq.close()
        self.rcq.close()
        if self.channel:
            self.channel.close()
        self.pd.close()
        self.ctx.close()


def well(wcs, wr_ids):
    """Completions without an error, in this order."""
    for wc, wr_id in zip(wcs, wr_ids):
        equal(status_name(wc.status), "SUCCESS", f"status of request {wr_id}")
        equal(wc.wr_id, wr_id, "request")
    return wcs


def failed(wcs, first, rest, wr_ids, qp_num):
    """The first of them failed with this status, the rest with that."""
    for i, (wc, wr_id) in enumerate(zip(wcs, wr_ids)):
        wanted = rest if i else first
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        check(wc.status in wanted,
              f"status of completion {i} is {status_name(wc.status)}, "
              f"wanted {[status_name(s) for s in wanted]}")
        equal(wc.wr_id, wr_id, f"request of completion {i}")
        equal(wc.qp_num, qp_num, f"queue pair of completion {i}")


class Pair:
    """Two ends, connected: x sends, y receives."""

    def __init__(self, names, connect=True, **options):
        self.names = names
        own = {name: value for name, value in options.items() if name[:2] not in ("x_", "y_")}
        both = [dict(own), dict(own)]
        for name, value in options.items():
            if name[:2] in ("x_", "y_"):
                both["xy".index(name[0])][name[2:]] = value
        self.x = End(names[0], int(names[2]), both[0])
        self.y = End(names[1], int(names[3]), both[1])
        if connect:
            self.connect()

    def connect(self):
        """Both to RTS."""
        for end, peer in ((self.x, self.y), (self.y, self.x)):
            end.to_init()
            end.to_rtr(peer)
        self.x.to_rts()
        self.y.to_rts()

    def close(self):
        """Both ends go."""
        self.x.close()
        self.y.close()


def left_out():
    """Regular expressions of names and the reasons why whoever runs the tests does not want
    them: lines of the file LEFT_OUT, with a tabulator between."""
    path = os.environ.get("LEFT_OUT")
    if not path:
        return []
    with open(path, encoding="utf-8") as f:
        return [line.rstrip("\n").split("\t") for line in f]


def run_ktap(tests, names, only=""):
    """Run tests (name, function) and print KTAP; the exit status."""
    tests = [(name, function) for name, function in tests if only in name]
    unwanted = left_out()
    bad = 0
    print("TAP version 13")
    print(f"1..{len(tests)}", flush=True)
    for number, (name, function) in enumerate(tests, 1):
        begin = time.monotonic()
        try:
            for expression, reason in unwanted:
                if re.fullmatch(expression, name):
                    raise Skip(reason)
            function(names)
            if time.monotonic() - begin > 3:
                print(f"# {time.monotonic() - begin:.1f} s:")
            print(f"ok {number} {name}", flush=True)
        except Skip as reason:
            print(f"ok {number} {name} # SKIP {reason}", flush=True)
        except Exception as error:  # pylint: disable=broad-except # whatever it is, the test failed
            bad += 1
            for frame in traceback.extract_tb(error.__traceback__):
                if "tests/selftests/" in frame.filename and frame.name not in ("run", "run_ktap"):
                    print(f"# line {frame.lineno} of {os.path.basename(frame.filename)}: "
                          f"{frame.line}")
            print(f"# {type(error).__name__}: {error}")
            print(f"not ok {number} {name}", flush=True)
    return 1 if bad else 0


def tester(tests):
    """A decorator, @test(name, **options): the function, given a fresh pair with these
    options and its two ends, is one of tests."""
    def test(name, **options):
        def register(function):
            def run(names):
                pair = Pair(names, **options)
                try:
                    function(pair, pair.x, pair.y)
                finally:
                    pair.close()
            tests.append((name, run))
            return function
        return register
    return test


def main(tests):
    """A script's whole main: SCRIPT DEVICE DEVICE GID-INDEX GID-INDEX [PATTERN]."""
    if len(sys.argv) < 5:
        sys.exit(f"usage: {sys.argv[0]} DEVICE DEVICE GID-INDEX GID-INDEX [PATTERN]")
    sys.exit(run_ktap(tests, sys.argv[1:5], sys.argv[5] if len(sys.argv) > 5 else ""))
