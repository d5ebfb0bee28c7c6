#!/usr/bin/env python3
"""Every example and benchmark compiles with clang++, too: templates instantiated, warnings as errors. (The sanitizer
build compiles the tests with clang++.)
"""

import common

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]


def check_all(report):
    path = common.find_compilers().get("clang")
    files = [file for file in common.sources("compiled", "examples", "benchmarks", suffixes=(".cpp",))
             if not {"peers", "lessons"} & set(file.parts)]  # lessons have a check of their own
    if not path:
        for file in files:
            report.skip(file.name, "clang++ is not here")
        return
    command = [path, *common.CXX, *WARNINGS, "-fopenmp", "-fsyntax-only", *common.INCLUDES, f"-I{common.ROOT / 'tests'}"]
    for file, (status, output) in common.parallel(lambda file: common.run([*command, file]), files):
        report.add(f"{file.relative_to(common.ROOT)} (clang)", output if status else None)


if __name__ == "__main__":
    common.main(check_all)
