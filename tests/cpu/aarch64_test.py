#!/usr/bin/env python3
"""Tests of Cpu's loops on Arm: built by a cross compiler, run by an emulator."""

import pathlib
import re
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import common  # noqa: E402
import together  # noqa: E402

COMPILER, DISASSEMBLER, EMULATOR = "aarch64-linux-gnu-g++", "aarch64-linux-gnu-objdump", "qemu-aarch64-static"
FLAGS = [*common.CXX, "-O2", "-fopenmp", "-static", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror",
         *common.INCLUDES, f"-I{common.ROOT / 'cuda_kernels'}", f"-I{common.ROOT / 'tests'}", "-DLOCUS_ZLIB=0"]

# A subset: under emulation, all products take a minute.
SUITES = {"cpu/gemm": "*perceptron*,*large and lopsided*,*other element types*,*few rows*,*number of threads*",
          "cpu/map": "*", "cpu/reduce": "*", "cpu/rows": "*", "cpu/threads": "*",
          "expr/functions": "*", "ops/softmax": "*"}
# Multiply-adds of four floats; without them, products are correct but slow.
VECTORS = "cpu/gemm", re.compile(r"\bfmla\s+v\d+\.4s")


def doctest_folder():
    """The folder that contains doctest/. The cross compiler does not search this machine's headers for it."""
    _, said = common.run(["g++", "-E", "-x", "c++", "-include", "doctest/doctest.h", "/dev/null"])
    found = re.search(r'"([^"\n]*)/doctest/doctest\.h"', said)
    return pathlib.Path(found[1]) / "doctest" if found else None


# Suites of one translation unit, because most of the compile time goes into shared headers.
UNITS = [["cpu/gemm"], ["cpu/map"], ["cpu/reduce"], ["expr/functions", "ops/softmax"],
         ["cpu/rows", "cpu/threads"]]


def compile_source(folder, source, target):
    """The compiler's output; empty if it succeeds."""
    status, said = common.run([COMPILER, *FLAGS, "-isystem", folder, "-c", source, "-o", target])
    return said or ("does not compile" if status else "")


def build(folder, unit):
    """(program, problem)"""
    name = unit[0].replace("/", "_")
    source, program = folder / f"{name}.cpp", folder / name
    source.write_text(together.in_one_file([common.ROOT / "tests" / f"{suite}_test.cpp" for suite in unit]))
    said = compile_source(folder, source, program.with_suffix(".o"))
    if not said:
        status, said = common.run([COMPILER, *FLAGS, program.with_suffix(".o"), folder / "main.o", "-o", program])
        said = said or ("does not link" if status else "")
    if not said and VECTORS[0] in unit and not VECTORS[1].search(common.run([DISASSEMBLER, "-d", program])[1]):
        said = "products are computed without vectors"
    return program, said


def run_suite(program, suite):
    """(passed, skipped, problem)"""
    status, said = common.run([EMULATOR, program, f"--test-case={SUITES[suite]}", f"--source-file=*/{suite}_test.cpp"],
                              env={"LOCUS_TEST_DIR": str(common.ROOT / "tests")})
    counts = common.COUNTS.search(said)
    if status or not counts:
        return 0, 0, said or f"ended with status {status}"
    return int(counts[1]), int(counts[3]), None


def run_unit(folder, unit):
    """[(suite, passed, skipped, problem)]"""
    program, problem = build(folder, unit)
    if problem:
        return [(suite, 0, 0, problem) for suite in unit]
    return [(suite, *run_suite(program, suite)) for suite in unit]


def check(report):
    for tool in (COMPILER, DISASSEMBLER, EMULATOR):
        if not shutil.which(tool):
            return report.skip("suites on aarch64", f"{tool} is not here (Debian: g++-aarch64-linux-gnu, qemu-user-static)")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shutil.copytree(doctest_folder(), folder / "doctest")
        said = compile_source(folder, common.ROOT / "tests" / "main.cpp", folder / "main.o")
        if said:
            return report.fail("main.cpp on aarch64", said)
        for _, results in common.parallel(lambda unit: run_unit(folder, unit), UNITS):
            for suite, passed, skipped, problem in results:
                report.passed += passed
                report.skipped += skipped
                if problem or not passed:
                    report.fail(f"{suite} on aarch64", problem or "no test ran")


if __name__ == "__main__":
    common.main(check)
