#!/usr/bin/env python3
"""Compares a benchmark program built with two versions of Locus, in turns, on one thread.

usage: two_versions.py OLD [NEW] [--rounds N] [--only PART] [--program FILE] [--flags FLAGS]

OLD and NEW are folders that hold `include` (NEW: this one). The program, benchmarks/cpu_gradients.cpp, is compiled with
each and run N times in turns. The result of a workload is the fewest nanoseconds per element, and the last column is
new / old: more than 1 is slower. It counts processor time, which other programs disturb less than wall time.

    git worktree add /tmp/old main && python3 benchmarks/two_versions.py /tmp/old
"""

import argparse
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]


def compiled(program, tree, target, flags):
    subprocess.run(["g++", "-std=c++20", "-O2", *flags.split(), f"-I{tree / 'include'}", f"-I{tree / 'cuda_kernels'}",
                    str(program), "-o", str(target), "-pthread", "-lz"], check=True)
    return target


def times(program, only):
    text = subprocess.run([str(program), only], check=True, capture_output=True, text=True,
                          env={"LOCUS_NUM_THREADS": "1"}).stdout
    return {(name, int(size)): float(time) for name, size, time in map(str.split, text.splitlines())}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("old", type=pathlib.Path)
    options.add_argument("new", type=pathlib.Path, nargs="?", default=ROOT)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--only", default="")
    options.add_argument("--program", type=pathlib.Path, default=ROOT / "benchmarks" / "cpu_gradients.cpp")
    options.add_argument("--flags", default="")
    options = options.parse_args()
    fewest = [{}, {}]
    with tempfile.TemporaryDirectory() as folder:
        programs = [compiled(options.program, tree.resolve(), pathlib.Path(folder) / name, options.flags)
                    for name, tree in (("old", options.old), ("new", options.new))]
        for _ in range(options.rounds):
            for best, program in zip(fewest, programs):
                for work, time in times(program, options.only).items():
                    best[work] = min(time, best.get(work, time))
    print(f"{'workload':20} {'elements':>9} {'old, ns':>9} {'new, ns':>9}  new / old")
    for (name, size), old in fewest[0].items():
        new = fewest[1][name, size]
        print(f"{name:20} {size:9} {old:9.4f} {new:9.4f}  {new / old:9.3f}")


if __name__ == "__main__":
    main()
