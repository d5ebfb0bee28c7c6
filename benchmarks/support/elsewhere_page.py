"""docs/mistakes-elsewhere.md, made of benchmarks/mistakes/kinds.json and the results of benchmarks/mistakes.py."""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "mistakes-elsewhere.md"
LIBRARIES = ["locus", "libtorch", "jax", "mlx", "eigen", "xtensor"]


def page(result):
    return ""
