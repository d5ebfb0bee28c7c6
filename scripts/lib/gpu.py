"""Runs the device tests, the Cpu-Cuda comparison, compute-sanitizer and the benchmarks of one build folder, and writes
one JSON file. Called by scripts/gpu and by a pack; their --help documents the parts and the exit status."""

import pathlib
import re
import signal
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "tools"))
import common  # noqa: E402

import device_tests  # noqa: E402
import machine  # noqa: E402
import measurements  # noqa: E402
import networks  # noqa: E402
import processes  # noqa: E402
from context import parse, parser_of_build, start  # noqa: E402
from record import NOT_RUN  # noqa: E402

NO_GPU = 77  # exit status


class CutOff(BaseException):
    """A signal ended the run; the results so far are written."""


def cut_off(number, _):
    signal.signal(number, signal.SIG_IGN)
    processes.end_all()
    raise CutOff(signal.Signals(number).name)


def on_gpu(function):
    """Wraps a part that needs a GPU and time."""

    def part(context):
        if not context.gpu:
            return {"unavailable": context.no_gpu}
        return function(context) if context.left() > 2 else {"unavailable": f"{NOT_RUN}: out of time"}

    return part


def run_matmul(context):
    return measurements.run_matmul(context, ["--sizes", "128,256,512,1024,2048"] if context.quick else [])


def run_training_times(context):
    return measurements.run_training_times(context, "both", [measurements.STEPS_OF_STUDY, measurements.EPOCHS_OF_STUDY])


def run_verbs(context):
    report = measurements.run_verbs(context, "cuda")
    context.record.say(measurements.verdicts(report))
    return report


# The parts in the order of execution: name in the results, function, maximal share of the time left. Correctness comes
# first; benchmarks come last and use the time until the deadline.
PARTS = (
    ("libraries", device_tests.find_libraries, 0.2),
    ("first programs", device_tests.run_first, 0.35),
    ("device tests", device_tests.run_tests, 0.6),
    ("training", on_gpu(measurements.compare_training), 0.3),
    ("sanitizer", device_tests.run_sanitizer, 0.35),
    ("averages", on_gpu(networks.run_averages), 0.2),
    ("cifar10", on_gpu(networks.run_cifar10), 0.4),
    ("gpt2", on_gpu(networks.run_gpt2), 0.3),
    ("matmul", on_gpu(run_matmul), 0.3),
    ("training times", on_gpu(run_training_times), 0.3),
    ("verbs", on_gpu(run_verbs), 0.95),
)


def run_parts(context, preparations):
    """Runs all parts; a preparation that fails ends the run. Returns how the run ended."""
    for name, function in preparations:
        found = context.attempt(name, function, context)
        if found is None:
            return f"ended early: {name}"
        context.record.put(name, found)
    for name, function, share in PARTS:
        with context.share(share):
            found = context.attempt(name, function, context)
        if found is not None:
            context.record.put(name, found)
    return "complete"


def note_not_run(context, why):
    device_tests.note_not_run(context, why)
    for name, *_ in PARTS:
        seconds = context.record.results["seconds"]
        if seconds.get(name) is None:
            to_its_end = " to its end" if name in seconds else ""
            seconds[name] = None
            context.record.extend(name, unavailable=f"{NOT_RUN}{to_its_end}: {why}")


def run(context, preparations=()):
    """Runs everything and returns the exit status."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, cut_off)
    try:
        state = run_parts(context, preparations)
    except CutOff as signal_name:
        state = f"cut off by {signal_name}"
    if state != "complete":
        note_not_run(context, state)
    counts = context.record.finish(state)
    return 1 if counts["failed"] or state != "complete" else 0 if context.gpu else NO_GPU


def result_path(options, facts):
    gpu = facts["gpus"][0]["name"] if facts["gpus"] else "gpu"
    name = re.sub(r"[^a-z0-9]+", "-", gpu.lower()).strip("-")
    return ROOT / "benchmarks" / "results" / f"{options.date:%Y-%m-%d}-{name}.json"


def main():
    options = parse(parser_of_build())
    facts = machine.describe(ROOT, common.find_nvcc())
    return run(start(ROOT, options, facts, options.out or result_path(options, facts), options.build / "gpu.log"))


if __name__ == "__main__":
    sys.exit(main())
