"""Runs the device tests, the Cpu-Cuda comparison, compute-sanitizer and the benchmarks of one build folder, and writes
one JSON file. Called by scripts/gpu and by a pack, which say what it does and what its exit status means."""

import argparse
import datetime
import pathlib
import re
import signal
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "tools"))
import common  # noqa: E402

import device_tests  # noqa: E402
import dry_run  # noqa: E402
import machine  # noqa: E402
import measurements  # noqa: E402
import processes  # noqa: E402
from record import NOT_RUN, Record  # noqa: E402
from context import Context  # noqa: E402

NO_GPU = 77  # exit status


class CutOff(BaseException):
    """A signal that ends the run: what was found so far is written."""


def cut_off(number, _):
    signal.signal(number, signal.SIG_IGN)
    processes.end_all()
    raise CutOff(signal.Signals(number).name)


def on_gpu(function):
    """A part that needs a GPU, and time."""

    def part(context):
        if not context.gpu:
            return {"unavailable": context.no_gpu}
        return function(context) if context.left() > 2 else {"unavailable": f"{NOT_RUN}: out of time"}

    return part


def run_matmul(context):
    return measurements.run_matmul(context, ["--sizes", "128,256,512,1024,2048"] if context.quick else [])


def run_verbs(context):
    report = measurements.run_verbs(context, "cuda")
    context.record.say(measurements.verdicts(report))
    return report


# What is run, in this order: its name in the results, how, and the share of the time left that it may take. Correctness
# comes first, and what is measured last, until the deadline.
PARTS = (
    ("libraries", device_tests.find_libraries, 0.2),
    ("first programs", device_tests.run_first, 0.35),
    ("device tests", device_tests.run_tests, 0.6),
    ("training", on_gpu(measurements.compare_training), 0.3),
    ("sanitizer", device_tests.run_sanitizer, 0.35),
    ("matmul", on_gpu(run_matmul), 0.4),
    ("verbs", on_gpu(run_verbs), 0.95),
)


def run_parts(context, preparations):
    """All parts; what a preparation does not bring ends the run. Returns how it ended."""
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
    """Everything; the exit status."""
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


def start(options, facts, path, log):
    """The context, with its output files open."""
    sys.stdout.reconfigure(errors="replace")
    record = Record(path, log, {"date": options.date.isoformat(timespec="seconds"), **facts})
    return Context(root=ROOT, build=options.build, out=log.parent, record=record,
                   torch=options.torch or machine.python_with("torch") or sys.executable,
                   deadline=options.deadline,
                   environment={"LOCUS_TEST_DIR": str(ROOT / "tests")}, no_gpu=facts.get("no_gpu"), quick=options.quick)


def result_path(options, facts):
    gpu = facts["gpus"][0]["name"] if facts["gpus"] else "gpu"
    name = re.sub(r"[^a-z0-9]+", "-", gpu.lower()).strip("-")
    return ROOT / "benchmarks" / "results" / f"{options.date:%Y-%m-%d}-{name}.json"


def parser():
    """The options that a pack has, too."""
    options = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--torch", metavar="PYTHON", help="the Python that has PyTorch; default: the first one that has")
    options.add_argument("--quick", action="store_true", help="no compute-sanitizer, and matrices up to 2048 only")
    options.add_argument("--budget", type=float, default=570, metavar="SECONDS", help="be done within so many; default: %(default)g")
    return options


def parse(options, arguments=None):
    started = time.monotonic()
    options = options.parse_args(arguments)
    options.deadline = started + options.budget
    options.date = datetime.datetime.now(datetime.timezone.utc)
    return options


def main():
    known = parser()
    known.add_argument("--build", type=pathlib.Path, required=True)
    known.add_argument("--out", type=pathlib.Path)
    known.add_argument("--dry-run", action="store_true")
    options = parse(known)
    facts = machine.describe(ROOT, common.find_nvcc())
    if options.dry_run:
        path = options.out or options.build / "dry-run.json"
        return dry_run.run(start(options, facts, path, options.build / "dry-run.log"))
    return run(start(options, facts, options.out or result_path(options, facts), options.build / "gpu.log"))


if __name__ == "__main__":
    sys.exit(main())
