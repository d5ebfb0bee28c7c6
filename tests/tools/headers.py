#!/usr/bin/env python3
"""Every public header compiles alone, twice in a row, with every compiler present and all warnings on.

Headers of include/ are for g++ and clang++, which need no CUDA toolkit. Those of cuda_kernels/ need one: .hpp are for g++,
too, .cuh for nvcc, which parses the host's part and translates the GPU's.
"""

import pathlib
import tempfile

import common

KERNELS = common.ROOT / "cuda_kernels"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]


def command(compiler, path, header, unit):
    if compiler == "nvcc":
        return [path, "-x", "cu", "-arch=sm_90", "-Werror", "all-warnings", "-ptx", "-o", unit.with_suffix(".ptx")]
    of_cuda = [f"-idirafter{toolkit(common.find_nvcc())}"] if header.is_relative_to(KERNELS) else []
    return [path, *WARNINGS, "-fsyntax-only", *of_cuda]


def toolkit(nvcc):
    """The folder of the toolkit's headers."""
    return pathlib.Path(nvcc).resolve().parents[1] / "include"


def check(header, compiler, path):
    folder = KERNELS if header.is_relative_to(KERNELS) else common.ROOT / "include"
    include = header.relative_to(folder)
    with tempfile.TemporaryDirectory() as scratch:
        unit = pathlib.Path(scratch) / "unit.cpp"
        unit.write_text(f"#include <{include}>\n#include <{include}>\n")
        status, output = common.run([*command(compiler, path, header, unit), *common.CXX, *common.INCLUDES, f"-I{folder}",
                                     unit])
        return output if status else None


def check_all(report):
    compilers = common.find_compilers()
    nvcc = compilers.pop("nvcc", None)
    cases = [(header, name, path) for header in common.sources("include", suffixes=(".hpp",))
             for name, path in compilers.items()]
    for suffix, name in ((".hpp", "gcc"), (".cuh", "nvcc")):
        for header in common.sources("cuda_kernels", suffixes=(suffix,)):
            path = nvcc if name == "nvcc" else compilers.get(name)
            if nvcc and path:
                cases.append((header, name, path))
            else:
                report.skip(header.name, "no nvcc here")
    for name in {"gcc", "clang"} - set(compilers):
        report.skip(f"headers ({name})", f"{name} is not here")
    for (header, name, _), problem in common.parallel(lambda case: check(*case), cases):
        report.add(f"{header.relative_to(common.ROOT)} ({name})", problem)


if __name__ == "__main__":
    common.main(check_all)
