"""What conv.py, attention.py, lookups.py and resnet.py share: a program of ours, compiled here, and one of PyTorch, which answer the
same lines in turns."""

import argparse
import contextlib
import pathlib
import platform
import subprocess
import sys
import tempfile

BENCHMARKS = pathlib.Path(__file__).resolve().parents[1]
RESULTS = BENCHMARKS / "results"


def parser_of(description, turns):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch-python", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=turns)
    parser.add_argument("--processor-time", dest="clock", action="store_const", const="processor", default="wall")
    return parser


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


class Player:
    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"{self.process.args[0]} ended at: {line}")
        return [float(word) for word in answer.split()]

    def end(self):
        self.process.stdin.close()
        self.process.wait()


@contextlib.contextmanager
def players(name, torch_python):
    """cpu_NAME.cpp, and peers/torch_NAME.py by a Python that has PyTorch."""
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/cpu_{name}"
        subprocess.run(["g++", "-std=c++20", "-O2", "-pthread", f"-I{BENCHMARKS.parent / 'include'}",
                        str(BENCHMARKS / f"cpu_{name}.cpp"), "-lz", "-o", program], check=True)
        both = Player(program), Player(torch_python, str(BENCHMARKS / "peers" / f"torch_{name}.py"))
        try:
            yield both
        finally:
            for player in both:
                player.end()
