#!/usr/bin/env python3
"""Square products of 1,000 to 1,056 in float and bfloat16: the cost of sizes that are no multiple of a tile.

usage: aligned_dimensions.py [--threads 1] [--turns 5] [--processor-time] [--step 1] [--write]

Compares the time per multiply-add of each size with the next multiple to which nn::advise pads (16 in float with
AVX-512, 32 in bfloat16 with AMX), measured right before it. The result is the median over the turns, beside the
prediction of nn::advise for a single product. --processor-time, with --threads 1, is for machines on which other
programs run. --write stores the results in results/PROCESSOR/cpu-aligned-dimensions.json: measure them with nothing
else running.
"""

import argparse
import datetime
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
from torch_turns import BENCHMARKS, Player, processor, write_results  # noqa: E402

FIRST, LAST = 1000, 1056
TYPES = ["float", "bfloat16"]


def next_multiple(size, tile):
    return -(-size // tile) * tile


def tiles_of(kind):
    """Rows, columns and depth of this processor's tiles, as in nn::advise."""
    flags = pathlib.Path("/proc/cpuinfo").read_text().split()
    depth = 32 if "amx_bf16" in flags else 2 if "avx512_bf16" in flags else 1
    return 2, 16 if "avx512dq" in flags else 8 if "avx2" in flags else 4, depth if kind == "bfloat16" else 1


def modelled(size, tiles):
    """The predicted time per multiply-add, relative to no waste, by tile quantization."""
    return math.prod(next_multiple(size, tile) / size for tile in tiles)


def model_of_padding(size, tiles):
    """The predicted time per multiply-add, relative to the next multiple."""
    return modelled(size, tiles) / modelled(next_multiple(size, max(tiles)), tiles)


def measured(player, options):
    """{type: {size: [ratio of each turn]}}"""
    ratios = {}
    for kind in TYPES:
        multiple = max(tiles_of(kind))
        sizes = [size for size in range(FIRST, LAST + 1, options.step) if size % multiple]
        ratios[kind] = {size: [] for size in sizes}
        for _ in range(options.turns):
            for size in sizes:
                padded, own = [player.ask(f"{options.threads} {options.clock} {kind} {each}")[0]
                               for each in (next_multiple(size, multiple), size)]
                ratios[kind][size].append(own / padded)
    return ratios


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--step", type=int, default=1, help="between sizes")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--processor-time", dest="clock", action="store_const", const="processor", default="wall")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/cpu_aligned_dimensions"
        subprocess.run(["g++", "-std=c++20", "-O2", "-pthread", f"-I{BENCHMARKS.parent / 'include'}",
                        str(BENCHMARKS / "cpu_aligned_dimensions.cpp"), "-o", program], check=True)
        player = Player(program)
        try:
            ratios = measured(player, options)
        finally:
            player.end()
    print(f"{processor()}, {options.threads} thread(s), by the {options.clock}'s clock")
    for kind in TYPES:
        tiles = tiles_of(kind)
        multiple = max(tiles)
        print(f"{kind}: time of a multiply-add relative to the next multiple of {multiple}; least and most in brackets")
        for size, turns in ratios[kind].items():
            model = model_of_padding(size, tiles)
            spread = f"[{min(turns):.3f}, {max(turns):.3f}]"
            print(f"{kind:10}{size:6}{statistics.median(turns):8.3f}  {spread}   modelled {model:.3f}")
        print(f"{kind:10}median{statistics.median(statistics.median(turns) for turns in ratios[kind].values()):8.3f}")
    if options.write:
        results = {"processor": processor(), "date": datetime.date.today().isoformat(), "threads": options.threads,
                   "clock": options.clock, "turns": options.turns,
                   "tiles": {kind: tiles_of(kind) for kind in TYPES}, "ratios": ratios}
        write_results("cpu-aligned-dimensions.json", results)


if __name__ == "__main__":
    main()
