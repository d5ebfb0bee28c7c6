#!/usr/bin/env python3
"""Suites of Cpu's loops on an Arm processor: compiled for it by a cross compiler, run by an emulator."""

import pathlib
import re
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import common  # noqa: E402

COMPILER, DISASSEMBLER, EMULATOR = "aarch64-linux-gnu-g++", "aarch64-linux-gnu-objdump", "qemu-aarch64-static"
FLAGS = [*common.CXX, "-O2", "-fopenmp", "-static", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror",
         *common.INCLUDES, f"-I{common.ROOT / 'cuda_kernels'}", f"-I{common.ROOT / 'tests'}", "-DLOCUS_ZLIB=0"]

# Emulated, all products would take a minute.
SUITES = {"cpu/gemm": "*perceptron*,*large and lopsided*,*other element types*,*few rows*,*number of threads*",
          "cpu/map": "*", "cpu/reduce": "*", "cpu/rows": "*", "cpu/threads": "*",
          "expr/functions": "*", "ops/softmax": "*"}
# Multiply-adds of four floats: without them, products are right and slow.
VECTORS = "cpu/gemm", re.compile(r"\bfmla\s+v\d+\.4s")


def doctest_folder():
    """Where doctest/ is, which the cross compiler does not look for among the headers of this machine."""
    _, said = common.run(["g++", "-E", "-x", "c++", "-include", "doctest/doctest.h", "/dev/null"])
    found = re.search(r'"([^"\n]*)/doctest/doctest\.h"', said)
    return pathlib.Path(found[1]) / "doctest" if found else None


def run_suite(folder, suite):
    """(passed, skipped, problem)"""
    program = folder / suite.replace("/", "_")
    status, said = common.run([COMPILER, *FLAGS, "-isystem", folder, common.ROOT / "tests" / f"{suite}_test.cpp",
                               common.ROOT / "tests" / "main.cpp", "-o", program])
    if status or said:
        return 0, 0, said or "does not compile"
    status, said = common.run([EMULATOR, program, f"--test-case={SUITES[suite]}"],
                              env={"LOCUS_TEST_DIR": str(common.ROOT / "tests")})
    counts = common.COUNTS.search(said)
    if status or not counts:
        return 0, 0, said or f"ended with status {status}"
    if suite == VECTORS[0] and not VECTORS[1].search(common.run([DISASSEMBLER, "-d", program])[1]):
        return 0, 0, "products are computed without vectors"
    return int(counts[1]), int(counts[3]), None


def check(report):
    for tool in (COMPILER, DISASSEMBLER, EMULATOR):
        if not shutil.which(tool):
            return report.skip("suites on aarch64", f"{tool} is not here (Debian: g++-aarch64-linux-gnu, qemu-user-static)")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shutil.copytree(doctest_folder(), folder / "doctest")
        for suite, (passed, skipped, problem) in common.parallel(lambda suite: run_suite(folder, suite), SUITES):
            report.passed += passed
            report.skipped += skipped
            if problem or not passed:
                report.fail(f"{suite} on aarch64", problem or "no test ran")


if __name__ == "__main__":
    common.main(check)
