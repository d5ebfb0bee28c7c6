#!/usr/bin/env python3
"""Every example and benchmark compiles with clang++, too: templates instantiated, warnings as errors. (The sanitizer
build compiles the tests with clang++.)

The programs of a folder that g++ or nvcc compiles as files of their own are namespaces of one file here: that takes a
third of the time. If clang++ does not accept it, each is compiled alone.
"""

import pathlib
import re
import tempfile

import common
import together

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
FOLDERS = "examples", "benchmarks"


def command(path, file, *more):
    return [path, *common.CXX, *WARNINGS, "-fopenmp", "-fsyntax-only", *common.INCLUDES, f"-I{common.ROOT / 'tests'}", *more, file]


def built_programs(folder, files):
    """The files of a folder with main() that its build file names, some of them without their cpu_."""
    listed = (folder / "meson.build").read_text()
    return [file for file in files if file.parent == folder and re.search(rf"'(cpu_)?{file.stem.removeprefix('cpu_')}'", listed)
            and re.search(r"^int main\(", file.read_text(), re.MULTILINE)]


def accepted_together(path, folder, files):
    with tempfile.TemporaryDirectory() as scratch:
        unit = pathlib.Path(scratch, "unit.cpp")
        unit.write_text(together.in_one_file(files))
        # main() in a namespace has no implicit return.
        return common.run(command(path, unit, f"-I{folder}", "-Wno-return-type")) == (0, "")


def check_all(report):
    path = common.find_compilers().get("clang")
    files = [file for file in common.sources("compiled", *FOLDERS, suffixes=(".cpp",))
             if not {"peers", "libraries", "lessons", "mistakes"} & set(file.parts)]  # which have checks of their own
    if not path:
        for file in files:
            report.skip(file.name, "clang++ is not here")
        return
    units = [(folder, built_programs(folder, files)) for folder in (common.ROOT / name for name in FOLDERS)]
    accepted = {file for (_, programs), good in common.parallel(lambda unit: accepted_together(path, *unit), units)
                for file in programs if good}
    for file in sorted(accepted):
        report.ok(file.name)
    alone = [file for file in files if file not in accepted]
    for file, (status, output) in common.parallel(lambda file: common.run(command(path, file)), alone):
        report.add(f"{file.relative_to(common.ROOT)} (clang)", output if status else None)


if __name__ == "__main__":
    common.main(check_all)
