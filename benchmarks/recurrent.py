#!/usr/bin/env python3
"""LSTM, GRU and RNN in turns with PyTorch's: the value, and the value with all gradients.

usage: recurrent.py --torch-python PYTHON [--threads 2] [--turns 3] [--processor-time] [--pin]

The time of a turn is its fastest run; the result is the fastest turn. --processor-time, with --threads 1, is for
machines on which other programs run. Results are written to results/PROCESSOR/cpu-recurrent.json, unless --only selects
some of the shapes.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
from torch_turns import parser_of, players, processor, write_results  # noqa: E402

# steps, batch, width of the input, hidden_size
SIZES = ((128, 64, 256, 256), (32, 16, 64, 128), (256, 1, 128, 128))
SHAPES = [(layer, *sizes) for sizes in SIZES for layer in ("LSTM", "GRU", "RNN")]


def main():
    parser = parser_of(__doc__, turns=3)
    parser.add_argument("--only", help="shapes whose text contains this, as LSTM-128-64-256-256")
    options = parser.parse_args()
    shapes = [shape for shape in SHAPES if (options.only or "") in "-".join(map(str, shape))]
    best = {shape: ([float("inf")] * 2, [float("inf")] * 2) for shape in shapes}
    with players("recurrent", options) as both:
        for _ in range(options.turns):
            for shape in shapes:
                line = " ".join(map(str, (options.threads, options.clock, *shape)))
                for times, player in zip(best[shape], both):
                    times[:] = map(min, times, player.ask(line))
    print(f"{processor()}, {options.threads} thread(s), milliseconds by the {options.clock}'s clock")
    print(f"{'layer-steps-batch-input-hidden':36}" +
          "".join(f"{name + ': ours, PyTorch, ratio':>44}" for name in ("value", "value and gradients")))
    results = {"processor": processor(), "threads": options.threads, "pinned": options.pin, "clock": options.clock, "shapes": {}}
    for shape, (mine, peer) in best.items():
        name = "-".join(map(str, shape))
        print(f"{name:36}" + "".join(f"{m:22.2f}{p:11.2f}{p / m:11.2f}" for m, p in zip(mine, peer)))
        results["shapes"][name] = {"ours": mine, "pytorch": peer}
    if not options.only:
        write_results("cpu-recurrent.json", results)


if __name__ == "__main__":
    main()
