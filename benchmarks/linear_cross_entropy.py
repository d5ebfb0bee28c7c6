#!/usr/bin/env python3
"""Time and memory of a language model's loss, from the vectors before its last layer to their gradients, in turns with
PyTorch: with logits in chunks, and with all logits.

usage: linear_cross_entropy.py --torch-python PYTHON [--threads 2] [--rows 1024] [--turns 3] [--processor-time] [--pin]

The sizes are GPT-2's: vectors of 768, 50,257 classes. A turn is the fastest run of each. Memory is the peak of the first
turn, without operands; PyTorch's is the growth of its resident memory. --processor-time, with
--threads 1, is for machines on which other programs run. Results are written to
results/PROCESSOR/cpu-linear-cross-entropy.json.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
from torch_turns import parser_of, players, processor, write_results  # noqa: E402

WIDTH, CLASSES = 768, 50257
WAYS = "chunks", "whole"


def main():
    parser = parser_of(__doc__, turns=3)
    parser.add_argument("--rows", type=int, default=1024)
    options = parser.parse_args()
    results = {"processor": processor(), "threads": options.threads, "pinned": options.pin, "clock": options.clock,
               "rows": options.rows, "cases": {}}
    print(f"{processor()}, {options.threads} thread(s), {options.rows} rows, by the {options.clock}'s clock")
    print(f"{'milliseconds (MB)':24}{'Locus':>16}{'PyTorch':>16}{'ratio':>8}")
    for kind in "float32", "bfloat16":
        for way in WAYS:  # programs of their own, as their peaks of memory are of all lines so far
            line = f"{options.threads} {options.clock} {options.rows} {WIDTH} {CLASSES} {kind} {way}"
            with players("linear_cross_entropy", options) as both:
                answers = [[player.ask(line) for player in both] for _ in range(options.turns)]
            mine, peer = ({"ms": min(each[0] for each in of_one), "megabytes": of_one[0][1]} for of_one in zip(*answers))
            texts = [f"{each['ms']:.0f} ({each['megabytes']:.0f})" for each in (mine, peer)]
            print(f"{f'{way}, {kind}':24}{texts[0]:>16}{texts[1]:>16}{peer['ms'] / mine['ms']:8.2f}")
            results["cases"][f"{way}, {kind}"] = {"ours": mine, "pytorch": peer}
    write_results("cpu-linear-cross-entropy.json", results)


if __name__ == "__main__":
    main()
