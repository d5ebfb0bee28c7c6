#!/usr/bin/env python3
"""Sources are laid out by clang-format 16, and member templates of one statement stand on one line.
`format.py --fix [FILE...]` lays them out.

Other versions lay the same style out a little differently (14 garbles concepts), so only version 16 is asked. It breaks
the line after every `template <...>`, or after none where the declaration fits; this script joins short members alone.
"""

import argparse
import pathlib
import re
import shutil

import common


def find_formatter():
    for name in ("clang-format-16", "clang-format"):
        path = shutil.which(name)
        if path and re.search(r"version 16\.", common.run([path, "--version"])[1]):
            return path
    return None


# A member is indented, a function of a namespace is not.
SHORT_MEMBER = re.compile(r"^( +)(template <.*>)\n\1(\S.*\{)\n\1  (\S[^;{}\n]*;|return\b.*;)\n\1\}$", re.MULTILINE)
COLUMNS = 120
FOLDERS = ("include", "cuda_kernels", "compiled", "tests", "benchmarks", "examples", "python")


def join_short_members(text):
    """Each member template of one statement on one line, where that fits."""
    def joined(found):
        line = f"{found[1]}{found[2]} {found[3]} {found[4]} }}"
        return line if len(line) <= COLUMNS else found[0]

    return SHORT_MEMBER.sub(joined, text)


def laid_out(formatter, path):
    """The text of a file as it should be. raises RuntimeError if clang-format fails"""
    status, text = common.run([formatter, path])
    if status != 0:
        raise RuntimeError(f"{path}: {text}")
    return join_short_members(text)


def check(report):
    formatter = find_formatter()
    if not formatter:
        report.skip("format", "clang-format 16 is not here")
        return
    files = common.sources(*FOLDERS)
    # Not --dry-run, which also reports namespace comments that formatting leaves unchanged.
    results = common.parallel(lambda path: laid_out(formatter, path), files)
    bad = [str(path.relative_to(common.ROOT)) for path, text in results if text != path.read_text()]
    report.add("format", "\n".join(["tests/tools/format.py --fix would change", *bad]) if bad else None)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fix", nargs="*", metavar="FILE", help="rewrite these files, or all")
    options = parser.parse_args()
    if options.fix is None:
        common.main(check)
    formatter = find_formatter()
    if not formatter:
        parser.error("clang-format 16 is not here; install Debian's clang-format-16")
    files = [pathlib.Path(name) for name in options.fix] or common.sources(*FOLDERS)
    for path, text in common.parallel(lambda path: laid_out(formatter, path), files):
        if text != path.read_text():
            path.write_text(text)
