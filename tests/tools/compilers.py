#!/usr/bin/env python3
"""Which compilers accept Locus: headers, programs, tests and mistakes by each compiler that is given or found.

    headers    all headers of include/ as one unit, twice
    programs   the programs of README.md and all examples, with templates instantiated
    tests      tests of each folder, built with -O2 and run
    mistakes   mistakes that docs/compile-errors.md shows in full: the first error line names operands and remedy
    cuda       by nvcc, with the compiler as host compiler: the headers of cuda_kernels/ as one unit, README.md's training
               program, and the messages of nvcc for mistakes of placement

    every-mistake   all of tests/compile_fail; the table has no column for it, and `all` leaves it out

Warnings are errors: -Wall -Wextra -Wpedantic -Wconversion -Wshadow. The suite does not run this program: its other checks
have g++ 12 and clang 14, and clang 19 for the mistakes.

usage: compilers.py [--parts PART,...] [--std c++NN] [--libc++] [--write] [COMPILER...]
  COMPILER   program or path, such as g++-14 or /opt/llvm/bin/clang++; default: the newest clang
  --parts    of the list above, or all; default: headers
  --std      another standard than C++20, such as c++26
  --libc++   clang with its own standard library instead of libstdc++ (of g++)
  --write    changes the rows of these compilers in docs/compilers.md
"""

import argparse
import os
import pathlib
import re
import shutil
import sys
import tempfile
import unittest.mock

import clang
import common
import compile_errors_page
import compile_fail
import headers
import readme
import together

PAGE = common.ROOT / "docs" / "compilers.md"
PARTS = ["headers", "programs", "tests", "mistakes", "cuda"]
ROW = re.compile(r"^\| ((?:g\+\+|clang) [\d.]+(?:, [^|]+)?) \|(.*)\|$", re.MULTILINE)
# A source of each kind: a minute or two in all.
TESTS = ["autograd/traced", "cpu/map", "expr/functions", "io/safetensors", "ops/softmax", "optim/adam", "tensor/tensor"]
# clang's variable of options that it adds to each of its command lines.
LIBCXX = "CCC_OVERRIDE_OPTIONS"


class Compiler:
    def __init__(self, path):
        self.path = path
        status, said = common.run([path, "--version"])
        version = re.search(r"\d+(\.\d+)+", re.sub(r"\(.*?\)", "", said.split("\n")[0]))
        if status or not version:
            sys.exit(f"compilers.py: {path} is no compiler: {said.strip()}")
        self.is_clang = "clang" in said.split("\n")[0]
        self.version = version[0]
        self.major = int(self.version.split(".")[0])
        self.name = f"{'clang' if self.is_clang else 'g++'} {self.version}"
        if common.CXX != ["-std=c++20"]:
            self.name += f", {common.CXX[0].removeprefix('-std=').upper()}"
        if LIBCXX in os.environ:
            self.name += ", libc++"

    def kind(self):
        """Of compile_fail.py; clang 19 changed the layout of messages."""
        return "gcc" if not self.is_clang else "clang19" if self.major >= 19 else "clang"

    def has_deleted_sentences(self):
        """Whether g++ prints clang's sentences for calls with but one mistake: C++26 deletes functions with them."""
        return not self.is_clang and self.major >= 15 and common.CXX == ["-std=c++26"]

    def further_lines(self, output):
        """Lines that it adds to a message: g++ 14 and later name an option that shows all candidates, and show the source of
        each step of an instantiation."""
        return 3 + 2 * output.count("   required from ") if not self.is_clang and self.major >= 14 else 0


def newest_clang():
    """The path of the clang with the largest number, or None."""
    found = {int(match[1]): path / match[0] for path in map(pathlib.Path, os.environ.get("PATH", "").split(":")) if path.is_dir()
             for entry in path.iterdir() if (match := re.fullmatch(r"clang\+\+-(\d+)", entry.name))}
    return found[max(found)] if found else shutil.which("clang++")


