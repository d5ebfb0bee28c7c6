"""Runs the programs that check Locus on a GPU, each source of tests by itself, and repeats them under
compute-sanitizer."""

import dataclasses
import html
import json
import os
import pathlib
import re
import shutil
import threading
import time
import typing
from concurrent.futures import ThreadPoolExecutor

import common
import machine
import processes
import record

# Programs that run before the device tests, if the build has them: name, arguments ({report}: a JSON file that becomes
# part of the results), seconds.
FIRST = (
    ("self_check", (), 60),
    ("cuda_first_run", ("--json", "{report}", "--seconds", "20"), 150),
)
TESTS = "*_cuda_test"
FOLDERS = ("tests", "tools", "examples", "benchmarks")  # folders of a build that hold programs

TEST_ENVIRONMENT = {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive", "LOCUS_CHECK_STREAMS": "1"}  # as in tests/meson.build
NO_DEVICE = "no CUDA device answers"  # the reason with which tests skip themselves: tests/support/skip.hpp
TIMEOUT = 60  # seconds for the tests of one source
SHORT_TIMEOUT = 15  # the limit after PATIENCE time-outs
PATIENCE = 2

# Sources of tests that run first, since a run may be cut off: those of code that fewest GPUs have run.
NEWEST = ("cuda/cudnn", "ops/attention", "ops/linear_cross_entropy", "models/gpt2", "distributed/nccl", "nn/batch_norm",
          "optim/grad_scaler", "nn/averaged_model", "training/update_bn", "distributed/distributed_gpus")

# Sources of tests whose kernels share memory between threads.
RACECHECK = ("cuda/verbs", "distributed/gpus", "nn/batch_norm", "ops/attention", "ops/channels_last", "ops/cross_entropy",
             "ops/layer_norm", "ops/reduce", "ops/softmax", "optim/grad_scaler")
SANITIZER_ERRORS = 9  # the exit status of compute-sanitizer for findings
SANITIZER_OPTIONS = {"memcheck": ["--report-api-errors", "no"],  # some tests exceed the memory on purpose
                     "racecheck": []}
SANITIZER_ENVIRONMENT = {"memcheck": {"LOCUS_CUDA_POOL": "0"},  # memcheck then sees every tensor
                         "racecheck": {}}
SLOWER = {"memcheck": 10, "racecheck": 30}  # approximate slow-down
UNSUPPORTED = "Device not supported"
WORKERS = 4


def find_program(build, name):
    """The path of the program with this name, or None."""
    paths = (build / folder / name for folder in FOLDERS)
    return next((path for path in paths if path.is_file()), None)


def test_programs(build):
    return sorted(path for path in build.glob(f"tests/{TESTS}") if path.is_file())


def find_libraries(context):
    """Finds the shared libraries that the programs need beyond libc."""
    programs = [path for folder in FOLDERS for path in context.build.glob(f"{folder}/*")
                if path.is_file() and os.access(path, os.X_OK)]
    environment, found, problem = machine.library_environment(programs, context.torch)
    context.environment.update(environment)
    for library, path in found.items():
        context.record.say(f"   {library}: {path}")
    if problem:
        raise FileNotFoundError(problem)
    return {"found": found}


@dataclasses.dataclass(frozen=True)
class Unit:
    """The tests of one source in a program; file: None for all tests of the program."""
    program: pathlib.Path
    source: str
    file: typing.Optional[str] = None

    @property
    def command(self):
        return [self.program, *([f"--source-file={self.file}"] if self.file else [])]

    @property
    def entry(self):
        return {"program": self.program.name, "source": self.source}


def source_name(file):
    """tests/ops/softmax_test.cpp -> ops/softmax"""
    path = pathlib.PurePosixPath(file)
    return f"{path.parent.name}/{path.stem.removesuffix('_test')}"


def units_of(program, run):
    """One unit for each source with tests in the program. One unit for the whole program if it does not list its tests,
    or if run(command, seconds), which queries it, throws OutOfTime."""
    try:
        done = run([program, "--list-test-cases", "--reporters=xml"], 60)
    except processes.OutOfTime:
        return [Unit(program, "")]
    files = dict.fromkeys(map(html.unescape, re.findall(r'<TestCase .*? filename="([^"]+)"', done.output)))
    if len(files) > 1:
        return [Unit(program, source_name(file), file) for file in files]
    return [Unit(program, source_name(file)) for file in files] or [Unit(program, "")]


def kept_output(text):
    """The part of an output that is stored in the results: its end, without the folder in which the programs were
    compiled."""
    return re.sub(r"(?<![\w.])/[^\s:'\"]*/(?=(tests|include|cuda_kernels|benchmarks|examples)/)", "", text)[-4000:]


def judge(done, counts=True):
    """The entry of a program that ended: counts, verdict, reasons for skips. `counts`: the program must print how many
    of its cases passed; otherwise it may count as one case itself."""
    found = common.COUNTS.findall(done.output)
    passed, failed, skipped = map(int, found[-1]) if found else (0, 0, 0)
    reasons = list(dict.fromkeys(re.findall(r"^skipped: (.*)", done.output, re.MULTILINE)))
    if done.status == 0 and not found and not counts:
        passed, verdict = 1, "passed"
    elif done.status == 0 and found and not failed:
        verdict = "passed" if passed else "skipped"
        if not passed and not skipped:
            failed, verdict = 1, "has no test"
    elif done.status == 77 and not failed:
        skipped, verdict, reasons = max(skipped, 1), "skipped", reasons or [processes.last_line(done.output)]
    elif done.status == 1 and failed:
        verdict = f"{failed} failed"
    else:
        verdict = done.ending if done.status != 0 else f"{failed} failed" if failed else "counted no test"
        failed = max(failed, 1)
        if not found and done.status is not None and done.status > 0:
            verdict = f"{verdict}: {processes.last_line(done.output)}"
    return {"passed": passed, "failed": failed, "skipped": skipped, "seconds": done.seconds, "verdict": verdict,
            "timed_out": done.status is None, "reasons": reasons, **({"output": kept_output(done.output)} if failed else {})}


def not_run(why):
    return {"passed": 0, "failed": 0, "skipped": 1, "seconds": 0.0, "verdict": f"{record.NOT_RUN}: {why}",
            "timed_out": False, "reasons": []}


def tell(context, part, entry, output=""):
    """Records the entry and prints a summary line; after a failure, also the end of the output."""
    context.record.note(f"---- {record.name_of(entry)}\n{output}")
    counts = f"{entry['passed']} passed, {entry['failed']} failed, {entry['skipped']} skipped"
    context.record.say(f"   {record.name_of(entry)}: {counts} in {entry['seconds']:.1f} s: {entry['verdict']}")
    if entry["failed"]:
        context.record.show(output[-4000:])
    context.record.add(part, entry)


def run_first(context):
    """Runs the programs that precede the tests, each regardless of the results of earlier ones."""
    for name, arguments, seconds in FIRST:
        program = find_program(context.build, name)
        if not program:
            continue
        report = context.out / f"{name}.json"  # left in place by a program that is cut off
        report.unlink(missing_ok=True)
        command = [program, *(argument.format(report=report) for argument in arguments)]
        entry, output = run_judged(context, command, seconds, {}, counts=False)
        tell(context, "first", {"program": name, **entry, **take_report(report)}, output)


def take_report(path):
    """{"report": content of the file}, and removes the file; {} if there is none."""
    try:
        found = {"report": json.loads(path.read_text())}
    except (OSError, ValueError):
        return {}
    path.unlink()
    return found


def run_judged(context, command, seconds, environment, counts=True):
    """(entry, output)"""
    try:
        done = context.run(command, seconds, environment)
    except processes.OutOfTime as error:
        return not_run(str(error)), error.output
    return judge(done, counts), done.output


def run_tests(context):
    """Runs the tests of every source sequentially, because they measure launches and memory of a single GPU."""
    units = [unit for program in test_programs(context.build) for unit in units_of(program, context.run)]
    order = {source: place for place, source in enumerate(NEWEST)}
    context.units = sorted(units, key=lambda unit: order.get(unit.source, len(order)))
    late = 0
    for unit in context.units:
        seconds = TIMEOUT if late < PATIENCE else SHORT_TIMEOUT
        entry, output = run_judged(context, unit.command, seconds, TEST_ENVIRONMENT)
        late += entry["timed_out"]
        tell(context, "tests", {**unit.entry, **entry}, output)
    if not context.units:
        raise RuntimeError(f"{context.build / 'tests'} has no device test")
    if context.gpu and any(NO_DEVICE in entry["reasons"] for entry in context.record.results["tests"]):
        raise RuntimeError(f"{context.record.results['gpus'][0]['name']} is here, but tests were skipped: {NO_DEVICE}; "
                           "cuda/unavailable says why")


def note_not_run(context, why):
    """Records the tests that did not run before the end of the run."""
    done = {(entry["program"], entry["source"]) for entry in context.record.results.get("tests", [])}
    for unit in context.units:
        if (unit.program.name, unit.source) not in done:
            context.record.add("tests", {**unit.entry, **not_run(why)})


def find_sanitizer():
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    paths = [pathlib.Path(home) / "bin" / "compute-sanitizer" for home in homes if home]
    return next(filter(None, map(shutil.which, ["compute-sanitizer", *map(str, paths)])), None)


class Sanitizer:
    """Runs memcheck and racecheck on the tests that passed, quickest first, while there is time."""

    def __init__(self, context, program):
        self.context, self.program = context, program
        self.unsupported = set()
        self.lock = threading.Lock()

    def jobs(self):
        """[(tool, unit)], the quickest first."""
        entries = {(entry["program"], entry["source"]): entry for entry in self.context.record.results.get("tests", [])}
        jobs = []
        for unit in self.context.units:
            entry = entries.get((unit.program.name, unit.source))
            if entry and entry["passed"] and not entry["failed"]:
                tools = ["memcheck"] + (["racecheck"] if unit.source in RACECHECK else [])
                jobs += [(SLOWER[tool] * entry["seconds"], tool, unit) for tool in tools]
        return [job[1:] for job in sorted(jobs, key=lambda job: job[0])]

    def run(self, job):
        tool, unit = job
        if tool in self.unsupported:
            return not_run(f"{UNSUPPORTED} by {tool}"), ""
        command = [self.program, "--tool", tool, *SANITIZER_OPTIONS[tool], "--error-exitcode", SANITIZER_ERRORS, *unit.command]
        try:
            done = self.context.run(command, environment={**TEST_ENVIRONMENT, **SANITIZER_ENVIRONMENT[tool]})
        except processes.OutOfTime as error:
            return not_run(str(error)), error.output
        if UNSUPPORTED in done.output:
            self.unsupported.add(tool)
            return not_run(f"{UNSUPPORTED} by {tool}"), done.output
        verdict = {0: "clean", SANITIZER_ERRORS: "errors"}.get(done.status, done.ending)
        failed = int(done.status != 0)
        return {"passed": 1 - failed, "failed": failed, "skipped": 0, "seconds": done.seconds, "verdict": verdict,
                "reasons": [], **({"output": kept_output(done.output)} if failed else {})}, done.output

    def check(self, job):
        entry, output = self.run(job)
        with self.lock:
            if not processes.stopped:
                tell(self.context, "sanitizer_runs", {"tool": job[0], **job[1].entry, **entry}, output)

    def run_all(self):
        known = {unit.source for unit in self.context.units}
        for name in sorted(set(RACECHECK) - known):
            entry = not_run("the build has no such test")
            tell(self.context, "sanitizer_runs", {"tool": "racecheck", "program": "", "source": name, **entry})
        with ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(self.check, self.jobs()))


def run_sanitizer(context):
    program = find_sanitizer()
    if context.quick or not context.gpu or not program:
        why = "--quick" if context.quick else "compute-sanitizer is not here" if context.gpu else context.no_gpu
        context.record.put("sanitizer", {"unavailable": why})
    elif not context.record.results.get("tests"):
        context.record.put("sanitizer", {"unavailable": "no device test ran before it, which it would repeat"})
    else:
        Sanitizer(context, program).run_all()
