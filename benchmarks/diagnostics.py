#!/usr/bin/env python3
"""Compiler output for four mistakes, made with Locus, Kokkos, Thrust and Eigen.

usage: diagnostics.py [--kokkos DIR]... [--thrust DIR] [--eigen DIR] [--json FILE] [MISTAKE...]

The mistakes: operands in two places, a host access to GPU memory, operands of two element types, and a wrong argument
that passes through one function template into another. Each is a program in peers/diagnostics/LIBRARY, built twice by
g++, clang++ and nvcc (-std=c++20, common warnings on): corrected, as it stands, which must succeed, or the result is
void; and with -DMISTAKE. Its leading comments are directives:

    // way: kernel               the way of this program, if a library has several
    // compilers: nvcc           default: all three; host compilers see one place alone in Kokkos and in Thrust
    // both: float.*double       names the two places or types: generous, any words that name them will do
    // remedy: (?i)cast          names the remedy
    // unnoticed: rounds         the result at run time if the mistake compiles

Lines that the corrected program prints, too, do not count. "yes": in the first error, or in the first warning if the
mistake compiles; "line 12": only there. File names are ignored.

Libraries that are not installed are left out: Kokkos is an installation (give two, one with the Cuda backend for nvcc
and one without for the host compilers), Thrust is in the CUDA toolkit, Eigen in Debian's libeigen3-dev.
"""

import argparse
import pathlib
import re
import sys
import tempfile
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "tools"), str(ROOT / "benchmarks" / "support"), str(ROOT / "scripts" / "lib")]
import common  # noqa: E402
import compile_fail  # noqa: E402
import cpu_programs  # noqa: E402
import json_text  # noqa: E402
import whole_file  # noqa: E402

PROGRAMS = ROOT / "benchmarks" / "peers" / "diagnostics"
MISTAKES = ["mixed_places", "host_access", "mixed_types", "nested_call"]
COMPILERS = ["gcc", "clang", "nvcc"]
WARNINGS = ["-Wall", "-Wextra", "-Wconversion"]
DIRECTIVE = re.compile(r"^// (way|compilers|both|remedy|unnoticed): (.*\S)\s*$", re.MULTILINE)
COLUMNS = {"mistake": 13, "library": 19, "compiler": 9, "outcome": 9, "lines": 6, "names both": 11, "remedy": 9,
           "your file": 9}


class Library(NamedTuple):
    name: str
    version: str
    flags: dict  # {compiler: flags} of the supported compilers


def system(*folders):
    return [part for folder in folders for part in ("-isystem", folder)]


def number(header, macro):
    return int(re.search(rf"#\s*define {macro} (\d+)", header.read_text()).group(1))


def first_folder(holding, given, usual):
    """The first of the folders that holds such a file, or None. Exits if a given folder does not."""
    found = next((folder for folder in ([given] if given else usual) if (folder / holding).is_file()), None)
    if given and not found:
        sys.exit(f"diagnostics.py: '{given}' has no {holding}")
    return found


def find_locus():
    include, kernels = system(ROOT / "include"), system(ROOT / "cuda_kernels")
    commit = common.run(["git", "-C", ROOT, "describe", "--always", "--dirty"])[1].strip()
    return Library("Locus", commit, {"gcc": include, "clang": include, "nvcc": include + kernels})


def find_kokkos(prefixes):
    flags, version = {}, None
    for prefix in prefixes or [pathlib.Path("/usr/local"), pathlib.Path("/usr")]:
        given = prefix / "include" if prefixes else None
        include = first_folder("KokkosCore_config.h", given, [prefix / "include"])
        if include:
            config = include / "KokkosCore_config.h"
            version = number(config, "KOKKOS_VERSION")
            cuda = re.search(r"#define KOKKOS_ENABLE_CUDA$", config.read_text(), re.MULTILINE)
            path = [] if include == pathlib.Path("/usr/include") else system(include)
            for compiler in ["nvcc"] if cuda else ["gcc", "clang"]:
                flags.setdefault(compiler, path + (["-extended-lambda"] if cuda else []))
    return version and Library("Kokkos", f"{version // 10000}.{version // 100 % 100}.{version % 100:02}", flags)


