#!/usr/bin/env python3
"""Checks that clang-format 16 changes nothing. `format.py --fix [FILE...]` formats the files.

Other versions format the same style slightly differently (14 garbles concepts), so only version 16 is used.
"""

import argparse
import re
import shutil

import common


def find_formatter():
    for name in ("clang-format-16", "clang-format"):
        path = shutil.which(name)
        if path and re.search(r"version 16\.", common.run([path, "--version"])[1]):
            return path
    return None


def check(report):
    formatter = find_formatter()
    if not formatter:
        report.skip("format", "clang-format 16 is not here")
        return
    files = common.sources("include", "cuda_kernels", "compiled", "tests", "benchmarks", "examples")
    # Not --dry-run, which also reports namespace comments that formatting leaves unchanged.
    results = common.parallel(lambda path: common.run([formatter, path]), files)
    bad = [str(path.relative_to(common.ROOT)) for path, answer in results if answer != (0, path.read_text())]
    report.add("format", "\n".join(["tests/tools/format.py --fix would change", *bad]) if bad else None)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fix", nargs="*", metavar="FILE", help="rewrite these files, or all")
    options = parser.parse_args()
    if options.fix is None:
        common.main(check)
    files = options.fix or common.sources("include", "cuda_kernels", "compiled", "tests", "benchmarks", "examples")
    print(common.run([find_formatter() or "clang-format-16", "-i", *files])[1], end="")
