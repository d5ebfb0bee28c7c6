#!/usr/bin/env python3
"""Loading of a safetensors file of 500 MB by Locus, and by the package safetensors with NumPy, in milliseconds.

usage: safetensors.py [--python PYTHON] [--megabytes N]

--python: a Python with numpy and safetensors. The file lies in the page cache; a figure is the fastest of ten.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
PEER = """
import sys, time, numpy
from safetensors import safe_open
from safetensors.numpy import load, load_file, save_file

path, megabytes = sys.argv[1], int(sys.argv[2])
save_file({f"layer.{i}.weight": numpy.full((1000, 250), i, numpy.float32) for i in range(megabytes)}, path)

def opened():
    with safe_open(path, "numpy") as file:
        return list(file.keys())

def each():
    with safe_open(path, "numpy") as file:
        return [file.get_tensor(name) for name in file.keys()]

for name, call in {"load_file": lambda: load_file(path), "safe_open, keys alone": opened, "safe_open, every tensor": each,
                   "load(file.read())": lambda: load(open(path, "rb").read())}.items():
    times = []
    for _ in range(10):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    print(f"{name}: {1000 * min(times):.3f}")
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--megabytes", type=int, default=500)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program, path = f"{folder}/load", f"{folder}/model.safetensors"
        subprocess.run(["g++", "-std=c++20", "-O2", "-pthread", f"-I{ROOT / 'include'}", ROOT / "benchmarks/support/load_safetensors.cpp",
                        "-o", program, "-lz"], check=True)
        print("safetensors with NumPy", flush=True)
        subprocess.run([options.python, "-c", PEER, path, str(options.megabytes)], check=True)
        print("Locus", flush=True)
        subprocess.run([program, path], check=True)


if __name__ == "__main__":
    main()
