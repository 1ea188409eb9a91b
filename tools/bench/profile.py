# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Samples of a guest of User Mode Linux, as perf script prints them, by function.

usage: profile.py KALLSYMS LINES FUNCTION

KALLSYMS is the guest's: perf does not know the functions of modules. With a FUNCTION:
what called it."""

import bisect
import collections
import sys

CALLERS = 7
# A function is not longer; beyond the last symbol there are other mappings.
FUNCTION_MAX = 1 << 16


class Symbols:
    """Functions of the guest's kernel by address."""

    def __init__(self, path):
        found = {}
        with open(path, encoding="ascii") as lines:
            for line in lines:
                address, kind, name = line.split(maxsplit=2)
                if kind in "tTwW":
                    found[int(address, 16)] = name.split("\t")[0].strip()
        self.addresses = sorted(found)
        self.names = [found[address] for address in self.addresses]

    def name(self, address):
        """None: not the guest's kernel."""
        at = bisect.bisect(self.addresses, address) - 1
        if at < 0 or address - self.addresses[at] > FUNCTION_MAX:
            return None
        return self.names[at]


def samples(lines):
    """(process, thread, [(address, symbol), ...]), innermost first."""
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
            chain.append((int(words[0], 16), words[1] if len(words) > 1 else "?"))
    if head:
        yield head[0], head[1], chain


def main():
    symbols = Symbols(sys.argv[1])
    shown, wanted = int(sys.argv[2]), sys.argv[3]
    counts = collections.defaultdict(collections.Counter)
    for process, thread, chain in samples(sys.stdin):
        if process not in ("linux", "uml-userspace"):
            continue
        who = f"CPU (thread {thread})" if process == "linux" else f"process (thread {thread})"
        # Addresses of the guest's user space may look like those of its kernel.
        names = [symbols.name(address) or f"host: {symbol}" if process == "linux" else symbol
                 for address, symbol in chain]
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
