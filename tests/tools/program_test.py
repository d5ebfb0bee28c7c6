#!/usr/bin/env python3
"""A program that must end with status 0, counted as one case.

    program_test.py PROGRAM [ARGUMENT...]
"""

import pathlib
import sys

import common


def problem_of(command):
    """How the program failed, or None."""
    status, output = common.run(command)
    return f"ended with status {status}\n{output[-6000:]}" if status else None


if __name__ == "__main__":
    common.main(lambda report: report.add(pathlib.Path(sys.argv[1]).name, problem_of(sys.argv[1:])))
