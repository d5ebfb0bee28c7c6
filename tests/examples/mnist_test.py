#!/usr/bin/env python3
"""The example mnist learns drawn digits in each type, and refuses another.

usage: mnist_test.py PROGRAM
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import common  # noqa: E402


def run(*options):
    return common.run([pathlib.Path(sys.argv[1]).resolve(), "--device", "cpu", "--epochs", "2", *options])


def check_all(report):
    accuracies = {}
    for kind in "float", "bfloat16", "half":
        status, output = run("--type", kind)
        found = re.search(r"^test images: loss [\d.]+, accuracy ([\d.]+) %", output, re.MULTILINE)
        if status or not found:
            report.fail(f"a run in {kind}", output)
            continue
        accuracies[kind] = float(found[1])
        report.add(f"it learns in {kind}", None if accuracies[kind] > 85 else f"accuracy {found[1]} %")
    spread = max(accuracies.values(), default=100) - min(accuracies.values(), default=0)
    report.add("types learn the same", None if spread < 2 else f"accuracies {accuracies}")
    report.add("rounding makes a difference", None if len(set(accuracies.values())) > 1 else f"accuracies {accuracies}")
    status, output = run("--type", "double")
    report.add("other types are refused", None if status == 2 and "--type" in output else f"status {status}: {output}")


if __name__ == "__main__":
    common.main(check_all)
