#!/usr/bin/env python3
"""Images per second of training ResNet-18 on images of 32 x 32, in turns with PyTorch.

usage: resnet.py --torch-python PYTHON [--threads 2] [--batch 64] [--steps 3] [--turns 5] [--processor-time]

A turn is a few steps of each: forward, cross-entropy, backward, SGD with momentum. The fastest step counts; of PyTorch in
the faster of its memory formats. The results are medians of the turns, and the ratio that of the medians. float32 is
measured with Winograd's convolutions and without, bfloat16 beside autocast. --processor-time, with --threads 1, is for
machines on which other programs run. Results are written to results/cpu-resnet.json.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

from conv import HERE, ROOT, Player, processor

ROWS = [("float32", False), ("float32", True), ("bfloat16", False)]


def compiled(folder):
    program = folder / "cpu_resnet"
    subprocess.run(["g++", "-std=c++20", "-O2", "-pthread", f"-I{ROOT / 'include'}", str(HERE / "cpu_resnet.cpp"), "-lz",
                    "-o", str(program)], check=True)
    return program


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch-python", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--processor-time", action="store_true")
    options = parser.parse_args()
    clock = "processor" if options.processor_time else "wall"
    taken = {row: ([], []) for row in ROWS}
    with tempfile.TemporaryDirectory() as folder:
        ours = Player(str(compiled(pathlib.Path(folder))))
        theirs = Player(options.torch_python, str(HERE / "peers" / "torch_resnet.py"))
        for _ in range(options.turns):
            for kind, exact in ROWS:
                line = f"{options.threads} {clock} {options.batch} {options.steps} {kind} {int(exact)}"
                taken[kind, exact][0].append(ours.ask(line)[0])
                taken[kind, exact][1].append(min(theirs.ask(line)))
        for player in (ours, theirs):
            player.process.stdin.close()
            player.process.wait()
    print(f"{processor()}, {options.threads} thread(s), batch {options.batch}, by the {clock}'s clock")
    print(f"{'images per second':24}{'Locus':>10}{'PyTorch':>10}{'ratio':>8}")
    results = {"processor": processor(), "threads": options.threads, "batch": options.batch, "clock": clock, "rows": {}}
    for (kind, exact), times in taken.items():
        mine, peer = (1e3 * options.batch / statistics.median(each) for each in times)
        name = kind + (", exact" if exact else "")
        print(f"{name:24}{mine:10.1f}{peer:10.1f}{mine / peer:8.2f}")
        results["rows"][name] = {"ours": mine, "pytorch": peer, "ours_ms": times[0], "pytorch_ms": times[1]}
    (HERE / "results" / "cpu-resnet.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
