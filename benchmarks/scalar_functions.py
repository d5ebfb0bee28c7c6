#!/usr/bin/env python3
"""Errors of the scalar functions of Locus, libtorch, Eigen, xsimd, SLEEF and glibc, in units in the last place.

usage: scalar_functions.py [--parts sampled,every,exhaustive,sixteen,neon,reference] [--only REGEX] [--torch-python PYTHON]
                           [--xsimd FOLDER] [--build FOLDER] [--sampled INNER,OUTER] [--pairs STRIDE]

Compiles the programs and libraries of scalar_functions/, and adds the rows to results/PROCESSOR/scalar-functions.json
after each function. A row replaces a row of no more inputs, so parts can be measured one after another. A row of more
inputs stays, even if its library is updated: delete the file then. Libraries that are not installed are left out, and
named. Inner floats have magnitudes from 2^-14 to 2^8.

parts:
  sampled     every function in every library: of 32 neighbours one among the inner floats, of 512 one elsewhere
  every       functions that compute in float, in Locus without and with AVX-512: all inner floats, of 64 one elsewhere
  exhaustive  the functions of EXHAUSTIVE in Locus, with the best instruction set: all 2^32 floats
  sixteen     half and bfloat16: all numbers; of pairs, every 32nd number and all numbers (`--pairs 1`: all pairs)
  neon        Locus on Arm, by an emulator: of 128 neighbours one among the inner floats, of 8,192 one elsewhere
  reference   the reference itself, by MPFR
"""

import argparse
import contextlib
import datetime
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "support"), str(HERE.parent / "scripts" / "lib")]
import json_text  # noqa: E402
import this_processor  # noqa: E402
import whole_file  # noqa: E402

SOURCES, RESULTS = HERE / "scalar_functions", HERE / "results"
FUNCTIONS = ["exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
             "asinh", "acosh", "atanh", "sqrt", "rsqrt", "cbrt", "reciprocal", "erf", "erfc", "erfinv", "lgamma", "digamma", "sigmoid", "logit",
             "silu", "softplus", "mish", "elu", "gelu", "gelu_exact", "gelu_tanh", "round", "floor", "ceil", "trunc"]
OF_TWO = ["pow", "atan2", "hypot", "fmod", "remainder", "xlogy"]
ARITHMETIC = ["add", "multiply", "divide", "maximum", "minimum"]  # of 16 bits
IN_FLOAT = ["gelu_exact", "sigmoid", "silu", "softplus", "gelu_tanh", "expm1", "exp", "tanh", "erf", "log", "log1p", "elu", "rsqrt", "gelu"]
EXHAUSTIVE = ["exp", "log", "sin", "tanh", "sigmoid", "erf", "gelu_exact", "cos", "expm1", "log1p", "silu", "softplus"]
SLOW = {"fmod": 16, "remainder": 16, "lgamma": 4, "digamma": 4}  # times the strides
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow"]
CXX = ["-std=c++20", f"-I{HERE.parent / 'include'}", "-DLOCUS_ZLIB=0", f'-DLOCUS_SOURCE_DIR="{HERE.parent}"']
CLANG, ARM, EMULATOR = "clang++-14", "aarch64-linux-gnu-g++", ["qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu"]


class Wrong(Exception):
    """A message for the caller."""


def run(*command):
    """(status, output)"""
    try:
        done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except OSError as error:
        return 1, f"{command[0]} cannot be run: {error.strerror}"
    return done.returncode, done.stdout


