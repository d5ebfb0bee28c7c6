#!/usr/bin/env python3
"""Lookups, scatters, and parts of matrices, in turns with PyTorch.

usage: lookups.py --torch-python PYTHON [--threads 2] [--turns 3] [--processor-time] [--pin]

The time of a turn is its fastest run; the result is the fastest turn. --processor-time, with --threads 1, is for
machines on which other programs run. Results are written to results/PROCESSOR/cpu-lookups.json, unless --only
selects some.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
from torch_turns import parser_of, players, processor, write_results  # noqa: E402

# Operation and sizes: rows of a table, their width, indices; or rows and columns of a matrix.
CASES = [("embedding_gradient", 100_000, 64, 1_000_000), ("index_add", 100_000, 64, 1_000_000),
         ("scatter_add", 100_000, 64, 1_000_000), ("scatter_add_list", 100_000, 64, 1_000_000),
         ("scatter_add", 100_000, 1, 1_000_000), ("gather_gradient", 100_000, 8, 1_000_000),
         ("index_copy", 100_000, 64, 50_000), ("searchsorted", 100_000, 1, 1_000_000), ("tril", 4096, 4096, 0),
         ("flip", 4096, 4096, 0), ("roll", 4096, 4096, 0), ("cumprod", 4096, 4096, 0), ("sort", 256, 16384, 0),
         ("quantile", 256, 16384, 0)]


def main():
    parser = parser_of(__doc__, turns=3)
    parser.add_argument("--only", help="cases whose text contains this, as scatter_add-100000-64-1000000")
    options = parser.parse_args()
    cases = [case for case in CASES if (options.only or "") in "-".join(map(str, case))]
    best = {case: ([float("inf")], [float("inf")]) for case in cases}
    with players("lookups", options) as both:
        for _ in range(options.turns):
            for case in cases:
                line = " ".join(map(str, (options.threads, options.clock, *case)))
                for times, player in zip(best[case], both):
                    times[:] = map(min, times, player.ask(line))
    print(f"{processor()}, {options.threads} thread(s), milliseconds by the {options.clock}'s clock")
    print(f"{'':44}{'ours':>10}{'PyTorch':>10}{'ratio':>8}")
    results = {"processor": processor(), "threads": options.threads, "pinned": options.pin, "clock": options.clock, "cases": {}}
    for case, ((mine,), (peer,)) in best.items():
        name = "-".join(map(str, case))
        print(f"{name:44}{mine:10.2f}{peer:10.2f}{peer / mine:8.2f}")
        results["cases"][name] = {"ours": mine, "pytorch": peer}
    if not options.only:
        write_results("cpu-lookups.json", results)


if __name__ == "__main__":
    main()
