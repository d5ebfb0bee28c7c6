"""Shared by the benchmarks in turns with PyTorch: a program of ours, compiled here, and one of PyTorch, which answer
the same lines."""

import argparse
import contextlib
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

BENCHMARKS = pathlib.Path(__file__).resolve().parents[1]
RESULTS = BENCHMARKS / "results"
sys.path.insert(0, str(BENCHMARKS.parent / "scripts" / "lib"))
import json_text  # noqa: E402
import whole_file  # noqa: E402


def parser_of(description, turns):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch-python", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=turns)
    parser.add_argument("--processor-time", dest="clock", action="store_const", const="processor", default="wall")
    parser.add_argument("--pin", action="store_true", help="bind each thread to a core of its own (Linux)")
    return parser


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def write_results(name, results):
    """Writes into the folder of results."""
    whole_file.write(RESULTS / name, json_text.text(results) + "\n")


class Player:
    def __init__(self, *command, environment={}, is_to_bind=False):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=os.environ | environment)
        self.is_to_bind = is_to_bind

    def bind(self):
        """Binds the threads, which the first request created, to cores in turn: some systems let two share a core, and
        leave another idle."""
        cores = sorted(os.sched_getaffinity(0))
        for i, thread in enumerate(sorted(map(int, os.listdir(f"/proc/{self.process.pid}/task")))):
            os.sched_setaffinity(thread, {cores[i % len(cores)]})

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"{self.process.args[0]} ended at: {line}")
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
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/cpu_{name}"
        subprocess.run(["g++", "-std=c++20", "-O2", "-pthread", f"-I{BENCHMARKS.parent / 'include'}",
                        str(BENCHMARKS / f"cpu_{name}.cpp"), "-lz", "-o", program], check=True)
        peer = str(BENCHMARKS / "peers" / f"torch_{name}.py")
        bound = {"OMP_PROC_BIND": "true", "OMP_PLACES": "threads"} if options.pin else {}
        both = Player(program, is_to_bind=options.pin), Player(options.torch_python, peer, environment=bound)
        try:
            yield both
        finally:
            for player in both:
                player.end()
