#!/usr/bin/env python3
"""Tokens per second of the small GPT-2 of examples/text.cpp, in turns with PyTorch: training and generation.

usage: gpt2.py --torch-python PYTHON [--threads 2] [--batch 16] [--steps 10] [--turns 7] [--processor-time] [--pin]

A turn is a few steps of each program, of which the fastest counts: training on a batch of windows of 64 tokens, with
clipping and AdamW, and generating one token after a window. The results are the fastest turn and the median; the ratio
is of the fastest turns. bfloat16 is compared with autocast. --processor-time, with --threads 1, is for machines on
which other programs run. Results are written to results/PROCESSOR/cpu-gpt2.json.
"""

import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
from torch_turns import parser_of, players, processor, speed, write_results  # noqa: E402

CONTEXT = 64
ROWS = [("training", "float32"), ("training", "bfloat16"), ("writing", "float32"), ("writing", "bfloat16")]


def main():
    parser = parser_of(__doc__, turns=7)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=10)
    options = parser.parse_args()
    taken = {row: ([], []) for row in ROWS}
    with players("gpt2", options) as both:
        for _ in range(options.turns):
            for work, kind in ROWS:
                batch = options.batch if work == "training" else 1
                for player, times in zip(both, taken[work, kind]):
                    times += player.ask(f"{options.threads} {options.clock} {batch} {options.steps} {kind} {work}")
    print(f"{processor()}, {options.threads} thread(s), batch {options.batch}, by the {options.clock}'s clock")
    print(f"{'tokens per second':24}{'Locus':>10}{'PyTorch':>10}{'ratio':>8}{'of medians':>12}")
    results = {"processor": processor(), "threads": options.threads, "pinned": options.pin, "batch": options.batch, "clock": options.clock,
               "rows": {}}
    for (work, kind), times in taken.items():
        tokens = options.batch * CONTEXT if work == "training" else 1
        mine, peer = (speed(tokens, min(each)) for each in times)
        medians = statistics.median(times[1]) / statistics.median(times[0])
        print(f"{f'{work}, {kind}':24}{mine:10.0f}{peer:10.0f}{mine / peer:8.2f}{medians:12.2f}")
        results["rows"][f"{work}, {kind}"] = {"ours": mine, "pytorch": peer, "ours_ms": times[0], "pytorch_ms": times[1]}
    write_results("cpu-gpt2.json", results)


if __name__ == "__main__":
    main()
