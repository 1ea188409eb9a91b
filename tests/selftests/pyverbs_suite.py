#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Run rdma-core's own tests of verbs (its folder tests/) on one device.

    pyverbs_suite.py FOLDER DEVICE GID-INDEX SECONDS [PATTERN...]

FOLDER holds the suite, and is called tests.  Prints a line for each test that was run:
    begin ID
    ok ID | skip ID REASON | not ID
and what a failed one has to say before its line, with "# ".  Tests whose ID matches
-PATTERN are left out; with a PATTERN without "-", all others are.  A test that takes
longer than SECONDS ends the program.
"""

import faulthandler
import fnmatch
import os
import sys
import unittest


def name_of(test):
    """test_x.Class.test_y"""
    return test.id().removeprefix("tests.")


class Result(unittest.TestResult):
    """Tells how each test went, at once."""

    def __init__(self, seconds):
        super().__init__()
        self.seconds = seconds
        self.bad = False

    def startTest(self, test):
        super().startTest(test)
        self.bad = False
        faulthandler.dump_traceback_later(self.seconds, exit=True)
        print("begin", name_of(test), flush=True)

    def stopTest(self, test):
        super().stopTest(test)
        faulthandler.cancel_dump_traceback_later()

    def addSuccess(self, test):
        super().addSuccess(test)
        print("not" if self.bad else "ok", name_of(test), flush=True)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        print("skip", name_of(test), " ".join(reason.split()), flush=True)

    def failed(self, test, err):
        """A failure or an error."""
        for line in self._exc_info_to_string(err, test).splitlines():
            print("#", line)
        print("not", name_of(test), flush=True)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.failed(test, err)

    def addError(self, test, err):
        super().addError(test, err)
        self.failed(test, err)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:
            self.bad = True
            self.failed(test, err)


def all_tests(suite):
    """The tests of a suite of suites."""
    for part in suite:
        if isinstance(part, unittest.TestSuite):
            yield from all_tests(part)
        else:
            yield part


def wanted(name, patterns):
    """What the command line says of a test."""
    take = [p for p in patterns if not p.startswith("-")]
    leave = [p[1:] for p in patterns if p.startswith("-")]
    if take and not any(fnmatch.fnmatchcase(name, p) for p in take):
        return False
    return not any(fnmatch.fnmatchcase(name, p) for p in leave)


def load(folder, device, gid):
    """All tests of the suite, which looks at the command line for its device."""
    sys.path[:0] = [folder, os.path.dirname(folder)]
    sys.argv = ["tests", "--dev", device, "--gid", gid]
    # pylint: disable=import-outside-toplevel,import-error
    from args_parser import parser
    parser.parse_args()
    import tests
    return all_tests(unittest.defaultTestLoader.loadTestsFromModule(tests))


def main():
    """Status 0 if none failed."""
    folder, device, gid, seconds = sys.argv[1:5]
    patterns = sys.argv[5:]
    suite = unittest.TestSuite(t for t in load(os.path.abspath(folder), device, gid)
                               if wanted(name_of(t), patterns))
    result = Result(int(seconds))
    suite.run(result)
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
