"""The context of a run on a GPU, which every part of the run receives, and its command-line options."""

import argparse
import contextlib
import dataclasses
import datetime
import pathlib
import sys
import time
import typing

import machine
import processes
import record


BUDGET, LONG_BUDGET = 570, 1500  # seconds


@dataclasses.dataclass
class Context:
    root: pathlib.Path  # root of the sources, or of a pack
    build: pathlib.Path  # folder of the programs
    out: pathlib.Path  # folder for output files of programs, beside the log
    record: record.Record
    deadline: float  # of the current part
    torch: str  # a Python that has PyTorch
    environment: dict = dataclasses.field(default_factory=dict)  # of our programs
    no_gpu: typing.Optional[str] = None  # why there is no GPU
    quick: bool = False
    compiles: bool = True  # whether PyTorch is also measured with torch.compile
    long: bool = False  # whether the benchmarks measure more sizes, more often
    units: list = dataclasses.field(default_factory=list)  # the device tests, by source

    @property
    def gpu(self):
        return self.no_gpu is None

    def left(self):
        """Seconds until the deadline."""
        return self.deadline - time.monotonic()

    def run(self, command, limit=None, environment=None):
        """Runs a program of ours until the deadline, and for at most `limit` seconds if given. Throws
        processes.OutOfTime if the deadline comes first."""
        return processes.run_until(self.deadline, command, limit, {**(environment or {}), **self.environment})

    @contextlib.contextmanager
    def share(self, part):
        """Within the context, the deadline is nearer: this share of the time left."""
        whole = self.deadline
        self.deadline = time.monotonic() + part * max(0.0, self.left())
        try:
            yield
        finally:
            self.deadline = whole

    def attempt(self, name, function, *arguments):
        """The function's result, or None if it failed or ran out of time. Failures are recorded; later parts run
        regardless."""
        self.record.say(f"-- {name}")
        started = time.monotonic()
        self.record.results["seconds"][name] = None  # replaced when the part ends
        try:
            found = function(*arguments)
        except processes.OutOfTime as error:
            self.record.note(error.output)
            self.record.extend(name, unavailable=f"{record.NOT_RUN}: {error}")
            found = None
        except Exception as error:
            self.record.say(f"FAILED {name}: {error}")
            self.record.extend(name, error=str(error) or type(error).__name__)
            found = None
        self.record.results["seconds"][name] = round(time.monotonic() - started, 1)
        return found


def parser(budget=BUDGET):
    """The options that a pack accepts, too."""
    options = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--torch", metavar="PYTHON", help="the Python that has PyTorch; default: the first one that has")
    options.add_argument("--quick", action="store_true", help="no compute-sanitizer, and matrices up to 2048 only")
    options.add_argument("--no-compile", action="store_true",
                         help="PyTorch without torch.compile, whose max-autotune may take minutes for a training step")
    options.add_argument("--long", action="store_true", help="more sizes and turns of the benchmarks, in 25 minutes")
    options.add_argument("--budget", type=float, metavar="SECONDS",
                         help=f"be done within so many; default: {budget}, with --long {LONG_BUDGET}")
    options.set_defaults(usual_budget=budget)
    return options


def parser_of_build():
    """The options of a run from a build folder."""
    options = parser()
    options.add_argument("--build", type=pathlib.Path, required=True)
    options.add_argument("--out", type=pathlib.Path)
    return options


def parse(options, arguments=None):
    started = time.monotonic()
    options = options.parse_args(arguments)
    if options.budget is None:
        options.budget = LONG_BUDGET if options.long else options.usual_budget
    options.deadline = started + options.budget
    options.date = datetime.datetime.now(datetime.timezone.utc)
    return options


def start(root, options, facts, path, log):
    """The context, with its output files open."""
    sys.stdout.reconfigure(errors="replace")
    results = record.Record(path, log, {"date": options.date.isoformat(timespec="seconds"), **facts})
    return Context(root=root, build=options.build, out=log.parent, record=results,
                   torch=options.torch or machine.python_with("torch") or sys.executable,
                   deadline=options.deadline,
                   environment={"LOCUS_TEST_DIR": str(root / "tests")}, no_gpu=facts.get("no_gpu"), quick=options.quick,
                   compiles=not options.no_compile, long=options.long)
