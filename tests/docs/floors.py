#!/usr/bin/env python3
"""Checks docs/architecture.md and its picture, docs/floors.svg: which folder of include/locus includes which. The
picture is drawn from the includes, without implied edges. Fails if the stored picture differs, or if the page names a
file or folder that does not exist.

usage: floors.py [--write]
"""

import argparse
import html
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import check_tree  # noqa: E402
import common  # noqa: E402

PICTURE = common.ROOT / "docs" / "floors.svg"
PAGE = common.ROOT / "docs" / "architecture.md"
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
# Paths on the page: code with a slash, or with the suffix of a file of this repository.
PATH = re.compile(r"`([\w.-]+(?:/[\w.-]+)*(?:/|\.(?:hpp|cuh|cu|cpp|inc|py|md|svg|txt|build)))`|`([\w.-]+(?:/[\w.-]+)+)`")
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")
WHAT = {"fft": "Fourier transforms", "distributions": "densities, draws with gradients, divergences", "linalg": "solve, inv, svd, of LAPACK and cuSOLVER", "core": "shapes, types, mathematics, files", "refuse": "the words of compile errors",
        "device": "contracts: what a device must do", "cpu": "the host: gemm, loops, reduce, threads",
        "cuda": "GPUs, as a C++ compiler sees them", "kernels": "cuda_kernels: what nvcc compiles",
        "tensor": "handles, copies, random numbers", "expr": "fused formulas", "ops": "reductions, products, rows, views",
        "autograd": "what is recorded, gradients", "nn": "layers, losses, states, moves", "optim": "SGD, Adam, schedules, clipping",
        "data": "data sets, loaders", "distributed": "ranks and collectives", "training": "fit, evaluate, history", "io": "safetensors, NumPy, JSON, CSV", "interop": "DLPack, ONNX, PyTorch, GGUF", "text": "tokenizers", "report": "plots, histories, TensorBoard", "models": "ResNet, GPT-2, LeNet-5, perceptrons"}
WIDTH, HEIGHT, GAP, FLOOR = 250, 44, 24, 78


def includes():
    """{folder: folders that its headers include}; cuda_kernels is `kernels`."""
    found = {folder: set() for folder in [*check_tree.RANKS, "kernels"]}
    for path in common.sources("include/locus", "cuda_kernels/locus"):
        parts = path.relative_to(common.ROOT).parts
        of = "kernels" if parts[0] == "cuda_kernels" else parts[2] if len(parts) > 3 else None
        if of is None or of == "instances":  # lists beside the headers
            continue
        for _, target in check_tree.included(path.read_text()):
            if target.startswith("locus/") and target.count("/") > 1 and not target.startswith("locus/instances/"):
                kernel = (common.ROOT / "cuda_kernels" / target).exists()
                found[of].add("kernels" if kernel else target.split("/")[1])
        found[of].discard(of)
    return found


def without_what_follows(graph):
    """The transitive reduction of the graph."""
    def reaches(start, end, seen=()):
        return start == end or any(reaches(next_, end, (*seen, start)) for next_ in graph[start] if next_ not in seen)
    return {of: {to for to in targets if not any(reaches(via, to) for via in targets - {to})} for of, targets in graph.items()}


def floors():
    """Rows of folders from the top down. cuda_kernels is between cuda and the contracts, below cuda alone."""
    rows = {}
    for folder, rank in check_tree.RANKS.items():
        rows.setdefault(rank, []).append(folder)
    rows[check_tree.RANKS["device"] + 0.5] = [None, "kernels"]
    return [rows[rank] for rank in sorted(rows, reverse=True)]


def picture():
    rows = floors()
    width = max(len(row) for row in rows) * (WIDTH + GAP) + GAP
    height = len(rows) * FLOOR + GAP
    place = {folder: ((width - len(row) * (WIDTH + GAP) + GAP) // 2 + column * (WIDTH + GAP), GAP // 2 + line * FLOOR)
             for line, row in enumerate(rows) for column, folder in enumerate(row) if folder}
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" role="img">',
             "<title>Which folder of Locus includes which</title>", '<rect width="100%" height="100%" fill="#fff"/>']
    for of, targets in without_what_follows(includes()).items():
        for to in sorted(targets):
            (x1, y1), (x2, y2) = place[of], place[to]
            start, end = (x1 + WIDTH // 2, y1 + HEIGHT), (x2 + WIDTH // 2, y2)
            lines.append(f'<path d="M{start[0]} {start[1]} C{start[0]} {start[1] + 30} {end[0]} {end[1] - 30} {end[0]} {end[1]}" '
                         'fill="none" stroke="#888" stroke-width="1.5"/>')
    for folder, (x, y) in place.items():
        name = "cuda_kernels" if folder == "kernels" else folder
        text = WHAT[folder].removeprefix("cuda_kernels: ")
        lines += [f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="4" fill="#eef3fa" stroke="#456"/>',
                  f'<text x="{x + 10}" y="{y + 18}" font-size="14" font-weight="bold" fill="#123">{name}/</text>',
                  f'<text x="{x + 10}" y="{y + 35}" font-size="11" fill="#345">{html.escape(text)}</text>']
    return "\n".join([*lines, "</svg>", ""])


def missing_paths(text, root=common.ROOT):
    """Paths that the page names and the repository lacks. Code is relative to the root or to include/locus, links to
    docs."""
    text = FENCED.sub("", text)
    named = {(name, (root, root / "include" / "locus")) for pair in PATH.findall(text) for name in pair if name}
    named |= {(name, (root / "docs",)) for name in LINK.findall(text)}
    return sorted(name for name, folders in named if not any((folder / name).exists() for folder in folders))


def check(report):
    missing = missing_paths(PAGE.read_text())
    report.add("paths of the page", missing and f"docs/architecture.md names what is not there: {', '.join(missing)}")
    same = PICTURE.exists() and PICTURE.read_text() == picture()
    report.add("floors of the library", "" if same else "docs/floors.svg shows other includes; tests/docs/floors.py --write")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="make the picture anew")
    if parser.parse_args().write:
        PICTURE.write_text(picture())
    common.main(check)
