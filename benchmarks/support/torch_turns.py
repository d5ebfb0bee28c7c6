"""Shared by the benchmarks in turns with PyTorch: a program of ours, compiled here, and one of PyTorch, which answer
the same lines."""

import argparse
import contextlib
import math
import os
import pathlib
import select
import subprocess
import sys
import tempfile

BENCHMARKS = pathlib.Path(__file__).resolve().parents[1]
RESULTS = BENCHMARKS / "results"
sys.path.insert(0, str(BENCHMARKS.parent / "scripts" / "lib"))
import json_text  # noqa: E402
import this_processor  # noqa: E402
import whole_file  # noqa: E402


def parser_of(description, turns):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch-python", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=turns)
    parser.add_argument("--processor-time", dest="clock", action="store_const", const="processor", default="wall")
    parser.add_argument("--pin", action="store_true", help="bind each thread to a core of its own (Linux)")
    parser.add_argument("--avx2", action="store_true", help="as on a processor that has AVX2 alone, both programs")
    parser.add_argument("--patience", type=float, default=120, metavar="SECONDS",
                        help="a peer that has not answered after this long is left out of the workload (default 120)")
    return parser


def processor():
    return this_processor.name()


def storable(results):
    """With null in place of times and speeds of a peer that was left out: JSON lacks infinity and NaN."""
    if isinstance(results, dict):
        return {key: storable(value) for key, value in results.items()}
    if isinstance(results, (list, tuple)):
        return [storable(value) for value in results]
    return None if isinstance(results, float) and not math.isfinite(results) else results


def write_results(name, results, of_processor=True):
    """Writes into the folder of results: of this kind of processor, or of all."""
    folder = RESULTS / this_processor.kind() if of_processor else RESULTS
    folder.mkdir(exist_ok=True)
    whole_file.write(folder / name, json_text.text(storable(results)) + "\n")


def speed(work, milliseconds):
    """Of so much work, per second; NaN for a peer that was left out."""
    return 1e3 * work / milliseconds if milliseconds < math.inf else math.nan


class Player:
    """patience: seconds; without an answer for this long, the program starts anew, and the request is answered by infinite
    times, now and later."""

    MOST_TIMES = 6  # of an answer

    def __init__(self, *command, environment={}, is_to_bind=False, patience=math.inf):
        self.command, self.environment, self.binds, self.patience = command, environment, is_to_bind, patience
        self.slow = set()
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=os.environ | self.environment)
        self.is_to_bind = self.binds

    def bind(self):
        """Binds the threads, which the first request created, to cores in turn: some systems let two share a core, and
        leave another idle."""
        cores = sorted(os.sched_getaffinity(0))
        for i, thread in enumerate(sorted(map(int, os.listdir(f"/proc/{self.process.pid}/task")))):
            os.sched_setaffinity(thread, {cores[i % len(cores)]})

    def ask(self, line):
        if line in self.slow:
            return [math.inf] * self.MOST_TIMES
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        if self.patience < math.inf and not select.select([self.process.stdout], [], [], self.patience)[0]:
            print(f"{self.command[-1]}: no answer in {self.patience:g} s, left out: {line}", file=sys.stderr)
            self.slow.add(line)
            self.process.kill()
            self.process.wait()
            self.start()
            return [math.inf] * self.MOST_TIMES
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"{self.command[-1]} ended at: {line}")
        if self.is_to_bind:
            self.bind()
            self.is_to_bind = False
        return [float(word) for word in answer.split()]

    def end(self):
        self.process.stdin.close()
        self.process.wait()


@contextlib.contextmanager
def players(name, options):
    """Starts cpu_NAME.cpp, and peers/torch_NAME.py with the Python of --torch-python."""
    if options.avx2:
        this_processor.limit_to_avx2()
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/cpu_{name}"
        subprocess.run(["g++", "-std=c++20", "-O2", "-pthread", f"-I{BENCHMARKS.parent / 'include'}",
                        str(BENCHMARKS / f"cpu_{name}.cpp"), "-lz", "-o", program], check=True)
        peer = str(BENCHMARKS / "peers" / f"torch_{name}.py")
        bound = {"OMP_PROC_BIND": "true", "OMP_PLACES": "threads"} if options.pin else {}
        limits = this_processor.environment()
        both = (Player(program, environment=limits, is_to_bind=options.pin),
                Player(options.torch_python, peer, environment={**limits, **bound}, patience=options.patience))
        try:
            yield both
        finally:
            for player in both:
                player.end()
