#!/usr/bin/env python3
"""Checks docs/numpy-pytorch.md: every row answers yes, another way or no, and its code for Locus compiles. Checks
docs/custom-layers.md: its table of scalar functions matches the headers.

Checks the list of functions of operands that are spread over ranks: it has each public function, or a reason not to.
Checks docs/layers.md: its list has every layer, with the header.

usage: function_table.py

Code in the third column of a table is an expression of the variables below, or the name of a header.
"""

import pathlib
import re
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).parents[1] / "tools"))
import common

PAGE = common.ROOT / "docs" / "numpy-pytorch.md"
SCALARS = common.ROOT / "docs" / "custom-layers.md"
LEAST = 250  # names of NumPy and PyTorch
ANSWERS = {"yes", "another way", "no"}
HEADERS = ["locus.hpp", "expr/bits.hpp", "expr/special.hpp", "fft/fft.hpp", "io/npy.hpp", "io/safetensors.hpp", "linalg/linalg.hpp", "nn/ctc_loss.hpp", "nn/likelihood_loss.hpp", "nn/multi_margin_loss.hpp", "ops/alpha_dropout.hpp", "ops/cdist.hpp", "ops/complex.hpp", "ops/cov.hpp", "ops/interp.hpp",
           "ops/combinations.hpp", "ops/conv3d.hpp", "ops/cross.hpp", "ops/cumulative.hpp", "ops/differences.hpp", "ops/einsum.hpp", "ops/embedding_bag.hpp", "ops/grid_sample.hpp", "ops/histogram.hpp", "ops/isin.hpp", "ops/local_response_norm.hpp",
           "ops/masked_select.hpp", "ops/multinomial.hpp", "ops/order_statistics.hpp", "ops/random.hpp", "ops/pool3d.hpp", "ops/pool_indices.hpp",
           "ops/similarity.hpp", "ops/renorm.hpp", "ops/rotary.hpp", "ops/sort.hpp", "ops/unique.hpp", "ops/window_functions.hpp"]
VARIABLES = """
using Floats = const Tensor<float>;
using Integers = const Tensor<std::int64_t>;
extern Floats x, y, a, b, c, w, q, query, key, value, table, logits, weights, slopes, cosines, sines;
extern Integers i, j, labels;
extern const Tensor<bool> mask;
extern const Tensor<complex64> z;
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
    """Problems of the rows themselves."""
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
    """A source with one function for each expression; #line places it on the expression's line of the page."""
    lines = [*(f"#include <locus/{header}>" for header in HEADERS), "#include <cmath>", "using namespace locus;", VARIABLES]
    for number, (line, text) in enumerate(expressions(table)):
        lines += [f'#line {line} "{PAGE.name}"', f"void expression_{number}() {{ (void)({text}); }}"]
    return "\n".join([*lines, ""])


def scalar_headers():
    core = common.ROOT / "include" / "locus" / "core"
    of_other_types = {"complex", "complex_functions", "dual_functions"}
    return [core / "math.hpp", *sorted(path for path in (core / "math").glob("*.hpp") if path.stem not in of_other_types)]


def scalar_functions(header):
    """The names of the functions of math:: that a header declares."""
    text = re.sub(r"^namespace detail \{.*?^\}  // namespace detail", "", header.read_text(), flags=re.DOTALL | re.MULTILINE)
    return set(re.findall(r"LOCUS_FN \w+ (\w+)\(", text))


def problems_of_scalar_functions(page):
    """Differences between the table of a page and the headers of core/math."""
    root = common.ROOT / "include" / "locus"
    told = {header: set(re.findall(r"`(\w+)`", names))
            for header, names in re.findall(r"^\| `(core/math[\w/]*\.hpp)` \| (.*) \|$", page, re.MULTILINE)}
    there = {str(path.relative_to(root)): scalar_functions(path) for path in scalar_headers()}
    found = [f"{header}: the table has {sorted(told.get(header, set()) - names)} too many, and lacks "
             f"{sorted(names - told.get(header, set()))}" for header, names in there.items() if told.get(header) != names]
    return found + [f"{header}: there is no such header" for header in told.keys() - there.keys()]


SPREAD = common.ROOT / "include" / "locus" / "distributed" / "spread" / "functions.hpp"
SUBJECTS = ["elementwise", "products", "reductions", "normalization-dropout-and-losses", "views-and-parts", "windows",
            "lookups-joins-and-order"]
