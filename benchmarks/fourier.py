#!/usr/bin/env python3
"""Times Fourier transforms of complex64 and float32 on the CPU, in Locus, NumPy, PyTorch and KissFFT, in turns.

usage: fourier.py [--torch-python PYTHON] [--kissfft] [--rounds N] [--one-thread]

Prints the least and the median in microseconds as a table in Markdown. On a machine that other programs use, the least says
more. KissFFT is Debian's libkissfft-dev. PYTHON has torch and numpy; without it, the Python of this program is asked for numpy alone.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# Kind, number of transforms, length.
CASES = [("fft", 1, 1024), ("fft", 1, 2**16), ("fft", 1, 2**20), ("fft", 1, 3 * 2**10), ("fft", 1, 1000), ("fft", 1, 6561), ("fft", 1, 10007),
         ("fft", 1000, 64), ("fft", 1000, 1024), ("fft", 100, 1000), ("fft", 100, 509), ("rfft", 1, 1024), ("rfft", 1000, 1024),
         ("fft2", 512, 512)]
PEER = """
import sys, time
name = sys.argv[1]
import numpy
generator = numpy.random.default_rng(1)
if name == "torch":
    import torch
    give, library = torch.from_numpy, torch.fft
else:
    give, library = (lambda x: x), numpy.fft
for line in sys.stdin:
    kind, batch, n = line.split()
    shape = int(batch), int(n)
    x = generator.standard_normal(shape, dtype=numpy.float32)
    if kind != "rfft":
        x = (x + 1j * generator.standard_normal(shape, dtype=numpy.float32)).astype(numpy.complex64)
    x, run = give(x), getattr(library, kind)
    def seconds_of(times):
        begin = time.perf_counter()
        for _ in range(times):
            run(x)
        return time.perf_counter() - begin
    run(x)
    times = 1
    while seconds_of(times) < 2e-3:
        times *= 2
    print(*(1e6 * seconds_of(times) / times for _ in range(15)), flush=True)
"""


def measured(command, environment):
    """The microseconds of each case."""
    given = "".join(f"{kind} {batch} {n}\n" for kind, batch, n in CASES)
    done = subprocess.run(command, input=given, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return [[float(word) for word in line.split()] for line in done.stdout.splitlines()]


def cell(times):
    def number(x):
        return f"{x:.3g}" if x < 1000 else f"{x:,.0f}"
    return f"{number(min(times))} ({number(statistics.median(times))})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch-python", default=None)
    parser.add_argument("--kissfft", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one-thread", action="store_true")
    options = parser.parse_args()
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"} if options.one_thread else dict(os.environ)
    threads = [] if options.one_thread else ["-pthread"]
    with tempfile.TemporaryDirectory() as folder:
        def built(name, flags):
            program = pathlib.Path(folder) / name
            subprocess.run(["g++", "-std=c++20", "-O2", *threads, "-DLOCUS_ZLIB=0", f"-I{HERE.parent / 'include'}",
                            HERE / "fourier" / f"{name}.cpp", "-o", program, *flags], check=True)
            return [program]

        python = options.torch_python or sys.executable
        commands = {"Locus": built("locus", []), "NumPy": [python, "-c", PEER, "numpy"]}
        if options.torch_python:
            commands["PyTorch"] = [python, "-c", PEER, "torch"]
        if options.kissfft:
            commands["KissFFT"] = built("kissfft", ["-lkissfft-float"])
        times = {name: [[] for _ in CASES] for name in commands}
        for _ in range(options.rounds):
            for name, command in commands.items():
                for of_case, more in zip(times[name], measured(command, environment)):
                    of_case += more
    print("| transforms |" + "".join(f" {name} |" for name in commands) + "\n" + "|---" * (len(commands) + 1) + "|")
    for i, (kind, batch, n) in enumerate(CASES):
        print(f"| `{kind}`, ({batch}, {n}) |" + "".join(f" {cell(of_cases[i])} |" for of_cases in times.values()))


if __name__ == "__main__":
    main()
