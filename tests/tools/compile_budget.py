#!/usr/bin/env python3
"""The memory of g++ for canonical programs, compared with the record in compile_budget.json.

usage: compile_budget.py [--write]

On a busy machine, the time of one compilation says little. The memory that g++'s front and middle end allocate
(-ftime-report, the total of the last column) grows with it and is the same in every run. More than a fifth above the
record fails; --write records the current numbers, for a change that is worth its cost. benchmarks/compile_time.py
measures seconds, beside libtorch and with the other compilers.
"""

import json
import pathlib
import re
import sys
import tempfile

import common

sys.path.append(str(common.ROOT / "scripts" / "lib"))
import whole_file  # noqa: E402

RECORD = pathlib.Path(__file__).with_suffix(".json")
TOLERANCE = 0.2
FLAGS = ["-std=c++20", "-pthread", "-DLOCUS_ZLIB=0", "-DEXAMPLES_OF_FLOAT_ALONE", *common.INCLUDES]
TOTAL = re.compile(r"^ TOTAL\s.*?(\d+)([kMG]?)\s*$", re.MULTILINE)
UNITS = {"": 1e-6, "k": 1e-3, "M": 1, "G": 1e3}

MOVED = """#include <locus/locus.hpp>
using namespace locus;
int main() {
  nn::Sequential<float, Cpu> model{nn::ReLU{}};
  const auto moved = std::move(model).as<half%s>();
}
"""

# Name: a program of the repository, or its text. A program that moves a network compiles every layer, or the layers
# that it names.
PROGRAMS = {
    "fwd.hpp": "#include <locus/fwd.hpp>\n",
    "locus.hpp": "#include <locus/locus.hpp>\n",
    "benchmarks/support/shortest_mnist.cpp": None,  # the layers, loaders and loop of examples/mnist.cpp
    "examples/lessons/solutions/01_a_tensor_has_a_place.cpp": None,
    "a network moved to half, at -O0": MOVED % "",
    "the same with its layers named": MOVED % ", nn::Linear<float, Cpu>, nn::ReLU",
}
AT_O0 = {"a network moved to half, at -O0", "the same with its layers named"}


def megabytes(report_text):
    """The total of a time report, or None."""
    found = TOTAL.search(report_text)
    return round(float(found[1]) * UNITS[found[2]], 1) if found else None


def problem(recorded, needed):
    """The problem of a program with this memory, or None."""
    if recorded is None:
        return "it is not on record; compile_budget.py --write records it"
    if needed > recorded * (1 + TOLERANCE):
        return (f"{needed:.1f} MB, {100 * (needed / recorded - 1):.0f} % above the {recorded:.1f} MB on record: make it cheaper, or "
                "say in the commit why it is worth that, and run tests/tools/compile_budget.py --write")
    return None


def measure(gcc, name, text, folder):
    """(megabytes, None), or (None, error)."""
    source = common.ROOT / name
    if text is not None:
        source = folder / "program.cpp"
        source.write_text(text)
    level = "-O0" if name in AT_O0 else "-O2"
    status, output = common.run([gcc, *FLAGS, level, f"-I{common.ROOT / 'examples'}", "-ftime-report", "-c", source, "-o",
                                 folder / "program.o"])
    needed = megabytes(output)
    return (None, output) if status or needed is None else (needed, None)


def check(report):
    gcc = common.find_compilers().get("gcc")
    if not gcc:
        return report.skip("compile budget", "g++ is not here")
    version = common.run([gcc, "-dumpversion"])[1].strip().split(".")[0]
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    write = "--write" in sys.argv[1:]
    if not write and version != record.get("g++"):
        return report.skip("compile budget", f"the record is of g++ {record.get('g++')}, and this is g++ {version}")
    needed = {}
    with tempfile.TemporaryDirectory() as temporary:
        for name, text in PROGRAMS.items():
            needed[name], failure = measure(gcc, name, text, pathlib.Path(temporary))
            recorded = needed[name] if write else record["megabytes"].get(name)
            report.add(name, failure or problem(recorded, needed[name]))
    if write and not report.failed:
        whole_file.write(RECORD, json.dumps({"g++": version, "megabytes": needed}, indent=1) + "\n")


if __name__ == "__main__":
    common.main(check)
