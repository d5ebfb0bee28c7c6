#!/usr/bin/env python3
"""Tensor products in turns with PyTorch: einsum, and distances between sets of vectors.

usage: products.py --torch-python PYTHON [--threads 2] [--turns 3] [--processor-time] [--pin]

The time of a turn is its fastest run; the result is the fastest turn. --processor-time, with --threads 1, is for
machines on which other programs run. Results are written to results/PROCESSOR/cpu-products.json, unless --only
selects some.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
from torch_turns import parser_of, players, processor, write_results  # noqa: E402

# Names in cpu_products.cpp and peers/torch_products.py.
NAMES = ["einsum_scores", "einsum_scores_apart", "einsum_values", "einsum_bilinear", "cdist"]


def main():
    parser = parser_of(__doc__, turns=3)
    parser.add_argument("--only", help="names that contain this")
    options = parser.parse_args()
    best = {name: [float("inf")] * 2 for name in NAMES if (options.only or "") in name}
    with players("products", options) as both:
        for _ in range(options.turns):
            for name, times in best.items():
                line = f"{options.threads} {options.clock} {name}"
                times[:] = [min(time, *player.ask(line)) for time, player in zip(times, both)]
    print(f"{processor()}, {options.threads} thread(s), milliseconds by the {options.clock}'s clock")
    print(f"{'':24}{'ours':>10}{'PyTorch':>10}{'ratio':>8}")
    for name, (mine, peer) in best.items():
        print(f"{name:24}{mine:10.2f}{peer:10.2f}{peer / mine:8.2f}")
    if not options.only:
        results = {"processor": processor(), "threads": options.threads, "pinned": options.pin, "clock": options.clock, "products":
                   {name: {"ours": mine, "pytorch": peer} for name, (mine, peer) in best.items()}}
        write_results("cpu-products.json", results)


if __name__ == "__main__":
    main()
