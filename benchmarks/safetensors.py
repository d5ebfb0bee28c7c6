#!/usr/bin/env python3
"""Loading and writing of a safetensors file of 500 MB by Locus, and by the package safetensors with NumPy, in milliseconds.

usage: safetensors.py [--python PYTHON] [--megabytes N] [--rounds N] [--folder FOLDER]

--python: a Python with numpy and safetensors. The file lies in the page cache. A round measures both, one after the other, and
a figure of it is the fastest of ten; the table has the fastest round. io::save writes a temporary file, waits until the disk has
it, and renames it; save_file does not wait, so that its time is also given with such a wait. FOLDER, by default a temporary
one, has room for three such files.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks" / "support"))
import this_processor  # noqa: E402

PEER = """
import os, sys, time, numpy
from safetensors import safe_open
from safetensors.numpy import load, load_file, save_file

path, copy, megabytes = sys.argv[1], sys.argv[2], int(sys.argv[3])
state = {f"layer.{i}.weight": numpy.full((1000, 250), i, numpy.float32) for i in range(megabytes)}
save_file(state, path)

def opened():
    with safe_open(path, "numpy") as file:
        return list(file.keys())

def each():
    with safe_open(path, "numpy") as file:
        return [file.get_tensor(name) for name in file.keys()]

def saved():
    save_file(state, copy)
    descriptor = os.open(copy, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)

for name, call in {"load_file": lambda: load_file(path), "safe_open, keys alone": opened, "safe_open, every tensor": each,
                   "load(file.read())": lambda: load(open(path, "rb").read()), "save_file": lambda: save_file(state, copy),
                   "save_file, then fsync": saved}.items():
    times = []
    for _ in range(10):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    print(f"{name}: {1000 * min(times):.3f}", flush=True)
"""


def figures(*command):
    """{name: milliseconds} of a program that prints them."""
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return {name: float(number) for name, _, number in (line.rpartition(": ") for line in done.stdout.splitlines())}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=pathlib.Path)
    options = parser.parse_args()
    best = {}
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        program, path, copy = f"{folder}/load", f"{folder}/model.safetensors", f"{folder}/copy.safetensors"
        subprocess.run(["g++", "-std=c++20", "-O2", "-pthread", f"-I{ROOT / 'include'}", ROOT / "benchmarks/support/load_safetensors.cpp",
                        "-o", program, "-lz"], check=True)
        for _ in range(options.rounds):
            peer = figures(options.python, "-c", PEER, path, copy, str(options.megabytes))
            for name, number in (peer | figures(program, path, copy)).items():
                best[name] = min(number, best.get(name, number))
    print(f"{this_processor.name()}, {options.megabytes} MB, the fastest of {options.rounds} rounds\n")
    print("| function | ms |\n|---|---|")
    for name, number in best.items():
        print(f"| `{name}` | {number:,.{1 if number < 10 else 0}f} |")


if __name__ == "__main__":
    main()
