#!/usr/bin/env python3
"""Programs that must not compile, and whose first error must say what to do.

Every tests/compile_fail/*.cpp is one such program, built twice by each compiler present (g++, clang 14, clang 19,
nvcc): as it stands, which must succeed, and with -DLOCUS_MUST_FAIL, which must fail. A file looks like this:

    // Adding tensors of two devices.
    // expect-error: Cpu.*Cuda              the first error line matches this (Python regular expression)
    // expect-error: \\.to<Cuda>\\(\\)          several lines: it matches each
    // expect-error(gcc): left_is_on         only of this compiler: gcc, clang (any version), clang19 or nvcc
    // compilers: gcc clang clang19          default: all four
    // lines: 10                             what a compiler prints at most, without blank lines; default: 12
    #include <locus/locus.hpp>

    auto sum(locus::Tensor<float, locus::Cpu> x, locus::Tensor<float, locus::Cuda> w) {
    #ifdef LOCUS_MUST_FAIL
      return x + w;
    #else
      return x + w.to<locus::Cpu>();
    #endif
    }

The first error line is the first with "error:" in it. It must point into the file itself, not into a header.
A compiler that is present and named, yet has nothing to match, is an error of the file.

usage: compile_fail.py [--dir DIR] [NAME...]
"""

import argparse
import pathlib
import re
import tempfile

import common

DIRECTIVE = re.compile(r"^//\s*(expect-error|compilers|lines)(?:\((\w+)\))?:\s*(.*\S)\s*$")
LINES = 12
COMPILERS = ["gcc", "clang", "clang19", "nvcc"]


def command(compiler, path, source, scratch):
    if compiler == "nvcc":
        return [path, "-x", "cu", *common.CXX, *common.INCLUDES, f"-I{common.ROOT / 'cuda_kernels'}", "-arch=sm_90",
                "-Werror", "cross-execution-space-call", "-c", source, "-o", pathlib.Path(scratch) / "object.o"]
    return [path, *common.CXX, *common.INCLUDES, "-fsyntax-only", source]


def read_expectations(text):
    """({compiler: [regex]} for each compiler of the file, line budget). raises ValueError"""
    expectations, compilers, budget = [], COMPILERS, LINES
    for line in text.splitlines():
        match = DIRECTIVE.match(line)
        if not match:
            continue
        key, of, value = match.groups()
        if key == "expect-error":
            if of not in (None, *COMPILERS):
                raise ValueError(f"unknown compiler in: {line}")
            re.compile(value)
            expectations.append((of, value))
        elif key == "compilers":
            compilers = value.split()
        else:
            budget = int(value)
    wanted = {name: [regex for of, regex in expectations if of is None or name.startswith(of)] for name in compilers}
    silent = [name for name, regexes in wanted.items() if not regexes]
    if silent:
        raise ValueError(f"no '// expect-error: <regex>' for {', '.join(silent)}")
    if "LOCUS_MUST_FAIL" not in text:
        raise ValueError("no LOCUS_MUST_FAIL branch")
    return wanted, budget


def judge(source, status, output, regexes, budget):
    """None, or what is wrong with a failing branch that printed this."""
    shown = f"\nthe compiler said:\n{output}"
    if status == 0:
        return "compiles with -DLOCUS_MUST_FAIL, but must not"
    first = next((line for line in output.splitlines() if re.search(r"\berror\b.*:", line)), None)
    if first is None:
        return "failed without an error line" + shown
    if not re.match(re.escape(str(source)) + r"[:(]\d+", first):
        return f"the first error is not in the file itself: {first}" + shown
    for regex in regexes:
        if not re.search(regex, first):
            return f"the first error line does not match '{regex}': {first}" + shown
    printed = sum(1 for line in output.splitlines() if line.strip())
    if printed > budget:
        return f"{printed} lines printed, {budget} allowed" + shown
    return None


INCLUDE = re.compile(r"^\s*#\s*include\b.*$", re.MULTILINE)


def control_problem(build):
    status, output = common.run(build)
    return f"the control does not compile:\n{output}" if status else None


def controls_compile_together(path, sources):
    """Whether nvcc, which takes seconds for each file, takes all of them as namespaces of one."""
    texts = [source.read_text() for source in sources]
    includes = sorted({line for text in texts for line in INCLUDE.findall(text)})
    spaces = [f"namespace control_{i} {{\n{INCLUDE.sub('', text)}\n}}" for i, text in enumerate(texts)]
    with tempfile.TemporaryDirectory() as scratch:
        together = pathlib.Path(scratch) / "controls.cpp"
        together.write_text("\n".join([*includes, *spaces, ""]))
        return control_problem(command("nvcc", path, together, scratch)) is None


def check_case(compiler, path, source, regexes, budget, control_is_good):
    with tempfile.TemporaryDirectory() as scratch:
        build = command(compiler, path, source, scratch)
        problem = None if control_is_good else control_problem(build)
        return problem or judge(source, *common.run([*build, "-DLOCUS_MUST_FAIL"]), regexes, budget)


def check_folder(folder, report, names=(), compilers=None):
    compilers = common.find_compilers(every=True) if compilers is None else compilers
    cases = []
    for source in sorted(pathlib.Path(folder).glob("*.cpp")):
        if names and source.stem not in names:
            continue
        try:
            wanted, budget = read_expectations(source.read_text())
        except (ValueError, re.error) as error:
            report.fail(source.name, error)
            continue
        for name, regexes in wanted.items():
            if name in compilers:
                cases.append([name, compilers[name], source, regexes, budget, False])
            else:
                report.skip(f"{source.stem} ({name})", f"{name} is not here")
    by_nvcc = [case for case in cases if case[0] == "nvcc"]
    if len(by_nvcc) > 2:
        good = controls_compile_together(compilers["nvcc"], [case[2] for case in by_nvcc])
        for case in by_nvcc:
            case[-1] = good
    for case, problem in common.parallel(lambda case: check_case(*case), cases):
        report.add(f"{case[2].stem} ({case[0]})", problem)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", default=common.ROOT / "tests" / "compile_fail")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these files, without .cpp")
    options = parser.parse_args()
    common.main(lambda report: check_folder(options.dir, report, options.names))
