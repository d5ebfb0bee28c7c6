#!/usr/bin/env python3
"""Accuracy on CIFAR-10's test images after a few epochs of examples/cifar10, beside PyTorch's in the same settings.

usage: cifar10_accuracy.py --program build/examples/cifar10 --data FOLDER --torch-python PYTHON [--images 10000]
                           [--epochs 3] [--width 64] [--seeds 3] [--threads 2]

FOLDER holds the binary version of CIFAR-10. Both train ResNet-18 with SGD, Nesterov momentum, a one-cycle schedule,
label smoothing, and random crops and flips, with the same distribution of initial values. Each seed is one run of each;
they take turns. The difference of the means is compared with its standard error. After each pair of runs, results go to
results/cifar10-accuracy.json, and replace the entry with the same width, images and epochs.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
from torch_turns import RESULTS, processor, write_results  # noqa: E402

PEER = pathlib.Path(__file__).resolve().parent / "peers" / "torch_cifar10.py"


def of_locus(options, seed):
    """The accuracy on the test images."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {"data": options.data, "images": options.images, "epochs": options.epochs, "width": options.width,
                    "seed": seed, "average": 0, "device": "cpu", "output": folder}
        subprocess.run([options.program, *(f"--{name}={value}" for name, value in settings.items())], check=True,
                       stdout=subprocess.DEVNULL, env=os.environ | {"LOCUS_NUM_THREADS": str(options.threads)})
        return json.loads((pathlib.Path(folder) / "history.json").read_text())[-1]["valid_accuracy"]


def of_torch(options, seed):
    command = [options.torch_python, PEER, options.data, options.images, options.epochs, options.width, seed, options.threads]
    return float(subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout.split()[0])


def summary(results):
    """Means, their difference, and its standard error if there are at least two runs of each."""
    means = {name: statistics.mean(values) for name, values in results.items()}
    difference = means["locus"] - means["pytorch"]
    if min(map(len, results.values())) < 2:
        return {"means": means, "difference": difference}
    error = math.sqrt(sum(statistics.variance(values) / len(values) for values in results.values()))
    return {"means": means, "difference": difference, "standard_error": error}


def record(report):
    """Stores the report among the reports with other widths, images and epochs."""
    file = RESULTS / "cifar10-accuracy.json"
    reports = json.loads(file.read_text()) if file.exists() else []
    def settings(each):
        return each["width"], each["images"], each["epochs"]

    others = [other for other in reports if settings(other) != settings(report)]
    write_results(file.name, sorted([*others, report], key=settings), of_processor=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in "program", "data", "torch-python":
        parser.add_argument(f"--{name}", required=True)
    for name, default in ("images", 10000), ("epochs", 3), ("width", 64), ("seeds", 3), ("threads", 2):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    settings = {name: getattr(options, name) for name in ("images", "epochs", "width", "threads")}
    results = {"locus": [], "pytorch": []}
    for seed in range(options.seeds):
        for name, run in ("locus", of_locus), ("pytorch", of_torch):
            results[name].append(run(options, seed))
            print(f"seed {seed}, {name}: {100 * results[name][-1]:.2f} %", flush=True)
        record({"processor": processor(), **settings, "accuracy": results, **summary(results)})
    print(json.dumps(summary(results)))


if __name__ == "__main__":
    main()