def find_thrust(given):
    toolkit = pathlib.Path(common.find_nvcc() or "/usr/local/cuda/bin/nvcc").resolve().parents[1] / "include"
    include = first_folder("thrust/version.h", given, [toolkit / "cccl", toolkit])
    if not include:
        return None
    version = number(include / "thrust" / "version.h", "THRUST_VERSION")
    host = system(include, toolkit) + ["-DTHRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_CPP"]
    return Library("Thrust", f"{version // 100000}.{version // 100 % 1000}.{version % 100}",
                   {"gcc": host, "clang": host, "nvcc": [f"-I{include}"] if given else []})


def find_eigen(given):
    usual = [pathlib.Path("/usr/local/include/eigen3"), pathlib.Path("/usr/include/eigen3")]
    include = first_folder("Eigen/Core", given, usual)
    if not include:
        return None
    macros = include / "Eigen" / "src" / "Core" / "util" / "Macros.h"
    version = [number(macros, f"EIGEN_{part}_VERSION") for part in ("WORLD", "MAJOR", "MINOR")]
    # nvcc would warn about every defaulted function that is marked __device__.
    flags = {"gcc": system(include), "clang": system(include), "nvcc": [*system(include), "-diag-suppress=20012"]}
    return Library("Eigen", ".".join(map(str, version)), flags)


def read_directives(text):
    """{directive: value} of a program. raises ValueError"""
    found = dict(DIRECTIVE.findall(text))
    if not {"both", "remedy"} <= found.keys() or "#ifdef MISTAKE" not in text:
        raise ValueError("a program needs '// both:', '// remedy:' and '#ifdef MISTAKE'")
    found["compilers"] = found.get("compilers", " ".join(COMPILERS)).split()
    return found


def command(compiler, path, flags, source, scratch):
    if compiler == "nvcc":
        warnings = [f"-Xcompiler={flag}" for flag in WARNINGS]
        return [path, "-x", "cu", *common.CXX, "-arch=sm_90", *warnings, *flags, "-c", source, "-o",
                pathlib.Path(scratch) / "object.o"]
    return [path, *common.CXX, *WARNINGS, *flags, "-fsyntax-only", source]


def said(line):
    """The line without file names."""
    return re.sub(r"\S*/\S*", "", line).strip()


def number_of(lines, matches):
    """The number of the first line that matches, from 1, or None."""
    return next((i for i, line in enumerate(lines, 1) if matches(line)), None)


def leads_to(source, line):
    """Whether the line names a line of the program: the place of an error or of an instantiation."""
    return compile_fail.points_into(source, line) or re.search(rf"at line \d+ of {re.escape(str(source))}$", line)


def judge(source, directives, status, output, control):
    """A row of facts about the compiler's output for a mistake, without lines that the corrected program prints,
    too."""
    known = set(control.splitlines())
    lines = [line for line in output.splitlines() if line.strip() and line not in known]
    first = compile_fail.first_error("\n".join(lines), "error" if status else "warning")
    row = {"outcome": "error" if status else "warning" if first else "compiles", "lines": len(lines)}
    if first is None:
        return {**row, "unnoticed": directives.get("unnoticed", "")}
    questions = {"names both": lambda line: re.search(directives["both"], said(line)),
                 "remedy": lambda line: re.search(directives["remedy"], said(line)),
                 "your file": lambda line: leads_to(source, line)}
    for question, matches in questions.items():
        row[question] = "yes" if matches(first) else number_of(lines, matches)
    return {**row, "first": said(first)[:400]}