class Build:
    """Programs and shared objects in a folder; what is there already is kept."""

    def __init__(self, folder, options):
        self.folder, self.options, self.missing = folder, options, {}

    def reference(self, compiler="g++", name="reference", flags=("-march=native",)):
        """Its object file."""
        target = self.folder / f"{name}.o"
        return self.made(target, compiler, *CXX, *WARNINGS, "-O2", *flags, "-c", SOURCES / "reference.cpp", "-o", target)

    def program(self, name, *libraries):
        target = self.folder / name
        return self.made(target, "g++", *CXX, *WARNINGS, "-O3", "-march=native", SOURCES / f"{name}.cpp", self.reference(),
                         HERE / "support" / "environment.cpp", "-lmvec", "-ldl", *libraries, "-o", target)

    def arm_program(self):
        target = self.folder / "floats_neon"
        return self.made(target, ARM, *CXX, *WARNINGS, "-O2", SOURCES / "floats.cpp", self.reference(ARM, "reference_neon", ()),
                         HERE / "support" / "environment.cpp", "-ldl", "-o", target)

    def library(self, name, source, *flags, compiler="g++"):
        """None if it cannot be compiled. raises Wrong if it is Locus by the compiler of the programs"""
        target = self.folder / f"{name}.so"
        try:
            return self.made(target, compiler, *CXX, "-fPIC", "-shared", SOURCES / "libraries" / f"{source}.cpp", *flags, "-o", target)
        except Wrong as error:
            if source == "locus" and compiler != CLANG:
                raise
            self.missing[name] = str(error).splitlines()[0]
            return None

    def libraries(self):
        """The shared objects of functions of float."""
        torch = self.torch_flags()
        found = [self.library("locus", "locus", *WARNINGS, "-O2"),
                 self.library("locus-clang", "locus", *WARNINGS, "-O2", "-DNAME=locus-clang", compiler=CLANG),
                 self.library("libtorch", "torch", "-O1", *torch) if torch else None,
                 # By default g++ fuses products and sums across Eigen's statements, which breaks the double-word arithmetic of its pow.
                 self.library("eigen", "eigen", "-O3", "-march=native", "-ffp-contract=off", "-isystem", "/usr/include/eigen3"),
                 self.library("xsimd", "xsimd", "-O2", "-march=native", *(["-isystem", self.options.xsimd] if self.options.xsimd else [])),
                 self.library("sleef", "sleef", *WARNINGS, "-O2", "-march=native", "-lsleef"),
                 self.library("glibc", "glibc", *WARNINGS, "-O2", "-march=native", "-lmvec")]
        return [path for path in found if path]

    def torch_flags(self):
        """None without libtorch."""
        if not self.options.torch_python:
            self.missing["libtorch"] = "no --torch-python"
            return None
        status, output = run(self.options.torch_python, "-I", "-c", "import torch; print(torch.__path__[0])")
        if status:
            raise Wrong(f"{self.options.torch_python} has no torch: {output.strip().splitlines()[-1]}")
        root = output.strip()
        return ["-isystem", f"{root}/include", "-isystem", f"{root}/include/torch/csrc/api/include", f"-L{root}/lib", f"-Wl,-rpath,{root}/lib",
                "-ltorch_cpu", "-lc10"]

    def made(self, target, compiler, *arguments):
        if not target.exists():
            print(f"compiling {target.name}", file=sys.stderr, flush=True)
            status, output = run(compiler, *arguments)
            if status:
                target.unlink(missing_ok=True)
                raise Wrong(output.strip() or f"{compiler} ended with status {status}")
        return target


class Results:
    """The document, stored after each answer."""

    def __init__(self, path):
        self.path = path
        self.document = json.loads(path.read_text()) if path.exists() else {"environment": {}, "floats": [], "sixteen_bits": [], "reference": []}

    def add(self, part, key, row):
        """Unless there is a row of more inputs with this key."""
        rows = self.document[part]
        same = [each for each in rows if all(each.get(name) == row.get(name) for name in key)]
        if same and same[0]["inputs"] > row["inputs"]:
            return
        self.document[part] = [each for each in rows if each not in same] + [row]

    def store(self, environment):
        self.document["environment"] = {name: environment[name] for name in ("commit", "compiler", "cpu", "cores")}
        self.document["environment"]["date"] = datetime.date.today().isoformat()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        whole_file.write(self.path, json_text.text(self.document) + "\n")


def answers(command, requests):
    """Yields (environment, answer). raises Wrong if the program fails"""
    process = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with process:
        with contextlib.suppress(BrokenPipeError):  # if the program fails first, standard error says why
            process.stdin.write("".join(f"{request}\n" for request in requests))
            process.stdin.close()
        environment = None
        for line in process.stdout:
            if environment is None:
                environment = json.loads(line)
            else:
                yield environment, json.loads(line)
        said = process.stderr.read()
        if process.wait():
            raise Wrong(said.strip() or f"{command[0]} ended with status {process.returncode}")


def measure_floats(command, requests, results):
    for environment, answer in answers(command, requests):
        for row in answer.pop("libraries"):
            strides = {name: answer[name] for name in ("function", "inner", "outer")}
            results.add("floats", ("function", "library"), {**strides, **row})
        print(f"{answer['function']}: {answer['seconds']:.1f} s", file=sys.stderr, flush=True)
        results.store(environment)


def requests_of(functions, inner, outer, libraries, only):
    return [f"{name} {inner * SLOW.get(name, 1)} {outer * SLOW.get(name, 1)} {','.join(libraries)}" for name in functions if re.search(only, name)]


def names_of(paths):
    """Of the libraries in the shared objects, by file."""
    several = {"locus": [f"locus-{isa}" for isa in instruction_sets()], "locus-clang": [f"locus-clang-{isa}" for isa in instruction_sets()],
               "sleef": ["sleef-u10", "sleef-u35"], "glibc": ["glibc", "libmvec"] if len(instruction_sets()) > 1 else ["glibc"]}
    return [name for path in paths for name in several.get(path.stem, [path.stem])]


def instruction_sets():
    flags = this_processor.flags()
    return ["generic", *(["avx2"] if "avx2" in flags and "fma" in flags else []), *(["avx512"] if "avx512dq" in flags else [])]


