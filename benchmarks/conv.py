#!/usr/bin/env python3
"""The convolutions of a ResNet-18 on images of 32 x 32, in turns with PyTorch: the value and both gradients.

usage: conv.py --torch-python PYTHON [--threads 2] [--batch 64] [--turns 3] [--processor-time] [--pin] [--exact]
               [--type float32] [--depthwise] [--channels-last]

Each pass of PyTorch is measured in both memory formats, and the faster one counts. The time of a turn is its fastest
run; the result is the fastest turn. --processor-time, with --threads 1, is for machines on which other programs run.
--exact turns Winograd convolutions off; --type is float32 or bfloat16; --depthwise measures the depthwise convolutions
of a MobileNetV2 instead; --channels-last gives Locus channels-last images. Results are written to
results/PROCESSOR/cpu-conv.json, with options to files named after them, such as cpu-conv-depthwise-bfloat16.json,
unless --only selects some of the shapes.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
from torch_turns import parser_of, players, processor, write_results  # noqa: E402

# channels in and out, size of the image, kernel, stride; occurrences in the network
SHAPES = {(3, 64, 32, 3, 1): 1, (64, 64, 32, 3, 1): 4, (64, 128, 32, 3, 2): 1, (64, 128, 32, 1, 2): 1,
          (128, 128, 16, 3, 1): 3, (128, 256, 16, 3, 2): 1, (128, 256, 16, 1, 2): 1, (256, 256, 8, 3, 1): 3,
          (256, 512, 8, 3, 2): 1, (256, 512, 8, 1, 2): 1, (512, 512, 4, 3, 1): 3}
DEPTHWISE = {(32, 32, 112, 3, 1): 1, (96, 96, 112, 3, 2): 1, (144, 144, 56, 3, 1): 1, (144, 144, 56, 3, 2): 1,
             (192, 192, 28, 3, 1): 2, (192, 192, 28, 3, 2): 1, (384, 384, 14, 3, 1): 4, (576, 576, 14, 3, 1): 2,
             (576, 576, 14, 3, 2): 1, (960, 960, 7, 3, 1): 3}
PASSES = ("value", "input gradient", "weight gradient")


def main():
    parser = parser_of(__doc__, turns=3)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--exact", action="store_true")
    parser.add_argument("--type", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--depthwise", action="store_true")
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--only", help="shapes whose text contains this, as 64-64-32-3-1")
    options = parser.parse_args()
    measured = DEPTHWISE if options.depthwise else SHAPES
    shapes = {shape: count for shape, count in measured.items() if (options.only or "") in "-".join(map(str, shape))}
    best = {shape: ([float("inf")] * 3, [float("inf")] * 3) for shape in shapes}
    with players("conv", options) as (ours, theirs):
        for _ in range(options.turns):
            for shape in shapes:
                channels, out, *rest = shape
                groups = channels if options.depthwise else 1
                line = " ".join(map(str, (options.threads, options.clock, options.type, options.batch, channels, out, groups,
                                          *rest, int(options.exact))))
                mine, peer = ours.ask(f"{line} {int(options.channels_last)}"), theirs.ask(line)
                for i in range(3):
                    best[shape][0][i] = min(best[shape][0][i], mine[i])
                    best[shape][1][i] = min(best[shape][1][i], peer[i], peer[i + 3])
    print(f"{processor()}, {options.threads} thread(s), {options.type}, batch {options.batch}, milliseconds by the {options.clock}'s clock")
    print(f"{'in-out-size-kernel-stride':28}" + "".join(f"{name + ': ours, PyTorch, ratio':>42}" for name in PASSES))
    whole = [0.0, 0.0]
    for shape, (mine, peer) in best.items():
        print(f"{'-'.join(map(str, shape)):28}" +
              "".join(f"{m:20.2f}{p:11.2f}{p / m:11.2f}" for m, p in zip(mine, peer)))
        for i, times in enumerate((mine, peer)):
            # Images have no gradient.
            whole[i] += shapes[shape] * sum(time for k, time in enumerate(times) if k != 1 or shape[0] != 3)
    print(f"all of a step: {whole[0]:.0f}, {whole[1]:.0f} ms: {whole[1] / whole[0]:.2f}")
    if not options.only:
        results = {"processor": processor(), "type": options.type, "threads": options.threads, "pinned": options.pin, "batch": options.batch, "clock": options.clock,
                   "exact": options.exact, "channels_last": options.channels_last, "step_ms": whole,
                   "shapes": {"-".join(map(str, shape)): {"ours": mine, "pytorch": peer}
                              for shape, (mine, peer) in best.items()}}
        suffix = "-depthwise" * options.depthwise + "-exact" * options.exact + "-channels-last" * options.channels_last + f"-{options.type}" * (options.type != "float32")
        write_results(f"cpu-conv{suffix}.json", results)


if __name__ == "__main__":
    main()
