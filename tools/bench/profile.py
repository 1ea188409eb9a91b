# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Samples of a guest of User Mode Linux, as perf script prints them, by function.

usage: profile.py KALLSYMS MAPS LINES FUNCTION

perf knows the functions of the guest's kernel, which is a program here, but not those of
modules: KALLSYMS is the guest's, MAPS that of its process. With a FUNCTION: what called
it."""

import bisect
import collections
import sys

CALLERS = 7
# A function is not longer; beyond the last symbol there are other mappings.
FUNCTION_MAX = 1 << 16


class Symbols:
    """Functions of the guest's modules."""

    def __init__(self, kallsyms, maps):
        found = {}
        with open(kallsyms, encoding="ascii") as lines:
            for line in lines:
                address, kind, name = line.split(maxsplit=2)
                if kind in "tTwW":
                    found[int(address, 16)] = name.split("\t")[0].strip()
        self.addresses = sorted(found)
        self.names = [found[address] for address in self.addresses]

        # The guest's memory is a file, mapped as a whole and, for modules, by pages again,
        # further up. perf has the offset in the file.
        self.mapped = {}
        with open(maps, encoding="utf-8") as lines:
            for line in lines:
                words = line.split()
                if len(words) < 6 or not words[5].startswith("/dev/shm") or "x" not in words[1]:
                    continue
                start, end = (int(word, 16) for word in words[0].split("-"))
                for page in range(0, end - start, 4096):
                    self.mapped[(int(words[2], 16) + page) >> 12] = start + page

    def of(self, address, symbol, file):
        """The function, with a mark if it is the host's."""
        if symbol != "[unknown]":
            return symbol if file.endswith("/linux") else f"host: {symbol}"
        if file.startswith("/dev/shm"):
            address = self.mapped.get(address >> 12, 0) + (address & 4095)
        at = bisect.bisect(self.addresses, address) - 1
        if at < 0 or address - self.addresses[at] > FUNCTION_MAX:
            return "?"
        return self.names[at]


def samples(lines):
    """(process, thread, [(address, symbol, file), ...]), innermost first."""
    head, chain = None, []
    for line in lines:
        words = line.split()
        if not words:
            if head:
                yield head[0], head[1], chain
            head, chain = None, []
        elif line[0] not in " \t":
            head = (words[0], words[1])
        else:
            chain.append((int(words[0], 16), words[1], words[2].strip("()")))
    if head:
        yield head[0], head[1], chain


def main():
    symbols = Symbols(sys.argv[1], sys.argv[2])
    shown, wanted = int(sys.argv[3]), sys.argv[4]
    counts = collections.defaultdict(collections.Counter)
    for process, thread, chain in samples(sys.stdin):
        who = f"CPU (thread {thread})" if process == "linux" else f"process (thread {thread})"
        names = [symbols.of(*where) if process == "linux" else where[1] for where in chain]
        if not names:
            continue
        if not wanted:
            counts[who][names[0]] += 1
        elif wanted in names:
            at = names.index(wanted)
            counts[who][" < ".join(names[at + 1:at + 1 + CALLERS])] += 1
        else:
            counts[who]["(not in it)"] += 1
    for who, functions in sorted(counts.items(), key=lambda item: -item[1].total()):
        total = functions.total()
        if total < 100:
            continue
        print(f"{who}: {total} samples")
        for name, count in functions.most_common(shown):
            print(f"  {100 * count / total:5.1f} % {name}")


if __name__ == "__main__":
    main()
