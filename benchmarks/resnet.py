#!/usr/bin/env python3
"""Images per second of training ResNet-18 on images of 32 x 32, in turns with PyTorch.

usage: resnet.py --torch-python PYTHON [--threads 2] [--batch 64] [--steps 3] [--turns 5] [--processor-time] [--pin]

A turn is a few steps of each program: forward, cross-entropy, backward, SGD with momentum. The fastest step counts;
Locus runs with row-major and with channels-last images, PyTorch in the faster of its memory formats. The results are
medians over the turns, and the ratios of the medians. float32 is measured with and without Winograd convolutions,
bfloat16 beside autocast. --processor-time, with --threads 1, is for machines on which other programs run. Results are
written to results/PROCESSOR/cpu-resnet.json.
"""

import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
from torch_turns import parser_of, players, processor, speed, write_results  # noqa: E402

ROWS = [("float32", False), ("float32", True), ("bfloat16", False)]


def main():
    parser = parser_of(__doc__, turns=5)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=3)
    options = parser.parse_args()
    taken = {row: ([], [], []) for row in ROWS}
    with players("resnet", options) as (ours, theirs):
        for _ in range(options.turns):
            for kind, exact in ROWS:
                line = f"{options.threads} {options.clock} {options.batch} {options.steps} {kind} {int(exact)}"
                of_formats = ours.ask(line)
                for times, one in zip(taken[kind, exact], (of_formats[0], of_formats[1], min(theirs.ask(line)))):
                    times.append(one)
    print(f"{processor()}, {options.threads} thread(s), batch {options.batch}, by the {options.clock}'s clock")
    print(f"{'images per second':24}{'row-major':>10}{'ch.-last':>10}{'PyTorch':>10}{'ratios':>14}")
    results = {"processor": processor(), "threads": options.threads, "pinned": options.pin, "batch": options.batch, "clock": options.clock,
               "rows": {}}
    for (kind, exact), times in taken.items():
        mine, turned, peer = (speed(options.batch, statistics.median(each)) for each in times)
        name = kind + (", exact" if exact else "")
        print(f"{name:24}{mine:10.1f}{turned:10.1f}{peer:10.1f}{mine / peer:8.2f}{turned / peer:6.2f}")
        results["rows"][name] = {"ours": mine, "ours_channels_last": turned, "pytorch": peer, "ours_ms": times[0],
                                 "ours_channels_last_ms": times[1], "pytorch_ms": times[2]}
    write_results("cpu-resnet.json", results)


if __name__ == "__main__":
    main()
