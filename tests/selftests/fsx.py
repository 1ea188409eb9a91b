#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A file that is read, written and cut at random, against a model of it.

usage: fsx.py FILE OPERATIONS SEED [direct]

Everything follows from the seed.  "direct" opens with O_DIRECT, so that nothing comes
from a cache; without it the cache is dropped now and then.  Ends with a look at the
whole file.  Offsets and lengths are odd on purpose, most of them small, some large.
"""

import mmap
import os
import random
import sys

LARGEST = 4 << 20
ONE_IO = 300 << 10


class File:
    """The file, and what should be in it."""

    def __init__(self, path, seed, direct):
        self.random = random.Random(seed)
        self.direct = direct
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | (os.O_DIRECT if direct else 0)
        self.fd = os.open(path, flags, 0o600)
        self.model = bytearray()
        # Whole pages, as some file systems ask of direct I/O.
        self.buffer = mmap.mmap(-1, ONE_IO + 4096)
        self.done = 0

    def place(self, end):
        """Offset and length of an access that begins below end."""
        length = self.random.choice((
            self.random.randrange(1, 200), self.random.randrange(1, 9000),
            4096 * self.random.randrange(1, 9), self.random.randrange(1, ONE_IO)))
        offset = self.random.randrange(max(1, end))
        if self.random.random() < 0.3:
            offset &= ~4095
        return offset, min(length, LARGEST - offset)

    def fail(self, what, offset, got, wanted):
        """Names the first byte that is wrong."""
        at = next((i for i, pair in enumerate(zip(got, wanted)) if pair[0] != pair[1]),
                  min(len(got), len(wanted)))
        sys.exit(f"operation {self.done}: {what}: {len(got)} bytes at {offset}, wanted "
                 f"{len(wanted)}; byte {offset + at} is wrong")

    def write(self):
        """May leave a hole, and may make the file longer."""
        offset, length = self.place(min(LARGEST - ONE_IO, len(self.model) + 20000))
        data = self.random.randbytes(length)
        self.buffer[:length] = data
        with memoryview(self.buffer)[:length] as view:
            wrote = os.pwrite(self.fd, view, offset)
        if wrote != length:
            sys.exit(f"operation {self.done}: wrote {wrote} of {length}")
        if len(self.model) < offset:
            self.model.extend(bytes(offset - len(self.model)))
        self.model[offset:offset + length] = data

    def read(self):
        """May reach beyond the end."""
        offset, length = self.place(len(self.model))
        with memoryview(self.buffer)[:length] as view:
            count = os.preadv(self.fd, [view], offset)
        wanted = self.model[offset:offset + length]
        if self.buffer[:count] != wanted:
            self.fail("read", offset, self.buffer[:count], wanted)

    def read_mapped(self):
        """By the page cache's own way of reading ahead."""
        if self.direct or not self.model:
            self.read()
            return
        offset, length = self.place(len(self.model))
        with mmap.mmap(self.fd, len(self.model), prot=mmap.PROT_READ) as view:
            got, wanted = view[offset:offset + length], self.model[offset:offset + length]
        if got != wanted:
            self.fail("map", offset, got, wanted)

    def write_mapped(self):
        """Pages that the kernel writes back when it likes."""
        if self.direct or not self.model:
            self.write()
            return
        offset, length = self.place(len(self.model))
        data = self.random.randbytes(min(length, len(self.model) - offset))
        with mmap.mmap(self.fd, len(self.model)) as view:
            view[offset:offset + len(data)] = data
        self.model[offset:offset + len(data)] = data

    def cut(self):
        """Shorter or longer."""
        size = self.random.randrange(min(LARGEST, len(self.model) * 2 + 5000))
        os.ftruncate(self.fd, size)
        del self.model[size:]
        self.model.extend(bytes(size - len(self.model)))

    def forget(self):
        """What is read next comes from the server."""
        os.fsync(self.fd)
        os.posix_fadvise(self.fd, 0, 0, os.POSIX_FADV_DONTNEED)

    def check_all(self):
        """The whole file."""
        self.forget()
        if os.fstat(self.fd).st_size != len(self.model):
            sys.exit(f"size {os.fstat(self.fd).st_size}, wanted {len(self.model)}")
        for offset in range(0, len(self.model), 65536):
            with memoryview(self.buffer)[:65536] as view:
                count = os.preadv(self.fd, [view], offset)
            wanted = self.model[offset:offset + 65536]
            if self.buffer[:count] != wanted:
                self.fail("at the end", offset, self.buffer[:count], wanted)

    def run(self, operations):
        """As many operations."""
        kinds = ([self.write] * 8 + [self.read] * 8 + [self.read_mapped] * 2 +
                 [self.write_mapped] * 2 + [self.cut] + [self.forget])
        for self.done in range(operations):
            self.random.choice(kinds)()
        self.check_all()
        os.close(self.fd)


def main():
    """See above."""
    path, operations, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    File(path, seed, "direct" in sys.argv[4:]).run(operations)
    print(f"{operations} operations, all as they should be")


if __name__ == "__main__":
    main()
