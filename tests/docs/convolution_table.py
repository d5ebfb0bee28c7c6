#!/usr/bin/env python3
"""docs/performance.md lists the algorithms of convolutions on the host: the comments of the switch in
cpu/conv/strategy.hpp that chooses among them. Fails if the page has other rows, or if an algorithm has no row.

usage: convolution_table.py [--write]
"""

import argparse
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import common  # noqa: E402

HEADER = common.ROOT / "include" / "locus" / "cpu" / "conv" / "strategy.hpp"
PAGE = common.ROOT / "docs" / "performance.md"
HEAD = "| algorithm, the first that applies | types | shapes and passes |\n|---|---|---|\n"
ENUM = re.compile(r"enum class ConvStrategy \{(.*?)\};", re.DOTALL)
CASE = re.compile(r"((?:^ +// .*\n)*)^ +case ConvStrategy::(\w+):", re.MULTILINE)


def table(text):
    """The rows of the switch of a header, in the order of its enumerators."""
    strategies = re.findall(r"\w+", ENUM.search(text).group(1))
    rows = {strategy: re.sub(r"\s*\n\s*//\s*", " ", comment).strip().removeprefix("// ") for comment, strategy in CASE.findall(text)}
    if list(rows) != strategies:
        raise SystemExit(f"{HEADER}: the cases {list(rows)} are not the strategies {strategies} in their order")
    wrong = [strategy for strategy, row in rows.items() if row.count(" | ") != 2]
    if wrong:
        raise SystemExit(f"{HEADER}: no row of three columns above {wrong}")
    return HEAD + "".join(f"| {row} |\n" for row in rows.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the table into the page")
    options = parser.parse_args()
    wanted, page = table(HEADER.read_text()), PAGE.read_text()
    begin = page.find(HEAD)
    end = page.find("\n\n", begin) + 1
    report = common.Report()
    if begin < 0:
        report.fail("the table of algorithms", f"{PAGE} has none")
    elif options.write:
        PAGE.write_text(page[:begin] + wanted + page[end:])
        report.ok("the table of algorithms")
    else:
        report.add("the table of algorithms", page[begin:end] != wanted and f"{PAGE} has other rows than {HEADER}: run with --write")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
