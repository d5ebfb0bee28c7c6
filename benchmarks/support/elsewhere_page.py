"""docs/mistakes-elsewhere.md, made of benchmarks/mistakes/kinds.json and the results of benchmarks/mistakes.py."""

import collections
import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "mistakes-elsewhere.md"
KINDS = ROOT / "benchmarks" / "mistakes" / "kinds.json"
NAMES = {"locus": "Locus", "libtorch": "libtorch", "jax": "JAX", "mlx": "MLX", "eigen": "Eigen", "xtensor": "xtensor"}
LIBRARIES = list(NAMES)
CELLS = {"does not compile": "compile error", "warns": "warning", "throws at once": "throws", "throws later": "throws later",
         "silently wrong": "**silent**", "correct": "no mistake", "not expressible": "–", "not measured": "not measured",
         "void": "void"}
INTRODUCTION = """\
# The same mistakes in other libraries

{count} kinds of mistake, each written in {libraries}. The words in the tables:

| word | meaning |
|---|---|
| compile error | the program does not compile |
| warning | the compiler or the library warns, and the result is wrong |
| throws | an exception or a failed assertion in the call with the mistake |
| throws later | the same in a later call |
| **silent** | the result is wrong, and no line says so |
| no mistake | the library gives the right result |
| – | the mistake cannot be written; the fold below the table has the reason |
| not measured | the program needs a GPU, several processes or a further package |

## Sums

{sums}

The kinds are no sample of programs: they are mistakes that Locus has a rule for, and mistakes that no type finds. The
sums compare libraries kind by kind, not the quality of libraries.

- Extents, axes and indices are values in Locus, so a wrong one is found at run time or not at all. Eigen has extents as
  types: it alone refuses a row minus a column and a product of other inner extents when compiling.
- Nothing finds a wrong axis, a reshape in place of a transposition, a second softmax or a large learning rate.
- In JAX and MLX a gradient is the result of a function. Mistakes with `backward()`, `zero_grad()` and tensors that are
  changed while they are recorded do not exist there.
- Keys of random numbers are values in JAX and MLX, so one can be used twice.
"""
METHOD = """\
## How it is measured

[`benchmarks/mistakes.py`](../benchmarks/mistakes.py) builds and runs each program twice: corrected, which must give the
right result, and with the mistake. The outcome follows from the compiler's and the program's output, and is recorded in
[`mistakes.json`](../benchmarks/results/mistakes.json), of which this page is made. The programs are in
[`benchmarks/mistakes`](../benchmarks/mistakes).

- Versions: {versions}. The C++ programs are built by clang {clang} with `-O0 -Wall -Wextra -Wconversion`, without
  `NDEBUG`. Eigen's assertions are therefore on. xtensor's are off, as by default.
- No GPU is used. libtorch's tensor on the GPU is a tensor of the dispatch key CUDA without memory, made by
  [`on_gpu.hpp`](../benchmarks/mistakes/on_gpu.hpp): a call on it enters PyTorch's operator for CUDA, whose checks of devices
  come before the first access to memory. JAX has two devices of the host. MLX's arrays lie in one memory.
- The message is the first error of the compiler, the exception's text, or the failed assertion. Folders are left out.
  Messages of compilers that point into a header of the library, not into the program, are marked so. The line number of
  an exception is known to Python, and unknown to C++.

`python3 benchmarks/mistakes.py --python PYTHON --torch DIR` measures again. `DIR` is the folder `torch` of PyTorch's wheel,
and `PYTHON` has the packages `jax` and `mlx[cpu]`.
"""


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def page_of(case):
    """The link to the page about a case of tests/compile_fail, from docs."""
    usage = (ROOT / "tests" / "compile_fail" / "usage" / f"{case}.cpp").is_file()
    return "mistakes.md" if usage else f"compile-errors.md#{case}"


def outcome_of(kind, library, rows, reasons):
    """{outcome, message} of a measured row, or of the reason for its absence."""
    if reason := kind.get("absent", {}).get(library):
        return {"outcome": reasons[reason]["outcome"], "message": reasons[reason]["why"]}
    return rows.get(library, {"outcome": "not measured", "message": ""})


def line_of(library, row):
    where = " (in a header of the library)" if row.get("own line") is False else ""
    return f"{NAMES[library]}, {row['outcome']}{where}" + (f": {row['message']}" if row["message"] else "")


def sums(outcomes):
    counts = {library: collections.Counter(rows[library]["outcome"] for rows in outcomes.values()) for library in LIBRARIES}
    shown = [outcome for outcome in CELLS if any(count[outcome] for count in counts.values())]
    return table(["outcome", *NAMES.values()],
                 [[CELLS[outcome], *(str(counts[library][outcome]) for library in LIBRARIES)] for outcome in shown])


def section(group, kinds, outcomes):
    rows, folds = [], []
    for name, kind in kinds.items():
        if kind["group"] != group:
            continue
        cells = [CELLS[outcomes[name][library]["outcome"]] for library in LIBRARIES]
        if kind["case"]:
            cells[0] = f"[{cells[0]}]({page_of(kind['case'])})"
        rows.append([f"[{kind['title']}](../benchmarks/mistakes/{name})", *cells])
        lines = "\n".join(line_of(library, outcomes[name][library]) for library in LIBRARIES)
        folds.append(f"<details>\n<summary>{kind['title']}</summary>\n\n{kind['harm']}\n\n```text\n{lines}\n```\n\n</details>")
    return f"## {group}\n\n" + table(["mistake", *NAMES.values()], rows) + "\n\n" + "\n\n".join(folds) + "\n"


def page(result):
    known = json.loads(KINDS.read_text())
    kinds, reasons = known["kinds"], known["reasons"]
    measured = collections.defaultdict(dict)
    for row in result["rows"]:
        measured[row["kind"]][row["library"]] = row
    outcomes = {name: {library: outcome_of(kind, library, measured[name], reasons) for library in LIBRARIES}
                for name, kind in kinds.items()}
    names = [f"{NAMES[name]} {version}" for name, version in result["libraries"].items()]
    libraries = ", ".join(list(NAMES.values())[:-1]) + f" and {NAMES[LIBRARIES[-1]]}"
    groups = dict.fromkeys(kind["group"] for kind in kinds.values())
    return "\n".join([INTRODUCTION.format(count=len(kinds), libraries=libraries, sums=sums(outcomes)),
                      *(section(group, kinds, outcomes) for group in groups),
                      METHOD.format(versions=", ".join(names), clang=result["clang"])])
