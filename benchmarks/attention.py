#!/usr/bin/env python3
"""scaled_dot_product_attention in turns with PyTorch's: the value, and the value with all gradients.

usage: attention.py --torch-python PYTHON [--threads 2] [--turns 3] [--processor-time] [--pin]

The time of a turn is its fastest run; the result is the fastest turn. --processor-time, with --threads 1, is for
machines on which other programs run. Results are written to results/PROCESSOR/cpu-attention.json, unless --only
selects some of the shapes.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
from torch_turns import parser_of, players, processor, write_results  # noqa: E402

# type, batch, heads, length, width of a head
SHAPES = [(dtype, *shape) for dtype in ("float32", "bfloat16")
          for shape in ((32, 8, 64, 32), (16, 8, 128, 64), (8, 8, 256, 64), (2, 8, 1024, 64), (1, 4, 4096, 64), (1, 1, 8192, 64))]


def main():
    parser = parser_of(__doc__, turns=3)
    parser.add_argument("--only", help="shapes whose text contains this, as float32-8-8-256-64")
    options = parser.parse_args()
    cases = [(shape, causal) for shape in SHAPES if (options.only or "") in "-".join(map(str, shape)) for causal in (0, 1)]
    best = {case: ([float("inf")] * 2, [float("inf")] * 2) for case in cases}
    with players("attention", options) as both:
        for _ in range(options.turns):
            for shape, causal in cases:
                line = " ".join(map(str, (options.threads, options.clock, *shape, causal)))
                for times, player in zip(best[shape, causal], both):
                    times[:] = map(min, times, player.ask(line))
    print(f"{processor()}, {options.threads} thread(s), milliseconds by the {options.clock}'s clock")
    print(f"{'type-batch-heads-length-width':36}" +
          "".join(f"{name + ': ours, PyTorch, ratio':>44}" for name in ("value", "value and gradients")))
    results = {"processor": processor(), "threads": options.threads, "pinned": options.pin, "clock": options.clock, "shapes": {}}
    for (shape, causal), (mine, peer) in best.items():
        name = "-".join(map(str, shape)) + ("-causal" if causal else "")
        print(f"{name:36}" + "".join(f"{m:22.2f}{p:11.2f}{p / m:11.2f}" for m, p in zip(mine, peer)))
        results["shapes"][name] = {"ours": mine, "pytorch": peer}
    if not options.only:
        write_results("cpu-attention.json", results)


if __name__ == "__main__":
    main()