def measure(compiler, path, library, source):
    """One row."""
    directives = read_directives(source.read_text())
    way = f" ({directives['way']})" if "way" in directives else ""
    row = {"mistake": next(mistake for mistake in MISTAKES if source.stem.startswith(mistake)),
           "library": library.name + way, "compiler": compiler}
    with tempfile.TemporaryDirectory() as scratch:
        build = command(compiler, path, library.flags[compiler], source, scratch)
        status, control = common.run(build)
        if status:
            return {**row, "outcome": "void", "why": compile_fail.first_error(control) or control}
        status, output = common.run([*build, "-DMISTAKE"])
    return {**row, **judge(source, directives, status, output, control)}


def cell(row, column):
    value = row.get(column)
    if column in ("names both", "remedy", "your file"):
        if row["outcome"] in ("compiles", "void"):
            return "-"
        return value if value == "yes" else f"line {value}" if value else "no"
    return "-" if value is None else str(value)


def table(rows):
    lines = ["  ".join(f"{name:{width}}" for name, width in COLUMNS.items()).rstrip()]
    for row in rows:
        text = "  ".join(f"{cell(row, name):{width}}" for name, width in COLUMNS.items())
        remark = row.get("unnoticed") or row.get("why", "")
        lines.append((text + ("  " + remark if remark else "")).rstrip())
    return "\n".join(lines)


def cases(libraries, compilers, mistakes):
    """(compiler, its path, library, program), in the order of the table."""
    for mistake in mistakes:
        for library in libraries:
            for source in sorted((PROGRAMS / library.name.lower()).glob(f"{mistake}*.cpp")):
                for compiler in read_directives(source.read_text())["compilers"]:
                    if compiler in compilers and compiler in library.flags:
                        yield compiler, compilers[compiler], library, source


def version_of(path):
    return re.search(r"\d+\.\d+\.\d+", common.run([path, "--version"])[1]).group()


def write(path, result):
    whole_file.write(path, json_text.text(result) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kokkos", type=pathlib.Path, action="append", default=[], metavar="DIR",
                        help="where it is installed: DIR/include has KokkosCore_config.h")
    parser.add_argument("--thrust", type=pathlib.Path, metavar="DIR", help="has thrust/version.h")
    parser.add_argument("--eigen", type=pathlib.Path, metavar="DIR", help="has Eigen/Core")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    parser.add_argument("mistakes", nargs="*", metavar="MISTAKE", help=f"of {', '.join(MISTAKES)}; default: all")
    options = parser.parse_args()
    if set(options.mistakes) - set(MISTAKES):
        parser.error(f"no such mistake: {', '.join(set(options.mistakes) - set(MISTAKES))}")
    found = {"Locus": find_locus(), "Kokkos": find_kokkos(options.kokkos), "Thrust": find_thrust(options.thrust),
             "Eigen": find_eigen(options.eigen)}
    libraries = [library for library in found.values() if library]
    compilers = {name: path for name, path in common.find_compilers().items() if name in COMPILERS}
    versions = {name: version_of(path) for name, path in compilers.items()}
    for name in found:
        if not found[name]:
            print(f"no {name} here: it is left out")
    served = [f"{library.name} {library.version} ({', '.join(library.flags)})" for library in libraries]
    print(", ".join([*(f"{name} {version}" for name, version in versions.items()), *served]), flush=True)
    chosen = list(cases(libraries, compilers, options.mistakes or MISTAKES))
    rows = [row for _, row in common.parallel(lambda case: measure(*case), chosen)]
    print(table(rows))
    if options.json:
        environment = {**cpu_programs.environment(), "compiler": versions, "flags": " ".join([*common.CXX, *WARNINGS])}
        write(options.json, {"benchmark": "compiler errors of four mistakes", "environment": environment,
                             "libraries": {library.name: library.version for library in libraries}, "rows": rows})
    sys.exit(any(row["outcome"] == "void" for row in rows))


if __name__ == "__main__":
    main()
