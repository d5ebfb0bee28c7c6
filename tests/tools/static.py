#!/usr/bin/env python3
"""tests/static/*.cpp: files of static_asserts that every installed compiler accepts. A case is a file and a compiler.

A line `// compilers: gcc clang` excludes nvcc, which takes seconds per file.
"""

import pathlib
import re
import tempfile

import common


def check(source, compiler, path):
    command = [path, *common.CXX, *common.INCLUDES, f"-I{common.ROOT / 'tests'}"]
    if compiler == "nvcc":
        with tempfile.TemporaryDirectory() as scratch:
            # -ptx reads the whole file, and calls no host compiler, which is tested by itself.
            command += [f"-I{common.ROOT / 'cuda_kernels'}", "-x", "cu", "-arch=compute_90", "-Werror", "all-warnings"]
            status, output = common.run([*command, *common.fastest(path), "-ptx", source, "-o", pathlib.Path(scratch) / "out"])
    else:
        status, output = common.run([*command, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", source])
    return output if status else None


def check_all(report):
    compilers = common.find_compilers(every=True)
    cases = []
    for source in common.sources("tests/static"):
        chosen = re.search(r"^// compilers: (.*)$", source.read_text(), re.MULTILINE)
        for name in chosen.group(1).split() if chosen else ["gcc", "clang", "clang19", "nvcc"]:
            if name in compilers:
                cases.append((source, name, compilers[name]))
            else:
                report.skip(f"{source.name} ({name})", f"{name} is not here")
    for (source, name, _), problem in common.parallel(lambda case: check(*case), cases):
        report.add(f"{source.name} ({name})", problem)


if __name__ == "__main__":
    common.main(check_all)
