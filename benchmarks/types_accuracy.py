#!/usr/bin/env python3
"""Accuracy of models that are trained in float, bfloat16 and half, and what a step takes in each.

usage: types_accuracy.py --programs build/examples --data FOLDER [--seeds 5] [--only WORDS] [--threads 1] [--wall]

Accuracy: examples/mnist trains perceptrons on FOLDER/mnist, examples/cifar10 a ResNet-18 on some images of FOLDER/cifar10,
once for each seed and type, in turns. A 16-bit type is within noise of float where the means differ by two standard errors
of their difference, at most.

Time: cpu_types.cpp, which is compiled here, makes steps of each type in turns, by the processor's clock of one thread (or,
with --wall, by the wall's of --threads). The fastest step of a turn counts, and the median of the turns. Results go to
results/types-accuracy.json, anew after each run.
"""

import argparse
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
from torch_turns import BENCHMARKS, RESULTS, Player, processor  # noqa: E402

TYPES = "float", "bfloat16", "half"
# Name: the example, its options, its folder of data.
TRAININGS = {
    "MNIST, 784-32-10": ("mnist", {"hidden": 32, "epochs": 5}),
    "MNIST, 784-256-10": ("mnist", {"hidden": 256, "epochs": 5}),
    "CIFAR-10, ResNet-18 of width 8": ("cifar10", {"width": 8, "images": 3000, "test-images": 2000, "epochs": 4, "batch": 64,
                                                   "average": 0}),
}
# Name: the model as cpu_types.cpp calls it, images of a batch, steps of a turn, images of an epoch.
STEPS = {
    "MNIST, 784-128-128-10": ("128", 100, 40, 48000),
    "MNIST, 784-1024-1024-10": ("1024", 128, 5, 48000),
    "CIFAR-10, ResNet-18 of width 16": ("resnet16", 32, 2, 50000),
    "CIFAR-10, ResNet-18 of width 64": ("resnet64", 16, 1, 50000),
}
SAID = re.compile(r"^test images: .*?accuracy ([\d.]+) %", re.MULTILINE)


def accuracy(options, example, settings, kind, seed):
    """On the test images."""
    given = {"device": "cpu", "data": pathlib.Path(options.data) / example, "seed": seed, "type": kind, **settings}
    done = subprocess.run([str(pathlib.Path(options.programs) / example), *(f"--{name}={value}" for name, value in given.items())],
                          check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          env=os.environ | {"LOCUS_NUM_THREADS": str(options.threads)})
    return float(SAID.search(done.stdout)[1]) / 100


def compared(of_float, of_type):
    """The difference of the means, its standard error, and whether it is noise."""
    difference = statistics.mean(of_type) - statistics.mean(of_float)
    error = math.sqrt(sum(statistics.variance(values) / len(values) for values in (of_float, of_type)))
    return {"difference": difference, "standard_error": error, "within_noise": abs(difference) <= 2 * error}


def summary(by_type):
    rows = {kind: {"mean": statistics.mean(values)} for kind, values in by_type.items() if values}
    if min(map(len, by_type.values())) > 1:
        for kind, values in by_type.items():
            rows[kind]["deviation"] = statistics.stdev(values)
            if kind != "float":
                rows[kind] |= compared(by_type["float"], values)
    return rows


def trainings(options, save):
    """Accuracy by training, type and seed."""
    results = {}
    for name, (example, settings) in TRAININGS.items():
        if not re.search(options.only, name):
            continue
        by_type = {kind: [] for kind in TYPES}
        for seed in range(options.seeds):
            for kind in TYPES:
                by_type[kind].append(accuracy(options, example, settings, kind, seed))
            print(f"{name}, seed {seed}: " + ", ".join(f"{kind} {100 * by_type[kind][-1]:.2f} %" for kind in TYPES), flush=True)
            results[name] = {"settings": settings, "accuracy": by_type, "summary": summary(by_type)}
            save("accuracy", results)
        for kind in TYPES[1:]:
            row = results[name]["summary"][kind]
            if "difference" in row:
                print(f"{name}, {kind}: {100 * row['difference']:+.3f} points, standard error {100 * row['standard_error']:.3f}: "
                      f"{'within' if row['within_noise'] else 'beyond'} noise", flush=True)


def steps(options, save):
    """Milliseconds of a step, seconds of an epoch, and how many times as fast as float."""
    results = {}
    clock, threads = ("wall", options.threads) if options.wall else ("processor", 1)
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/cpu_types"
        subprocess.run(["g++", "-std=c++20", "-O2", "-pthread", f"-I{BENCHMARKS.parent / 'include'}",
                        str(BENCHMARKS / "cpu_types.cpp"), "-lz", "-o", program], check=True)
        player = Player(program)
        for name, (model, batch, count, images) in STEPS.items():
            if not re.search(options.only, name):
                continue
            taken = {kind: [] for kind in TYPES}
            for _ in range(options.turns):
                for kind in TYPES:
                    taken[kind].append(player.ask(f"{threads} {clock} {model} {batch} {count} {kind}")[0])
            of_step = {kind: statistics.median(values) for kind, values in taken.items()}
            rows = {kind: {"ms": ms, "turns": taken[kind], "seconds_of_epoch": 1e-3 * ms * images / batch,
                           "times_as_fast_as_float": of_step["float"] / ms} for kind, ms in of_step.items()}
            results[name] = {"batch": batch, "threads": threads, "clock": clock, "types": rows}
            save("steps", results)
            print(f"{name}: " + ", ".join(f"{kind} {row['ms']:.2f} ms ({row['times_as_fast_as_float']:.2f})" for kind, row in rows.items()),
                  flush=True)
        player.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", required=True)
    parser.add_argument("--data", required=True)
    for name, default in ("seeds", 5), ("turns", 5), ("threads", 1):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--only", default="", help="models whose name has these words, by a regular expression")
    parser.add_argument("--part", choices=("accuracy", "steps"), help="one of the two; the other stays as it was")
    parser.add_argument("--wall", action="store_true")
    options = parser.parse_args()
    path = RESULTS / "types-accuracy.json"
    kept = json.loads(path.read_text()) if path.exists() else {}

    def save(part, results):
        kept.update({"processor": processor(), part: {**kept.get(part, {}), **results}})
        path.write_text(json.dumps(kept, indent=1) + "\n")

    for part, measure in ("steps", steps), ("accuracy", trainings):
        if options.part in (None, part):
            measure(options, save)


if __name__ == "__main__":
    main()