def run_headers(compiler, report, name):
    """All public headers as one unit."""
    of_all = common.sources("include", suffixes=(".hpp",))
    report.add(name, headers.check(of_all, "clang" if compiler.is_clang else "gcc", compiler.path))


def programs(scratch):
    """The files of the programs of README.md, and the examples."""
    files = []
    for name, source, _ in readme.sound_programs((common.ROOT / "README.md").read_text()):
        files.append(pathlib.Path(scratch, name))
        files[-1].write_text(source)
    folder = common.ROOT / "examples"
    return files + clang.built_programs(folder, common.sources("examples", suffixes=(".cpp",)))


def run_programs(compiler, report, name):
    with tempfile.TemporaryDirectory() as scratch:
        unit = pathlib.Path(scratch, "unit.cpp")
        unit.write_text(together.in_one_file(programs(scratch)))
        # main() in a namespace has no implicit return.
        status, said = common.run(clang.command(compiler.path, unit, f"-I{common.ROOT / 'examples'}", "-Wno-return-type"))
    report.add(name, said if status else None)


def run_tests(compiler, report, name):
    folder = common.ROOT / "tests"
    with tempfile.TemporaryDirectory() as scratch:
        unit, program = pathlib.Path(scratch, "unit.cpp"), pathlib.Path(scratch, "tests")
        unit.write_text(together.in_one_file([folder / f"{test}_test.cpp" for test in TESTS], devices_given=True))
        status, said = common.run([compiler.path, *common.CXX, "-O2", *clang.WARNINGS, "-pthread", *common.INCLUDES, f"-I{folder}", unit,
                                   folder / "main.cpp", "-o", program, "-lz"])
        if not status:
            status, said = common.run([program], env={"LOCUS_TEST_DIR": str(folder)}, timeout=1200)
    report.add(name, said[-4000:] if status else None)


def mistakes_shown():
    """The mistakes that docs/compile-errors.md shows in full."""
    return [compile_fail.FOLDER / f"{mistake}.cpp" for _, _, shown, _ in compile_errors_page.SUBJECTS for mistake in shown]


def problem_of_mistakes(kind, path, forms, mistakes, further_lines=lambda output: 0):
    """The problem of the mistakes, which are files, or None. `kind`: of compile_fail.py, for the command line. `forms`: kinds,
    of which one has the messages that a mistake must have. further_lines(output): how many it may have beyond its limit."""
    cases = []
    for source in mistakes:
        wanted, budget = compile_fail.read_expectations(source.read_text())
        if kind in wanted:
            cases.append((kind, path, source, [wanted[form] for form in forms if form in wanted], budget))
    said = {}
    for _, _, sources, flags in compile_fail.batches(cases):
        said.update(compile_fail.said_together(kind, path, sources, flags))

    def problem_of(case, status, output):
        _, _, source, expected, budget = case
        problems = [compile_fail.judge(source, status, output, regexes, budget + further_lines(output)) for regexes in expected]
        return None if None in problems else problems[0]

    def problem(case):
        source = case[2]
        if said.get(source) and problem_of(case, 1, said[source]) is None:
            return None
        return problem_of(case, *compile_fail.fail_alone(kind, path, source))

    bad = [f"{case[2].stem}: {why}" for case, why in common.parallel(problem, cases) if why]
    return f"{len(bad)} of {len(cases)} are not as expected:\n" + "\n".join(bad) if bad else None


def run_mistakes(compiler, report, name, mistakes=None):
    kind = compiler.kind()
    forms = [kind, "clang19"] if compiler.has_deleted_sentences() else [kind]
    report.add(name, problem_of_mistakes(kind, compiler.path, forms, mistakes or mistakes_shown(), compiler.further_lines))


def run_every_mistake(compiler, report, name):
    run_mistakes(compiler, report, name, sorted(compile_fail.FOLDER.rglob("*.cpp")))


