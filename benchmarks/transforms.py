#!/usr/bin/env python3
"""Transforms of images, one by one, in turns with torchvision, whose images stay bytes until they are normalized.

usage: transforms.py --torch-python PYTHON [--threads 1] [--turns 3] [--processor-time] [--pin]

PYTHON has torchvision. The time of a turn is its fastest run; the result is the fastest turn. --processor-time, with
--threads 1, is for machines on which other programs run. Results are written to
results/PROCESSOR/cpu-transforms.json.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
from torch_turns import parser_of, players, processor, write_results  # noqa: E402

CASES = ["imagenet", "crop", "validation", "simclr", "rand_augment"]
HEIGHT, WIDTH = 375, 500


def main():
    parser = parser_of(__doc__, turns=3)
    parser.set_defaults(threads=1)
    options = parser.parse_args()
    best = {case: ([float("inf")], [float("inf")]) for case in CASES}
    with players("transforms", options) as both:
        for _ in range(options.turns):
            for case in CASES:
                line = f"{options.threads} {options.clock} {case} {HEIGHT} {WIDTH}"
                for times, player in zip(best[case], both):
                    times[:] = map(min, times, player.ask(line))
    print(f"{processor()}, {options.threads} thread(s), milliseconds of an image by the {options.clock}'s clock")
    print(f"{'':16}{'ours':>10}{'torchvision':>13}{'ratio':>8}")
    results = {"processor": processor(), "threads": options.threads, "pinned": options.pin, "clock": options.clock, "cases": {}}
    for case, ((mine,), (peer,)) in best.items():
        print(f"{case:16}{mine:10.3f}{peer:13.3f}{peer / mine:8.2f}")
        results["cases"][case] = {"ours": mine, "torchvision": peer}
    write_results("cpu-transforms.json", results)


if __name__ == "__main__":
    main()
