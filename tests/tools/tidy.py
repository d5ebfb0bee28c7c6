#!/usr/bin/env python3
"""clang-tidy, with the short list of .clang-tidy, over all public headers at once and over a few tests that together
instantiate most of the templates."""

import pathlib
import shutil
import tempfile

import common

UNITS = ["tests/core/shape_test.cpp"]


def check_all(report):
    tidy = shutil.which("clang-tidy-14") or shutil.which("clang-tidy")
    units = [common.ROOT / unit for unit in UNITS]
    if not tidy:
        report.skip("tidy", "clang-tidy is not here")
        return
    with tempfile.TemporaryDirectory() as scratch:
        everything = pathlib.Path(scratch) / "public_headers.cpp"
        headers = common.sources("include", suffixes=(".hpp",))
        everything.write_text("".join(f"#include <{path.relative_to(common.ROOT / 'include')}>\n" for path in headers))
        command = [tidy, "--quiet", f"--config-file={common.ROOT / '.clang-tidy'}"]
        flags = ["--", *common.CXX, *common.INCLUDES, f"-I{common.ROOT / 'tests'}"]
        for unit, (status, output) in common.parallel(lambda unit: common.run([*command, unit, *flags]),
                                                      [everything, *units]):
            report.add(f"tidy {unit.name}", output if status else None)


if __name__ == "__main__":
    common.main(check_all)