def problem_of_cuda(compiler, nvcc):
    with tempfile.TemporaryDirectory() as scratch:
        unit = pathlib.Path(scratch, "unit.cpp")
        of_nvcc = headers.kernel_headers(nvcc, ".cuh")
        of_host = [f"-ccbin={compiler.path}"]
        if compiler.is_clang:  # which warns about the toolkit's headers, and about {.lr = 1} as nvcc hands it over
            of_host.append("-Xcompiler=-Wno-unused-function,-Wno-gnu-designator")
        unit.write_text("".join(f"#include <{header.relative_to(headers.KERNELS)}>\n" for header in of_nvcc))
        training = next(file for file in programs(scratch) if file.name == "training.cpp")
        for source in unit, training:
            status, said = common.run([*headers.command("nvcc", nvcc, of_nvcc, source), *of_host, *common.CXX, *common.INCLUDES,
                                       f"-I{headers.KERNELS}", source])
            if status:
                return said
    with unittest.mock.patch.dict(os.environ, NVCC_CCBIN=str(compiler.path)):
        return problem_of_mistakes("nvcc", nvcc, ["nvcc"], mistakes_shown())


def run_cuda(compiler, report, name):
    nvcc = common.find_nvcc()
    if not nvcc:
        return report.skip(name, "no nvcc here")
    return report.add(name, problem_of_cuda(compiler, nvcc))


RUN = {"headers": run_headers, "programs": run_programs, "tests": run_tests, "mistakes": run_mistakes, "cuda": run_cuda,
       "every-mistake": run_every_mistake}


def cell(part, compiler, report):
    """The cell of the table: yes, no, or empty where it could not run."""
    within = common.Report()
    RUN[part](compiler, within, f"{part} by {compiler.name}")
    report.merge(within)
    return "no" if within.failed else "yes" if within.passed else ""


def place_of(name):
    """The place of a row in the table: g++ before clang, older versions first."""
    kind, version, *further = re.split(r",? ", name)
    return kind == "clang", [int(part) for part in version.split(".")], further


def with_row(text, name, cells):
    """The page with these cells {part: text} in the row of a compiler; `name` like 'g++ 14.2.0' or 'clang 23.1.4, libc++'.
    A cell stays where the part could not run."""
    rows = list(ROW.finditer(text))
    of = {row[1]: [part.strip() for part in row[2].split("|")] for row in rows}
    old = of.get(name, [""] * len(PARTS))
    of[name] = [cells.get(part) or old[i] for i, part in enumerate(PARTS)]
    lines = [f"| {row} | " + " | ".join(of[row]) + " |" for row in sorted(of, key=place_of)]
    return text[:rows[0].start()] + "\n".join(lines) + text[rows[-1].end():]


def check(report):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default="headers", metavar="PART,...")
    parser.add_argument("--std", default="c++20")
    parser.add_argument("--libc++", action="store_true", dest="libcxx")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("compilers", nargs="*", metavar="COMPILER")
    options = parser.parse_args()
    parts = PARTS if options.parts == "all" else options.parts.split(",")
    if set(parts) - set(RUN):
        parser.error(f"--parts {options.parts}; expected all, or some of {','.join(RUN)}")
    common.CXX[:] = [f"-std={options.std}"]
    if options.libcxx:
        os.environ[LIBCXX] = "#+-stdlib=libc++"  # '#': without a message about each option
    paths = options.compilers or [path for path in [newest_clang()] if path]
    if not paths:
        return report.skip("headers by the newest clang", "no clang here")
    for compiler in map(Compiler, paths):
        if options.libcxx and not compiler.is_clang:
            parser.error(f"--libc++ with {compiler.path}; expected clang alone")
        cells = {part: cell(part, compiler, report) for part in parts}
        print(f"{compiler.name}: " + ", ".join(f"{part} {text or 'not run'}" for part, text in cells.items()), flush=True)
        if options.write:
            PAGE.write_text(with_row(PAGE.read_text(), compiler.name, cells))
    return None


if __name__ == "__main__":
    common.main(check)
