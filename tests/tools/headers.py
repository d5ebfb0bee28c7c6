#!/usr/bin/env python3
"""Every public header compiles alone, twice in a row, with every compiler present and all warnings on.

Headers of include/ are for g++ and clang++, which need no CUDA toolkit; those of cuda_kernels/ are for nvcc.
"""

import pathlib
import tempfile

import common

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]


def check(header, compiler, path):
    include = header.relative_to(common.ROOT / ("cuda_kernels" if compiler == "nvcc" else "include"))
    with tempfile.TemporaryDirectory() as scratch:
        unit = pathlib.Path(scratch) / "unit.cpp"
        unit.write_text(f"#include <{include}>\n#include <{include}>\n")
        if compiler == "nvcc":
            command = [path, "-x", "cu", "-arch=sm_90", "-Werror", "all-warnings", "-Xcompiler=-Wall,-Wextra,-Wshadow,-Werror",
                       f"-I{common.ROOT / 'cuda_kernels'}", "-c", "-o", unit.with_suffix(".o")]
        else:
            command = [path, *WARNINGS, "-fsyntax-only"]
        status, output = common.run([*command, *common.CXX, *common.INCLUDES, unit])
        return output if status else None


def check_all(report):
    compilers = common.find_compilers()
    nvcc = compilers.pop("nvcc", None)
    cases = [(header, name, path) for header in common.sources("include", suffixes=(".hpp",))
             for name, path in compilers.items()]
    for header in common.sources("cuda_kernels", suffixes=(".hpp", ".cuh")):
        if nvcc:
            cases.append((header, "nvcc", nvcc))
        else:
            report.skip(header.name, "no nvcc here")
    for name in {"gcc", "clang"} - set(compilers):
        report.skip(f"headers ({name})", f"{name} is not here")
    for (header, name, _), problem in common.parallel(lambda case: check(*case), cases):
        report.add(f"{header.relative_to(common.ROOT)} ({name})", problem)


if __name__ == "__main__":
    common.main(check_all)
