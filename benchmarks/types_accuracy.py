#!/usr/bin/env python3
"""Accuracy of models trained in float, bfloat16 and half, and the time of an epoch in each.

usage: types_accuracy.py --programs build/examples --data FOLDER [--seeds 5] [--turns 5] [--only WORDS] [--part accuracy] [--types half]

examples/mnist trains perceptrons on FOLDER/mnist, examples/cifar10 a ResNet-18 on some images of FOLDER/cifar10.

Accuracy: on the test images, once for each seed and type, in turns. A 16-bit type is within noise of float if the means
differ by at most two standard errors of their difference.

Time: processor time of one thread, which other programs on the machine change little: a longer run minus a shorter one,
of each type in turns. Loading of the images is included; the result is the median over the turns. Results go to
results/types-accuracy.json after each run: models and types that are left out keep their entries, unless their settings
differ.
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

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "support"), str(HERE.parent / "scripts" / "lib")]
import json_text  # noqa: E402
import whole_file  # noqa: E402
from torch_turns import RESULTS, processor  # noqa: E402

TYPES = "float", "bfloat16", "half"
# Name: the example, its options, its folder of data.
TRAININGS = {
    "MNIST, 784-32-10": ("mnist", {"hidden": 32, "epochs": 5}),
    "MNIST, 784-256-10": ("mnist", {"hidden": 256, "epochs": 5}),
    "CIFAR-10, ResNet-18 of width 8": ("cifar10", {"width": 8, "images": 10000, "test-images": 2000, "epochs": 4, "batch": 64,
                                                   "average": 0}),
}
# Name: the example, its options, the settings of a shorter and of a longer run, and the images of an epoch divided by
# the images between the two runs.
TIMINGS = {
    "MNIST, 784-32-10": ("mnist", {"hidden": 32}, {"steps": 20}, {"steps": 2420}, 0.2),
    "MNIST, 784-256-10": ("mnist", {"hidden": 256}, {"steps": 20}, {"steps": 500}, 1),
    "MNIST, 784-1024-10": ("mnist", {"hidden": 1024}, {"steps": 20}, {"steps": 116}, 5),
    "CIFAR-10, ResNet-18 of width 16": ("cifar10", {"width": 16, "images": 1280, "test-images": 20, "batch": 64, "average": 0},
                                        {"epochs": 1}, {"epochs": 2}, 50000 / 1280),
    "CIFAR-10, ResNet-18 of width 64": ("cifar10", {"width": 64, "images": 320, "test-images": 20, "batch": 32, "average": 0, "lr": 0.01},
                                        {"epochs": 1}, {"epochs": 2}, 50000 / 320),
}
SAID = re.compile(r"^test images: .*?accuracy ([\d.]+) %", re.MULTILINE)


def run(options, example, settings, kind, seed):
    """The output of an example, and its processor time."""
    if "steps" in settings:
        settings = {**settings, "steps-log": options.scratch / "losses.json"}
    given = {"device": "cpu", "data": pathlib.Path(options.data) / example, "seed": seed, "type": kind, "workers": 0, **settings}
    command = [str(pathlib.Path(options.programs) / example), *(f"--{name}={value}" for name, value in given.items())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          env=os.environ | {"LOCUS_NUM_THREADS": "1"}) as process:
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with status {process.returncode}")
    return output, usage.ru_utime + usage.ru_stime


def accuracy(options, example, settings, kind, seed):
    """The accuracy on the test images."""
    return float(SAID.search(run(options, example, settings, kind, seed)[0])[1]) / 100


def compared(of_float, of_type):
    """The difference of the means, its standard error, and whether it is noise."""
    difference = statistics.mean(of_type) - statistics.mean(of_float)
    error = math.sqrt(sum(statistics.variance(values) / len(values) for values in (of_float, of_type)))
    return {"difference": difference, "standard_error": error, "within_noise": abs(difference) <= 2 * error}


def summary(by_type):
    rows = {}
    for kind, values in by_type.items():
        rows[kind] = {"mean": statistics.mean(values)}
        if len(values) > 1:
            rows[kind]["deviation"] = statistics.stdev(values)
            if kind != "float" and len(by_type.get("float", [])) > 1:
                rows[kind] |= compared(by_type["float"], values)
    return rows


def trainings(options, results):
    """Accuracy by training, type and seed."""
    for name, (example, settings) in TRAININGS.items():
        if not re.search(options.only, name):
            continue
        by_type = {kind: [] for kind in options.types}
        for seed in range(options.seeds):
            for kind in options.types:
                by_type[kind].append(accuracy(options, example, settings, kind, seed))
            print(f"{name}, seed {seed}: " + ", ".join(f"{kind} {100 * by_type[kind][-1]:.2f} %" for kind in options.types), flush=True)
            row = results.update("accuracy", name, settings, "accuracy", by_type, summary)
        for kind in options.types:
            said = row["summary"][kind]
            if "difference" in said:
                print(f"{name}, {kind}: {100 * said['difference']:+.3f} points, standard error {100 * said['standard_error']:.3f}: "
                      f"{'within' if said['within_noise'] else 'beyond'} noise", flush=True)


def epochs(options, results):
    """Processor seconds of an epoch, and the speed relative to float."""
    for name, (example, settings, short, long, share) in TIMINGS.items():
        if not re.search(options.only, name):
            continue
        taken = {kind: [] for kind in options.types}
        for _ in range(options.turns):
            for kind in options.types:
                less, more = (run(options, example, settings | length, kind, 0)[1] for length in (short, long))
                taken[kind].append(share * (more - less))
        of_float = statistics.median(taken["float"])
        rows = {kind: {"seconds": statistics.median(values), "times_as_fast_as_float": of_float / statistics.median(values),
                       "turns": values} for kind, values in taken.items()}
        results.update("epochs", name, settings, "types", rows)
        print(f"{name}: " + ", ".join(f"{kind} {row['seconds']:.3f} s ({row['times_as_fast_as_float']:.2f} times as fast)"
                                      for kind, row in rows.items()), flush=True)


class Results:
    """The file of results."""

    path = RESULTS / "types-accuracy.json"

    def update(self, part, name, settings, key, by_type, summary=None):
        """Merges new measurements of some types into the row of a model."""
        kept = json.loads(self.path.read_text()) if self.path.exists() else {}  # another run may have written it
        if part == "epochs" and kept.get("processor") != processor():  # times of two processors must not be mixed
            kept |= {"processor": processor(), "epochs": {}}
        rows = kept.setdefault(part, {})
        others = rows[name][key] if name in rows and rows[name]["settings"] == settings else {}
        rows[name] = {"settings": settings, key: {kind: (others | by_type)[kind] for kind in TYPES if kind in others | by_type}}
        if summary:
            rows[name]["summary"] = summary(rows[name][key])
        whole_file.write(self.path, json_text.text(kept) + "\n")
        return rows[name]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", required=True)
    parser.add_argument("--data", required=True)
    for name, default in ("seeds", 5), ("turns", 5):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--only", default="", help="models whose name has these words, by a regular expression")
    parser.add_argument("--types", nargs="+", choices=TYPES, default=TYPES, help="those to run; times are compared with float's")
    parser.add_argument("--part", choices=("accuracy", "epochs"), help="one of the two; the other stays as it was")
    options = parser.parse_args()
    if options.part != "accuracy" and "float" not in options.types:
        parser.error(f"--types {' '.join(options.types)}: expected float beside them, in whose turns times of others are measured; "
                     f"or --part accuracy")

    with tempfile.TemporaryDirectory() as folder:
        options.scratch = pathlib.Path(folder)
        for part, measure in ("epochs", epochs), ("accuracy", trainings):
            if options.part in (None, part):
                measure(options, Results())


if __name__ == "__main__":
    main()