DRAWS, NO_OPERAND = "draws random numbers", "takes no tensor, or a function"
NOT_SPREAD = {
    "allclose": "gives no tensor",
    **dict.fromkeys(["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout", "rrelu"], DRAWS),
    **dict.fromkeys(["elementwise", "fuse", "triplet_margin_with_distance_loss", "range", "bartlett_window", "blackman_window", "hamming_window", "hann_window",
                     "kaiser_window", "rotary_frequencies"], NO_OPERAND),
    "block_diag": "takes a list of tensors",
    "rotary_tables": "its element type is written at the call: make the tables of x.local()",
    "pad": "its amounts stand in braces: a member function would be clearer",
}


def problems_of_spread_functions(header, pages):
    """Public functions without a line in the list of spread functions, and lines without a function."""
    public = {name.removeprefix("nn-") for page in pages for name in re.findall(r'<a id="((?:nn-)?[a-z]\w*)">', page)}
    listed = set(re.findall(r"^LOCUS_OVER(?:_AFTER)?\((\w+), \w+", header, re.MULTILINE))
    missing = sorted(name for name in public - listed - NOT_SPREAD.keys())
    stray = sorted((listed | NOT_SPREAD.keys()) - public)
    return [f"{name}: no line in {SPREAD.name}, and no reason in NOT_SPREAD" for name in missing] + \
           [f"{name}: a line or a reason, but no public function" for name in stray] + \
           [f"{name}: a line and a reason against it" for name in sorted(listed & NOT_SPREAD.keys())]


LAYERS = common.ROOT / "docs" / "layers.md"
# A result, a wrapper of layers, and a layer whose class is not final.
OTHER_CLASSES = {"Frozen", "LogProbabilityAndLoss", "Sequential"}
DETAIL = re.compile(r"^namespace detail \{.*?^\}  // namespace detail|^.*namespace nn::detail \{.*", re.DOTALL | re.MULTILINE)


def problems_of_layers(page):
    """Differences between the list of layers on a page and the headers of nn; headers with layers that nn.hpp lacks."""
    folder = common.ROOT / "include" / "locus"
    usual = {name for name in re.findall(r"<locus/(nn/\w+\.hpp)>", (folder / "locus.hpp").read_text())}
    every = (folder / "nn" / "nn.hpp").read_text()
    there, problems = {}, []
    for header in sorted((folder / "nn").glob("*.hpp")):
        text = DETAIL.sub("", header.read_text())
        names = re.findall(r"^(?:class|struct) (\w+) final", text, re.MULTILINE) + \
            re.findall(r"^struct (\w*(?<!Options)Loss)(?:<[^;]*>)? \{", text, re.MULTILINE)
        name = f"nn/{header.name}"
        there.update({layer: "locus.hpp" if name in usual else name for layer in names})
        problems += [f"{name} is missing in nn/nn.hpp"] if set(names) - OTHER_CLASSES and f"<locus/{name}>" not in every else []
    told = {layer: header for layers, header in re.findall(r"^\| [\w, ]*\| ((?:`\w+` ?)+) \| .*?`([\w/.]+)`.*\|$", page, re.MULTILINE)
            for layer in CODE.findall(layers)}
    return problems + [
        f"{layer}: the page says {told.get(layer, 'nothing')}, the headers {there.get(layer, 'nothing')}"
        for layer in sorted((told.keys() | there.keys()) - OTHER_CLASSES) if told.get(layer) != there.get(layer)]


def scalar_source():
    """A file that calls each function of core/math with float and double."""
    names = sorted(set().union(*map(scalar_functions, scalar_headers())))
    lines = ["#include <locus/locus.hpp>", "#include <locus/expr/special.hpp>", "using namespace locus;"]
    for name in names:
        lines += [f"template <class T> concept Has_{name} = requires(T x) {{ {{ math::{name}(x) }} -> std::same_as<T>; }} || "
                  f"requires(T x) {{ {{ math::{name}(x, x) }} -> std::same_as<T>; }} || "
                  f"requires(T x) {{ {{ math::{name}(x, x, x) }} -> std::same_as<T>; }};",
                  f"static_assert(Has_{name}<float> && Has_{name}<double>);"]
    return "\n".join([*lines, ""])


def check(report):
    report.add("scalar functions", "\n".join(problems_of_scalar_functions(SCALARS.read_text())) or None)
    pages = [(common.ROOT / "docs" / "reference" / f"{subject}.md").read_text() for subject in SUBJECTS]
    report.add("spread functions", "\n".join(problems_of_spread_functions(SPREAD.read_text(), pages)) or None)
    report.add("layers", "\n".join(problems_of_layers(LAYERS.read_text())) or None)
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
        path.write_text(scalar_source())
        status, output = common.run([compiler, *common.CXX, *common.INCLUDES, "-fsyntax-only", path])
        report.add("scalar functions of float and double", output if status else None)


if __name__ == "__main__":
    common.main(check)
