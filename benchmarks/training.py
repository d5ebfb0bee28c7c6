#!/usr/bin/env python3
"""Training of 784-32-10 on MNIST, an epoch beside an epoch of libtorch, in alternating processes.

usage: training.py --data FOLDER [--pairs N] [--json FILE] [--torch PACKAGE]...

Peers: the libtorch of the system (Debian: apt-get install libtorch-dev libopenblas0-pthread) and that of every --torch folder (where Python's
torch lies: python3 -c 'import torch; print(torch.__path__[0])'). Each runs at the best of its settings: threads, and how
the images are stored. Without any, only Locus is measured. Close other programs first.
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
DATA = None
FLAGS = ["-O2", "-march=native", "-fopenmp"]


def say(text):
    print(text, file=sys.stderr, flush=True)


def compile_program(name, standards, command, folder):
    """The path of the program, compiled anew by the first standard that will do; None where none does."""
    target = folder / name
    say(f"compiling {name}")
    for standard in standards:
        done = subprocess.run([os.environ.get("CXX", "g++"), f"-std={standard}", *FLAGS, *map(str, command), "-o", str(target)],
                              stderr=subprocess.PIPE, text=True)
        if done.returncode == 0:
            return target
    say(f"{name} does not compile; it is left out:\n" + "\n".join(done.stderr.splitlines()[:10]))
    return None


def compile_locus(folder):
    return compile_program("locus", ["c++20"], ["-DLOCUS_ZLIB=1", f"-I{ROOT / 'include'}", HERE / "training.cpp", "-lz"], folder)


def compile_torch(name, include, lib, folder):
    paths = [f"-isystem{include}", f"-isystem{include}/torch/csrc/api/include"] if include else \
            ["-isystem/usr/include/torch/csrc/api/include"]
    paths += [f"-L{lib}", f"-Wl,-rpath,{lib}"] if lib else []
    # 1.13 is written for C++17, and recent ones want C++20.
    return compile_program(name, ["c++17", "c++20"],
                           [HERE / "peers" / "torch_mnist.cpp", *paths, "-ltorch", "-ltorch_cpu", "-lc10", "-lz"], folder)


def reference_blas(program):
    """The BLAS that a program was linked with, where that is the reference: it is 20 times slower than any other, and
    Debian installs it with libtorch unless told otherwise. None where it is another one."""
    libraries = subprocess.run(["ldd", str(program)], stdout=subprocess.PIPE, text=True).stdout
    for line in libraries.splitlines():
        name, _, rest = line.strip().partition(" => ")
        path = os.path.realpath(rest.split(" ")[0])
        if name.startswith("libblas.so") and pathlib.Path(path).parent.name == "blas":
            return path
    return None


def compile_peers(packages, folder):
    peers = {}
    if pathlib.Path("/usr/include/torch/csrc/api/include/torch/torch.h").exists():
        program = compile_torch("torch_system", None, None, folder)
        slow = program and reference_blas(program)
        if slow:
            say(f"libtorch (system) would multiply with the reference BLAS, {slow}: no fair peer, left out; on Debian: "
                "apt-get install libopenblas0-pthread")
        else:
            peers["libtorch (system)"] = program
    else:
        say("no libtorch in /usr/include (Debian: apt-get install libtorch-dev); that peer is left out")
    for i, package in enumerate(packages):
        version = (package / "version.py").read_text().split("__version__ = '")[-1].split("'")[0] \
            if (package / "version.py").exists() else str(i)
        peers[f"libtorch {version}"] = compile_torch(f"torch_{i}", package / "include", package / "lib", folder)
    return {name: program for name, program in peers.items() if program}


def run(program, environment, epochs, seed, limit):
    """The records of the epochs, and processor seconds of the process; None where it took more than `limit` seconds."""
    before = os.times()
    try:
        done = subprocess.run([str(program), str(DATA), str(epochs), str(seed)], stdout=subprocess.PIPE, text=True, timeout=limit,
                              env={**os.environ, **environment}, check=True)
    except subprocess.TimeoutExpired:
        return None
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return {"epochs": [json.loads(line) for line in done.stdout.splitlines()], "processor_seconds": used}


def torch_settings():
    """OpenBLAS of Debian 12 does not know recent processors: it is told what they are."""
    flags = pathlib.Path("/proc/cpuinfo").read_text() if pathlib.Path("/proc/cpuinfo").exists() else ""
    core = {"OPENBLAS_CORETYPE": "SkylakeX" if "avx512f" in flags else "Haswell"} if "avx2" in flags else {}
    for threads in sorted({1, min(2, os.cpu_count()), os.cpu_count()}):
        for storage in ("float", "uint8"):
            for wait in (["passive"] if threads == 1 else ["passive", "active"]):
                yield {**core, "OMP_NUM_THREADS": str(threads), "TORCH_THREADS": str(threads), "OMP_WAIT_POLICY": wait,
                       "TORCH_STORAGE": storage}


def best_setting(program, limit):
    best = None
    for setting in torch_settings():
        result = run(program, setting, 3, 0, limit)
        epoch = min(e["seconds"] for e in result["epochs"]) if result else None
        say(f"  {setting['TORCH_THREADS']} threads ({setting['OMP_WAIT_POLICY']} waiting), {setting['TORCH_STORAGE']} images: " +
            (f"{epoch:.3f} s" if epoch else f"more than {limit} s; given up"))
        if epoch and (best is None or epoch < best[0]):
            best = epoch, setting
    return best[1]


def summary(runs):
    seconds = sorted(e["seconds"] for r in runs for e in r["epochs"])
    cut = statistics.quantiles(seconds, n=10, method="inclusive")
    return {"median": statistics.median(seconds), "p10": cut[0], "p90": cut[-1], "fastest": seconds[0],
            "epochs": len(seconds),
            "accuracy_first": statistics.mean(r["epochs"][0]["accuracy"] for r in runs),
            "accuracy_last": statistics.mean(r["epochs"][-1]["accuracy"] for r in runs),
            "loss_last": statistics.mean(r["epochs"][-1]["loss"] for r in runs),
            "processor_seconds": statistics.median(r["processor_seconds"] for r in runs)}


def environment():
    commit = subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--dirty"], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True).stdout.strip()
    names = [line.split(": ")[1] for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line]
    compiler = subprocess.run([os.environ.get("CXX", "g++"), "--version"], stdout=subprocess.PIPE, text=True).stdout.splitlines()[0]
    return {"date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "commit": commit, "compiler": compiler,
            "cpu": names[0] if names else platform.processor(), "cores": os.cpu_count(), "flags": " ".join(FLAGS)}


def main():
    global DATA
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, required=True, metavar="FOLDER", help="with MNIST's IDX files")
    parser.add_argument("--pairs", type=int, default=9, help="runs of each program (default 9)")
    parser.add_argument("--epochs", type=int, default=5, help="epochs of each run (default 5)")
    parser.add_argument("--torch", type=pathlib.Path, action="append", default=[], metavar="PACKAGE")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "training", metavar="FOLDER",
                        help="where to compile (default build/training)")
    options = parser.parse_args()
    DATA = options.data
    if not any(DATA.glob("train-images-idx3-ubyte*")):
        sys.exit(f"training.py: '{DATA}' holds no MNIST (train-images-idx3-ubyte, plain or .gz)")
    for package in options.torch:
        if not (package / "include" / "torch").is_dir():
            sys.exit(f"training.py: '{package}' is not the folder of a Python torch package: it has no include/torch")
    options.build.mkdir(parents=True, exist_ok=True)

    programs = {"Locus": (compile_locus(options.build), {})}
    if not programs["Locus"][0]:
        sys.exit(1)
    for name, program in compile_peers(options.torch, options.build).items():
        say(f"settings of {name}:")
        programs[name] = program, best_setting(program, 10)

    runs = {name: [] for name in programs}
    for pair in range(options.pairs):
        for name, (program, setting) in programs.items():
            runs[name].append(run(program, setting, options.epochs, pair, 600))
        say(f"pair {pair + 1} of {options.pairs}: " +
            ", ".join(f"{name} {statistics.median(e['seconds'] for e in r[-1]['epochs']):.3f} s" for name, r in runs.items()))

    rows = {name: summary(r) for name, r in runs.items()}
    report(rows, options.epochs)
    if options.json:
        result = {"benchmark": "training 784-32-10, batch 100, 48,000 images", "environment": environment(),
                  "programs": {name: {**rows[name], "settings": programs[name][1], "runs": runs[name]} for name in rows}}
        temporary = options.json.with_name(options.json.name + ".tmp")
        temporary.write_text(json.dumps(result, indent=1) + "\n")
        os.replace(temporary, options.json)
    sys.exit(check_accuracy(rows))


def report(rows, epochs):
    ours = rows["Locus"]["median"]
    width = max(map(len, rows))
    print(f"{'':{width}}  {'median':>8} {'p10':>7} {'p90':>7}  {'Locus is':>9}  {'accuracy after 1':>16} {f'after {epochs}':>8}"
          "   (seconds per epoch)")
    for name, row in rows.items():
        ratio = "" if name == "Locus" else f"{row['median'] / ours:.2f} x"
        print(f"{name:{width}}  {row['median']:8.4f} {row['p10']:7.4f} {row['p90']:7.4f}  {ratio:>9}  "
              f"{100 * row['accuracy_first']:14.2f} % {100 * row['accuracy_last']:6.2f} %")


def check_accuracy(rows):
    """Times of programs that learn something else do not compare: within half a point, in the mean over the runs."""
    wrong = 0
    for name, row in rows.items():
        for when in ("accuracy_first", "accuracy_last"):
            if abs(row[when] - rows["Locus"][when]) > 0.005:
                print(f"{name} differs from Locus in {when}: {row[when]:.4f} against {rows['Locus'][when]:.4f}; its time is void")
                wrong = 1
    return wrong


if __name__ == "__main__":
    main()
