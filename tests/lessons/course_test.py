#!/usr/bin/env python3
"""The course: every lesson as shipped, solved and deleted, on every installed compiler, many of them in one file.
scripts/lessons --verify-all compiles each by itself, as a learner does."""

import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / folder) for folder in ("scripts/lib", "tests/tools")]
import common  # noqa: E402
from lessons import course, verify  # noqa: E402


def check(report):
    print(verify.verify(course.read_course(course.SHIPPED), verify.compile_fail.COMPILERS, report, alone=False))


if __name__ == "__main__":
    common.main(check)
