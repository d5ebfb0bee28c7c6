#!/usr/bin/env python3
"""The example cifar10: it learns, writes its files, resumes after it was killed, and reports errors.

usage: cifar10_example_test.py PROGRAM

With LOCUS_DATA, it also trains on some images of CIFAR-10's binary version in LOCUS_DATA/cifar10.
"""

import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import common  # noqa: E402

SETTINGS = ["--device", "cpu", "--width", "4", "--batch", "20", "--epochs", "2", "--average", "0.8"]
TEXT = "{http://www.w3.org/2000/svg}text"
IMAGE = "{http://www.w3.org/2000/svg}image"


def command_of(program, *options):
    return [str(word) for word in (program, *SETTINGS, *options)]


def check_results(report, program, folder):
    """A run without interruption."""
    status, output = common.run(command_of(program, "--images", 600, "--output", folder))
    if status:
        return report.fail("a run", output)
    history = json.loads((folder / "history.json").read_text())
    problem = None if [each["epoch"] for each in history] == [1, 2] else f"epochs of {history}"
    report.add("the history has both epochs", problem)
    accuracies = history[-1]["valid_accuracy"], history[-1]["metrics"]["average accuracy"]
    report.add("it learns", None if min(accuracies) > 0.2 else f"accuracies {accuracies}, by chance 0.1")
    report.add("it says so", None if f"accuracy {100 * accuracies[1]:.2f} %" in output else output)
    drawings = {name: ElementTree.parse(folder / name).getroot() for name in ("curves.svg", "confusion.svg", "mistakes.svg")}
    texts = {name: [text.text for text in drawing.iter(TEXT)] for name, drawing in drawings.items()}
    counts = sum(int(text) for text in texts["confusion.svg"] if text and text.isdigit())
    report.add("the confusion matrix has all test images", None if counts == 200 else f"{counts} of 200")
    pictures = [image.get("href") for image in drawings["mistakes.svg"].iter(IMAGE)]
    fits = len(pictures) == 40 and all(href.startswith("data:image/png;base64,") for href in pictures)
    report.add("mistakes are shown", None if fits else f"{len(pictures)} images")
    report.add("curves are named", None if "averaged weights" in texts["curves.svg"] else str(texts["curves.svg"]))
    return None


def interrupted(command, send, checkpoint, steps, pause):
    """(exit status, output) of a run that receives a signal `pause` seconds after it saved this number of steps; None:
    no signal."""
    def version():
        return checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0

    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        seen = version()
        while send and steps > 0 and process.poll() is None:
            now = version()
            steps -= now != seen
            seen = now
            time.sleep(0.001)
        if send:
            time.sleep(pause)
            process.send_signal(send)
        output, _ = process.communicate()
        return process.returncode, output


def check_interruptions(report, program, folder):
    whole, parts = folder / "whole", folder / "parts"
    for each in whole, parts:
        each.mkdir()
    command = command_of(program, "--images", 200, "--checkpoint", folder / "run", "--checkpoint-every", 0, "--output", parts)
    status, output = common.run(command_of(program, "--images", 200, "--output", whole))
    if status:
        return report.fail("a run without a checkpoint", output)
    draws = random.Random(5)
    statuses = []
    for send in (signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGKILL, None):
        status, output = interrupted(command, send, folder / "run", draws.randint(1, 3), draws.uniform(0, 0.02))
        statuses.append(status)
        if status not in (0, 130, -signal.SIGKILL, -signal.SIGINT, -signal.SIGTERM):
            report.fail("an interrupted run", f"status {status}: {output}")
    report.add("it goes on", None if statuses[-1] == 0 and "going on after" in output else f"{statuses}: {output}")
    report.add("it was interrupted", None if statuses.count(0) == 1 else str(statuses))
    same = (whole / "weights.safetensors").read_bytes() == (parts / "weights.safetensors").read_bytes()
    report.add("it ends as one that nothing interrupted", None if same else "other weights")
    left = {path.name for path in folder.iterdir()} - {"whole", "parts", "run"}
    report.add("one checkpoint is left", None if len(left) <= statuses.count(-signal.SIGKILL) else str(left))
    check_refusal(report, 1, "other options", command[:-2] + ["--lr", "0.2"])
    return None


def check_refusal(report, status, words, command):
    """Checks the exit status and these words of the output."""
    given, output = common.run(command)
    report.add(f"refused: {words}", None if given == status and words in output else f"status {given}: {output}")


def check_types(report, program, folder):
    """It learns in 16 bits, and resumes a run only in the run's own type. Few images for half, which no processor
    multiplies: the test of mnist.cpp shows that half learns."""
    for kind, held, images, least in ("bfloat16", "bfloat16", 600, 20), ("half", "float16", 40, 0):
        checkpoint = folder / kind
        command = command_of(program, "--images", images, "--test-images", images // 6, "--type", kind, "--checkpoint", checkpoint)
        status, output = common.run(command)
        accuracy = re.search(r"test images: accuracy ([\d.]+) %", output)
        if status or not accuracy or f"training in {kind} " not in output:
            report.fail(f"a run in {kind}", output)
            continue
        report.add(f"it learns in {kind}", None if float(accuracy[1]) >= least else f"accuracy {accuracy[1]} %, by chance 10 %")
        again, output = common.run(command)
        report.add(f"a run in {kind} that ended answers the same",
                   None if again == 0 and accuracy[0] in output and "going on after" in output else output)
        other = [*command]
        other[other.index(kind)] = "float"
        check_refusal(report, 1, f"'conv1.weight' holds {held} in '{checkpoint}', but float32 in the model", other)
    check_refusal(report, 2, "--type", command_of(program, "--type", "double"))


def check_refusals(report, program, folder):
    check_refusal(report, 2, "--schedule", command_of(program, "--schedule", "steps"))
    check_refusal(report, 2, "--batch", command_of(program, "--batch", 1))
    check_refusal(report, 2, "--output", command_of(program, "--output", folder / "nowhere"))
    check_refusal(report, 1, "there is no folder", command_of(program, "--data", folder / "nowhere"))
    check_refusal(report, 1, "data_batch_1.bin", command_of(program, "--data", folder))
    check_refusal(report, 1, "nowhere", command_of(program, "--checkpoint", folder / "nowhere" / "run"))
    damaged = folder / "damaged"
    damaged.write_bytes(b"no checkpoint")
    check_refusal(report, 1, "damaged", command_of(program, "--images", 20, "--checkpoint", damaged))
    report.add("a damaged checkpoint stays", None if damaged.read_bytes() == b"no checkpoint" else "it is another one")


def check_real_images(report, program):
    folder = pathlib.Path(os.environ.get("LOCUS_DATA", "nowhere")) / "cifar10"
    if not ((folder / "test_batch.bin").exists() or (folder / "cifar-10-batches-bin").exists()):
        return report.skip("CIFAR-10", "LOCUS_DATA/cifar10 has no files of the binary version")
    status, output = common.run(command_of(program, "--images", 100, "--test-images", 100, "--data", folder))
    return report.add("CIFAR-10", None if status == 0 and "test images: accuracy" in output else output)


def check_all(report):
    program = pathlib.Path(sys.argv[1]).resolve()
    for check in check_results, check_interruptions, check_types, check_refusals:
        with tempfile.TemporaryDirectory() as folder:
            check(report, program, pathlib.Path(folder))
    check_real_images(report, program)


if __name__ == "__main__":
    common.main(check_all)
