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


def check(report):
    class Result(unittest.TestResult):
        def addSuccess(self, test):
            report.ok(test.id())

        def addFailure(self, test, error):
            report.fail(test.id(), self._exc_info_to_string(error, test))

        addError = addFailure

        def addSkip(self, test, reason):
            report.skip(test.id(), reason)

    unittest.defaultTestLoader.loadTestsFromModule(__import__("__main__")).run(Result())
