"""The measurements of scripts/gpu: training on Cuda and on Cpu, benchmarks/matmul, benchmarks/training_times, and
benchmarks/verbs in turns with PyTorch."""

import json
import pathlib
import tempfile

import alternate
import targets
from processes import last_line

STEPS = 100
# Losses on Cpu and Cuda differ by rounding, until an input of ReLU is nearer to 0 than its own rounding: then the devices
# take different slopes, and their weights go apart. For so many steps there must be no such kink; behind one, the losses
# must stay this close.
ROUNDING, STEPS_WITHOUT_KINK, BEHIND_A_KINK = 2e-6, 20, 2e-2


def train(context, program, device, scratch):
    """Trains on the digits that Locus draws; returns the losses of the first steps, and the history of a whole
    training."""
    history, steps = scratch / f"{device}-history.json", scratch / f"{device}-steps.json"
    seconds = 0.0
    for options in (["--steps", STEPS, "--steps-log", steps], ["--history", history]):
        done = context.run([program, "--device", device, "--seed", "1", *options])
        context.record.note(f"---- mnist --device {device}\n{done.output}")
        seconds += done.seconds
        if done.status != 0:
            raise RuntimeError(f"mnist --device {device} {done.ending}: {last_line(done.output)}")
    return {"losses": json.loads(steps.read_text()), "history": json.loads(history.read_text()),
            "seconds": round(seconds, 3)}


def compare_losses(cpu, cuda):
    """Differences are relative where the loss exceeds 1. kink: the first step whose difference is more than rounding."""
    differences = [abs(a - b) / max(1.0, abs(a)) for a, b in zip(cpu, cuda)]
    kink = next((step for step, difference in enumerate(differences) if not difference <= ROUNDING), None)
    is_close = all(difference <= BEHIND_A_KINK for difference in differences)
    return {"steps": len(differences), "largest_difference": max(differences, default=0.0), "kink": kink,
            "agrees": len(differences) >= STEPS and (kink is None or kink >= STEPS_WITHOUT_KINK) and is_close}


def compare_training(context):
    """Compares the losses on Cuda and on Cpu step by step."""
    program = context.build / "examples" / "mnist"
    with tempfile.TemporaryDirectory() as scratch:
        runs = {device: train(context, program, device, pathlib.Path(scratch)) for device in ("cpu", "cuda")}
    return {**runs, **compare_losses(runs["cpu"]["losses"], runs["cuda"]["losses"])}


def run_matmul(context, options):
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch) / "matmul.json"
        done = context.run([context.build / "benchmarks" / "matmul", *options, "--json", out])
        if done.status != 0:
            context.record.note(done.output)
            raise RuntimeError(f"matmul {done.ending}: {last_line(done.output)}")
        context.record.say(done.output)
        return {"seconds": done.seconds, **json.loads(out.read_text())}


# Steps and whole epochs of benchmarks/training_times: fewer than benchmarks/training_times.py uses, and enough for its
# model.
STEPS_OF_STUDY = ("--hidden", "16,64,256,1024,4096", "--depth", "1,3", "--batch", "128,1024", "--min-time", "0.1")
EPOCHS_OF_STUDY = ("--hidden", "16,128,1024", "--depth", "1", "--batch", "128", "--images", "1000,60000", "--min-time", "0.1")
TINY_STUDY = (("--hidden", "8,16,32", "--depth", "1", "--batch", "4,8", "--min-time", "0.001"),
              ("--hidden", "8", "--depth", "1", "--batch", "8", "--images", "16", "--min-time", "0.001"))


def run_training_times(context, device, argument_lists):
    """Runs benchmarks/training_times and returns its lines for benchmarks/training_times.py, also for the cases that
    the time did not suffice for."""
    found = {"lines": []}
    for i, arguments in enumerate(argument_lists):
        budget = max(1.0, 0.6 * context.left() / (len(argument_lists) - i))  # leaves time for a case that has begun
        done = context.run([context.build / "benchmarks" / "training_times", "--device", device, "--budget", f"{budget:.1f}", *arguments])
        context.record.note(done.output)
        if done.status != 0:
            raise RuntimeError(f"training_times {done.ending}: {last_line(done.output)}")
        first, *others = [json.loads(line) for line in done.output.splitlines() if line.startswith("{")]
        found = {"environment": first["environment"], "lines": found["lines"] + others}
    return found


def run_verbs(context, device, tiny=False):
    """Runs benchmarks/verbs in turns with PyTorch, and judges the targets."""
    ours = [context.build / "benchmarks" / "verbs", "--device", device, "--serve",
            *(["--sizes", "tiny"] if tiny else ["--turns", "15" if context.long else "5"])]

    def measured(report):
        work = report["workloads"][-1]
        work["targets"] = targets.judge(work) if device != "cpu" else []  # all targets are for a GPU
        context.record.put("verbs", report)

    report = alternate.measure(ours, alternate.torch_command(context.root, context.torch, device, tiny, context.compiles),
                               environment={**context.environment, "LOCUS_AUTOTUNE": "1"}, rounds=2 if tiny else 5 if context.long else 3, deadline=context.deadline,
                               progress=lambda name: context.record.show(f"   {name}"), measured=measured)
    context.record.say(targets.table(report))
    if "unavailable" in report["peer"]:
        context.record.say(f"PyTorch was not measured: {report['peer']['unavailable']}")
    return report


def verdicts(report):
    """A table of how many workloads met and missed each target."""
    lines = [f"{'met':>5} {'missed':>7} {'unmeasured':>11}  target"]
    lines += [f"{met:5} {missed:7} {unmeasured:11}  {text}" for text, met, missed, unmeasured in targets.verdicts(report)]
    if report["left_out"]:
        lines.append("left out, for want of time: " + ", ".join(report["left_out"]))
    return "\n".join(lines)
