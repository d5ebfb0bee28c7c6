#!/usr/bin/env python3
"""`scripts/test --fast` runs the programs of the suite `fast`, and builds the target `host_tests`: every one of these
programs is an input of that target. The build folder has the tables of tests as the tests' first lines state them.

usage: fast_suite.py BUILD_DIR
"""

import pathlib
import subprocess
import sys

import common
import test_tables
import unchanged


def not_built(tests, build, inputs):
    """The tests of the suite whose program the target does not build. tests: as unchanged.tests_of returns them"""
    programs = {name: pathlib.Path(command[0]) for name, (suites, command) in tests.items() if "fast" in suites}
    return sorted(name for name, program in programs.items()
                  if program.is_relative_to(build) and program.relative_to(build).as_posix() not in inputs)


def check(report, build):
    report.add("tables of tests", test_tables.stale(build / "tests" / "test_tables.txt"))
    said = subprocess.run(["ninja", "-C", str(build), "-t", "query", "host_tests"], capture_output=True, text=True)
    if said.returncode:
        return report.fail("suite fast", said.stderr or said.stdout)
    missing = not_built(unchanged.tests_of(build), build, {line.strip(" |") for line in said.stdout.splitlines()})
    report.add("suite fast", f"host_tests does not build {', '.join(missing)}" if missing else None)


if __name__ == "__main__":
    common.main(lambda report: check(report, pathlib.Path(sys.argv[1]).resolve()))
