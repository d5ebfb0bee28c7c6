"""Tests of scripts as unittest cases, counted like the cases of test programs: common.main(cases.check)."""

import pathlib
import shutil
import tempfile
import unittest


class Scratch(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)

    def write(self, path, text):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        return target


class Result(unittest.TestResult):
    """Counts cases in a report."""

    def __init__(self, report):
        super().__init__()
        self.report = report

    def addSuccess(self, test):
        self.report.ok(test.id())

    def addFailure(self, test, error):
        self.report.fail(test.id(), self._exc_info_to_string(error, test))

    addError = addFailure

    def addSubTest(self, test, subtest, error):
        """unittest counts a case as passed only if all its subtests passed, and reports a failure here alone."""
        if error is not None:
            self.addFailure(subtest, error)

    def addSkip(self, test, reason):
        self.report.skip(test.id(), reason)


def check(report):
    unittest.defaultTestLoader.loadTestsFromModule(__import__("__main__")).run(Result(report))
