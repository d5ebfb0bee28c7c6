#!/usr/bin/env python3
"""Every public header compiles alone and twice in a row, with all warnings on.

g++ and clang++ compile the headers of include/ without a CUDA toolkit. g++ compiles each alone, except those that
another header includes first: the compiler reads such a header before all others there, as it would alone. Missing
includes do not depend on the compiler, so clang++ compiles alone only the headers that mention it, and the others as one
unit, for its warnings. Without g++ it compiles each alone. Headers that declare symbols of the compiled library are
compiled alone in its programs, too.

Headers of cuda_kernels/ need a toolkit: g++ compiles .hpp, nvcc .cuh. nvcc parses the host code of each alone and
translates its device code; all of them are also compiled as one unit, for the host compiler's warnings.
"""

import pathlib
import re
import tempfile

import common

KERNELS = common.ROOT / "cuda_kernels"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
# In nvcc's output, g++ would warn about line markers (-Wpedantic).
HOST_WARNINGS = ",".join(flag for flag in WARNINGS if flag != "-Wpedantic")


def command(compiler, path, headers, unit):
    if compiler == "nvcc":
        # -ptx calls no host compiler, and takes half the time.
        rest = ["-ptx"] if len(headers) == 1 else ["-c", f"-Xcompiler={HOST_WARNINGS}"]
        return [path, "-x", "cu", "-arch=sm_90", "-Werror", "all-warnings", *rest, "-o", unit.with_suffix(".out")]
    of_cuda = [f"-idirafter{toolkit(common.find_nvcc())}"] if headers[0].is_relative_to(KERNELS) else []
    library = ["-DLOCUS_COMPILED"] if compiler == "gcc, compiled library" else []
    return [path, *WARNINGS, "-fsyntax-only", *of_cuda, *library]


def toolkit(nvcc):
    """The folder of the toolkit's headers."""
    return pathlib.Path(nvcc).resolve().parents[1] / "include"


def kernel_headers(nvcc, suffix):
    """The headers of cuda_kernels, without cuDNN's if cuDNN is not installed."""
    has_cudnn = any((folder / "cudnn_graph.h").exists()
                    for folder in (toolkit(nvcc), pathlib.Path("/usr/include"), pathlib.Path("/usr/local/include")))
    return [header for header in common.sources("cuda_kernels", suffixes=(suffix,))
            if has_cudnn or header.parent.name != "cudnn"]


def read_first(header):
    """The header of include/ that this one includes before anything else and under no condition, or None."""
    text = re.sub(r"^\s*//.*\n", "", header.read_text(), flags=re.MULTILINE)
    first = re.match(r"\s*#pragma once\s+#include <(locus/[^>]+\.hpp)>", text)
    return common.ROOT / "include" / first[1] if first else None


def check(headers, compiler, path):
    """The compiler's output for a unit that includes all of them, twice; None if it compiles."""
    folder = KERNELS if headers[0].is_relative_to(KERNELS) else common.ROOT / "include"
    with tempfile.TemporaryDirectory() as scratch:
        unit = pathlib.Path(scratch) / "unit.cpp"
        unit.write_text("".join(f"#include <{header.relative_to(folder)}>\n" for header in 2 * headers))
        status, output = common.run([*command(compiler, path, headers, unit), *common.CXX, *common.INCLUDES, f"-I{folder}",
                                     unit])
        return output if status else None


def cases_of(compilers, nvcc):
    """[(headers of one unit, the compiler's name, its path)]"""
    public = common.sources("include", suffixes=(".hpp",))
    cases = []
    if "gcc" in compilers:
        covered = {read_first(header) for header in public}
        cases += [([header], "gcc") for header in public if header not in covered]
        cases += [([header], "gcc, compiled library") for header in public if "<locus/instances/" in header.read_text()
                  and header.name != "compiled.hpp"]  # requires the macros of the compiled library
    if "clang" in compilers:
        alone = [header for header in public if "gcc" not in compilers or "__clang__" in header.read_text()]
        together = [header for header in public if header not in alone]
        cases += [([header], "clang") for header in alone] + [(together, "clang")] * bool(together)
    if nvcc:
        of_nvcc = kernel_headers(nvcc, ".cuh")
        cases += [(of_nvcc, "nvcc")] + [([header], "nvcc") for header in of_nvcc]
        if "gcc" in compilers:
            cases += [([header], "gcc") for header in kernel_headers(nvcc, ".hpp")]
    return [(headers, name, nvcc if name == "nvcc" else compilers[name.split(",")[0]]) for headers, name in cases]


def check_all(report):
    compilers = common.find_compilers()
    nvcc = compilers.pop("nvcc", None)
    cases = cases_of(compilers, nvcc)
    cases.sort(key=lambda case: -len(case[0]))  # the longest first
    if not nvcc:
        report.skip("headers of cuda_kernels", "no nvcc here")
    for name in sorted({"gcc", "clang"} - set(compilers)):
        report.skip(f"headers ({name})", f"{name} is not here")
    for (headers, name, _), problem in common.parallel(lambda case: check(*case), cases):
        what = headers[0].relative_to(common.ROOT) if len(headers) == 1 else f"{len(headers)} headers as one unit"
        report.add(f"{what} ({name})", problem)


if __name__ == "__main__":
    common.main(check_all)