def sampled(build, results, options):
    paths = build.libraries()
    requests = requests_of(FUNCTIONS + OF_TWO, *options.sampled, names_of(paths), options.only)
    measure_floats([build.program("floats"), *paths], requests, results)


def every(build, results, options):
    sets = instruction_sets()
    libraries = [f"locus-{isa}" for isa in dict.fromkeys((sets[0], sets[-1]))]
    locus = build.library("locus", "locus", *WARNINGS, "-O2")
    measure_floats([build.program("floats"), locus], requests_of(IN_FLOAT, 1, 64, libraries, options.only), results)


def exhaustive(build, results, options):
    locus = build.library("locus", "locus", *WARNINGS, "-O2")
    requests = requests_of(EXHAUSTIVE, 1, 1, [f"locus-{instruction_sets()[-1]}"], options.only)
    measure_floats([build.program("floats"), locus], requests, results)


def neon(build, results, options):
    if not shutil.which(ARM) or not shutil.which(EMULATOR[0]):
        raise Wrong(f"neon needs {ARM} and {EMULATOR[0]} (Debian: g++-aarch64-linux-gnu, qemu-user-static)")
    locus = build.library("locus_neon", "locus", *WARNINGS, "-O2", compiler=ARM)
    functions = [name for name in FUNCTIONS + OF_TWO if name not in SLOW]  # minutes each, in an emulator
    requests = requests_of(functions, 128, 8192, ["locus-neon"], options.only)
    measure_floats([*EMULATOR, build.arm_program(), locus], requests, results)


def sixteen(build, results, options):
    torch = build.torch_flags()
    peer = build.library("libtorch", "torch", "-O1", *torch) if torch else None
    for kind in ("half", "bfloat16"):
        paths = [path for path in (build.library(kind, "locus", *WARNINGS, "-O2", f"-DTYPE={kind}"), peer) if path]
        own = [f"locus-{isa}" for isa in instruction_sets()]
        best = [own[-1], *(["libtorch"] if peer else [])]
        requests = [f"{name} 1 {','.join(own[:-1] + best)}" for name in FUNCTIONS if re.search(options.only, name)]
        requests += [f"{name} {options.pairs} {','.join(best)}" for name in ARITHMETIC + OF_TWO if re.search(options.only, name)]
        for environment, answer in answers([build.program("sixteen_bits"), kind, *paths], requests):
            for row in answer.pop("libraries"):
                results.add("sixteen_bits", ("function", "type", "library"), {**{name: answer[name] for name in ("function", "type", "stride")}, **row})
            print(f"{answer['function']} of {kind}: {answer['seconds']:.1f} s", file=sys.stderr, flush=True)
            results.store(environment)


def reference(build, results, options):
    exact = ["round", "floor", "ceil", "trunc", "fmod", "remainder"]  # by exact operations of double
    requests = [f"{name} 16384" for name in FUNCTIONS + OF_TWO if re.search(options.only, name) and name not in exact]
    for environment, answer in answers([build.program("mpfr", "-lmpfr", "-lgmp")], requests):
        results.add("reference", ("function",), answer)
        results.store(environment)


PARTS = {"sampled": sampled, "every": every, "exhaustive": exhaustive, "sixteen": sixteen, "neon": neon, "reference": reference}


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--only", default="", metavar="REGEX", help="of functions")
    parser.add_argument("--torch-python", metavar="PYTHON", help="a python that has torch")
    parser.add_argument("--xsimd", metavar="FOLDER", help="that contains xsimd/; default: the installed one")
    parser.add_argument("--build", type=pathlib.Path, metavar="FOLDER", help="for programs, which are kept; default: a temporary one")
    parser.add_argument("--results", type=pathlib.Path, default=RESULTS, metavar="FOLDER")
    parser.add_argument("--sampled", default="32,512", metavar="INNER,OUTER", help="strides of the part `sampled` (default 32,512)")
    parser.add_argument("--pairs", type=int, default=32, metavar="STRIDE", help="of first arguments of 16 bits (default 32)")
    options = parser.parse_args()
    options.parts = options.parts.split(",")
    for name in options.parts:
        if name not in PARTS:
            parser.error(f"'{name}' is no part; expected {', '.join(PARTS)}")
    if not re.fullmatch(r"[1-9]\d*,[1-9]\d*", options.sampled):
        parser.error(f"--sampled {options.sampled}; expected two strides, such as 32,512")
    options.sampled = tuple(map(int, options.sampled.split(",")))
    return options


def main():
    options = parsed()
    results = Results(options.results / this_processor.kind() / "scalar-functions.json")
    with tempfile.TemporaryDirectory() as folder:
        build = Build(options.build or pathlib.Path(folder), options)
        build.folder.mkdir(parents=True, exist_ok=True)
        try:
            for name in options.parts:
                PARTS[name](build, results, options)
        except Wrong as error:
            print(f"scalar_functions.py: {error}", file=sys.stderr)
            return 1
    for name, why in build.missing.items():
        print(f"without {name}: {why}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
