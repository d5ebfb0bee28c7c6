#!/usr/bin/env python3
"""docs/numpy-pytorch.md: every row says yes, another way or no, and what it says of Locus compiles.

usage: function_table.py

What stands as code in the third column of a table is an expression of the variables below, or the name of a header.
"""

import pathlib
import re
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).parents[1] / "tools"))
import common

PAGE = common.ROOT / "docs" / "numpy-pytorch.md"
LEAST = 250  # names of NumPy and PyTorch
ANSWERS = {"yes", "another way", "no"}
HEADERS = ["locus.hpp", "expr/bits.hpp", "io/npy.hpp", "io/safetensors.hpp", "linalg/linalg.hpp", "nn/ctc_loss.hpp", "ops/cdist.hpp", "ops/cov.hpp", "ops/interp.hpp",
           "ops/conv3d.hpp", "ops/cross.hpp", "ops/cumulative.hpp", "ops/einsum.hpp", "ops/histogram.hpp", "ops/isin.hpp",
           "ops/masked_select.hpp", "ops/multinomial.hpp", "ops/order_statistics.hpp", "ops/sort.hpp", "ops/unique.hpp"]
VARIABLES = """
using Floats = const Tensor<float>;
using Integers = const Tensor<std::int64_t>;
extern Floats x, y, a, b, c, w, q, query, key, value, table, logits, weights, slopes;
extern Integers i, j, labels;
extern const Tensor<bool> mask;
extern const std::vector<float> vector;
extern const Span<const float> span;
extern const std::int64_t k, n;
extern const float dx;
extern const double pi;
extern const Axes order;
extern const Shape shape;
extern const RunningStatistics<float, Cpu> running;
extern const nn::StateDict<Cpu> state;
"""
NAMES = re.compile(r"[\w/]+\.hpp|std::numbers")
CELL = re.compile(r"(?<!\\)\|")
CODE = re.compile(r"`([^`]+)`")


def rows(text):
    """[(line, NumPy's names, PyTorch's names, the cell of Locus, the answer)] of all tables."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in CELL.split(line)[1:-1]]
        if len(cells) == 4 and not cells[0].startswith("--") and cells[0] != "NumPy":
            found.append((number, CODE.findall(cells[0]), CODE.findall(cells[1]), cells[2], cells[3]))
    return found


def problems(table):
    """What is wrong with the rows themselves."""
    found = []
    seen = set()
    for line, numpy, torch, locus, answer in table:
        if answer not in ANSWERS:
            found.append(f"line {line}: '{answer}' is none of yes, another way and no")
        if (answer == "no") != (not locus):
            found.append(f"line {line}: what is there has a way, and what is not has none")
        if not numpy and not torch:
            found.append(f"line {line}: a row without a name of NumPy or PyTorch")
        if (tuple(numpy), tuple(torch)) in seen:
            found.append(f"line {line}: a row that is there twice")
        seen.add((tuple(numpy), tuple(torch)))
    names = {name for _, numpy, torch, _, _ in table for name in numpy + torch}
    if len(names) < LEAST:
        found.append(f"{len(names)} names of NumPy and PyTorch; expected at least {LEAST}")
    return found


def expressions(table):
    """[(line, text)] of the code in the third column."""
    return [(line, span.replace("\\|", "|")) for line, _, _, locus, _ in table for span in CODE.findall(locus)
            if not NAMES.fullmatch(span)]


def source(table):
    """A file of a function for each expression, which compilers place on its line of the page."""
    lines = [*(f"#include <locus/{header}>" for header in HEADERS), "#include <cmath>", "using namespace locus;", VARIABLES]
    for number, (line, text) in enumerate(expressions(table)):
        lines += [f'#line {line} "{PAGE.name}"', f"void expression_{number}() {{ (void)({text}); }}"]
    return "\n".join([*lines, ""])


def check(report):
    table = rows(PAGE.read_text())
    report.add("rows", "\n".join(problems(table)) or None)
    compilers = common.find_compilers()
    compiler = compilers.get("gcc") or compilers.get("clang")
    if not compiler:
        return report.skip("expressions", "there is no C++ compiler")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "expressions.cpp"
        path.write_text(source(table))
        status, output = common.run([compiler, *common.CXX, *common.INCLUDES, "-fsyntax-only", path])
        report.add("expressions", output if status else None)


if __name__ == "__main__":
    common.main(check)
