#!/usr/bin/env python3
"""The course: every lesson as shipped, solved and deleted, on every compiler that is here. g++ takes each by itself, as a
learner does; the others take many in one file. scripts/lessons --verify-all has all of them take each by itself."""

import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / folder) for folder in ("scripts/lib", "tests/tools")]
import common  # noqa: E402
from lessons import course, verify  # noqa: E402


def check(report):
    print(verify.verify(course.read_course(course.SHIPPED), verify.compile_fail.COMPILERS, report, alone=["gcc"]))


if __name__ == "__main__":
    common.main(check)
