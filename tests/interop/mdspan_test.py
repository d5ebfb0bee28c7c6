#!/usr/bin/env python3
"""Tensors and std::mdspan, which the standard library of the other tests lacks: view_test.cpp, compiled for C++23 with
clang++-19 and libc++ (Debian: libc++-19-dev, libc++abi-19-dev)."""

import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import common  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
OPTIONS = ["-std=c++23", "-stdlib=libc++", "-O0", "-pthread"]
PROBE = "#include <mdspan>\nint values[4];\nint main() { return std::mdspan(values, 2, 2).extent(0) != 2; }\n"


def check(report):
    compiler = common.find_compilers(every=True).get("clang19")
    if not compiler:
        return report.skip("std::mdspan", "there is no clang++-19")
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        (folder / "probe.cpp").write_text(PROBE)
        if common.run([compiler, *OPTIONS, folder / "probe.cpp", "-o", folder / "probe"])[0]:
            return report.skip("std::mdspan", "clang++-19 finds no <mdspan>; install libc++-19-dev and libc++abi-19-dev")
        program = folder / "views"
        status, output = common.run([compiler, *OPTIONS, "-Wall", "-Wextra", "-Werror", *common.INCLUDES, f"-I{HERE.parent}",
                                     HERE / "view_test.cpp", HERE.parent / "main.cpp", "-o", program, "-lz"])
        if not status:
            status, output = common.run([program])
        report.add("std::mdspan", output[-6000:] if status else None)


if __name__ == "__main__":
    common.main(check)
