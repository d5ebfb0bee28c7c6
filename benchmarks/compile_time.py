#!/usr/bin/env python3
"""The compile time of programs, beside an empty file, a file that only includes the library, and a libtorch program.

usage: compile_time.py [--runs N] [--compiler gcc|clang|nvcc]... [--json FILE] [SOURCE...]

Without sources: the example examples/mnist.cpp, and the shortest program that trains on every device; each with the
headers alone, and with the compiled library (the Meson option `compiled`), whose own compilation does not count. Times
are processor time of the compiler and its children (-O2; nvcc for sm_90), which other programs disturb little. Runs
take turns (empty, header, program, peer, empty, ...), one at a time; a row gives medians. The peer is the same training
with the system's libtorch (Debian: apt-get install libtorch-dev), compiled with g++; without libtorch it is left out.
Times differ between machines, and on one machine from hour to hour: compare the ratios to the peer.

"silent" is the first source with a library without deleted overloads (its refuse/operands.inc and if.inc are empty).
The last column is the compile-time cost of these overloads for a correct program. (Object files are the same.)
"""

import argparse
import operator
import os
import pathlib
import statistics
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "tools"), str(ROOT / "scripts" / "lib")]
import common  # noqa: E402
import json_text  # noqa: E402
import whole_file  # noqa: E402

# Examples train in float and in 16 bits; the peer trains in float alone.
PLAIN = "-DEXAMPLES_OF_FLOAT_ALONE"
HOST = ["-std=c++20", "-O2", "-fopenmp", PLAIN, f"-I{ROOT / 'include'}"]
DEVICE = ["-x", "cu", "-std=c++20", "-O2", "-arch=sm_90", "-Xcompiler=-fopenmp", PLAIN, f"-I{ROOT / 'include'}",
          f"-I{ROOT / 'cuda_kernels'}"]
SOURCES = [ROOT / "examples" / "mnist.cpp", ROOT / "benchmarks" / "support" / "shortest_mnist.cpp"]
TORCH = pathlib.Path("/usr/include/torch/csrc/api/include")
PEER = ROOT / "benchmarks" / "peers" / "torch_mnist.cpp"
PEER_FLAGS = ["-std=c++17", "-O2", "-fopenmp", f"-isystem{TORCH}"]


def make_silent(scratch):
    """A folder of includes without deleted overloads."""
    folder = scratch / "silent" / "locus" / "refuse"
    folder.mkdir(parents=True)
    for name in ("operands.inc", "if.inc"):
        lines = (ROOT / "include" / "locus" / "refuse" / name).read_text().splitlines()
        (folder / name).write_text("\n".join(line for line in lines if line.startswith("#undef")) + "\n")
    return folder.parents[1]


def with_library(compiler, path, scratch):
    """The macros of a program that links the compiled library."""
    source = scratch / "abi.cpp"
    source.write_text("#include <locus/core/config.hpp>\nthe name is LOCUS_ABI\n")
    status, output = common.run([path, *(DEVICE if compiler == "nvcc" else HOST), "-E", source])
    if status:
        sys.exit(output)
    return "-DLOCUS_COMPILED=" + output.split("the name is ")[1].split()[0]


def seconds(compiler, path, source, scratch, *first):
    flags = [*first, *(DEVICE if compiler == "nvcc" else HOST)]
    if source == PEER:
        compiler, path, flags = "gcc", common.find_compilers()["gcc"], PEER_FLAGS
    before = os.times()
    status, output = common.run([path, *flags, "-c", source, "-o", scratch / "object.o"])
    after = os.times()
    if status:
        sys.exit(f"{compiler} does not compile {source}:\n{output}")
    return after.children_user + after.children_system - before.children_user - before.children_system


def measure(compiler, path, sources, peers, runs, scratch):
    """One row per source."""
    empty, header = scratch / "empty.cpp", scratch / "locus.hpp alone.cpp"
    empty.write_text("int main() {}\n")
    header.write_text("#include <locus/locus.hpp>\nint main() {}\n")
    everything = [empty, header, *sources, *peers]
    seconds(compiler, path, header, scratch)  # brings the headers into the page cache
    silent = f"-I{make_silent(scratch / compiler)}"
    library = with_library(compiler, path, scratch)
    runs_of = {source: (source,) for source in everything}
    runs_of |= {f"{source.name} + library": (source, library) for source in sources}
    runs_of["silent"] = (sources[0], silent)
    columns = {name: [] for name in runs_of}
    for _ in range(runs):
        for name, (source, *first) in runs_of.items():
            columns[name].append(seconds(compiler, path, source, scratch, *first))
    of_silent = columns.pop("silent")
    nothing = statistics.median(columns[empty])
    for name, column in columns.items():
        median = statistics.median(column)
        own = name not in (empty, header, *peers)
        yield {"source": name if isinstance(name, str) else name.stem if name in (empty, header) else name.name,
               "compiler": compiler, "runs": runs, "seconds": round(median, 3), "over_empty": round(median - nothing, 3),
               "fastest": round(min(column), 3), "slowest": round(max(column), 3),
               "of_peer": {peer.name: round(statistics.median(map(operator.truediv, column, columns[peer])), 3)
                           for peer in peers if own},
               "of_silent": [round(statistics.median(map(operator.truediv, column, of_silent)), 3)]
               if name == sources[0] else []}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--compiler", action="append", choices=["gcc", "clang", "nvcc"])
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    parser.add_argument("sources", nargs="*", type=pathlib.Path, default=SOURCES)
    options = parser.parse_args()
    rows = []
    peers = [PEER] if TORCH.is_dir() and "gcc" in common.find_compilers() else []
    if not peers:
        print(f"no libtorch in {TORCH}: the peer is left out")
    print(f"{'compiler':8}  {'source':28} {'seconds':>8} {'over empty':>11} {'of libtorch':>12} {'of silent':>10}")
    with tempfile.TemporaryDirectory() as scratch:
        for compiler, path in common.find_compilers().items():
            if options.compiler and compiler not in options.compiler:
                continue
            for row in measure(compiler, path, options.sources, peers, options.runs, pathlib.Path(scratch)):
                rows.append(row)
                share = "".join(f"{ratio:12.3f}" for ratio in row["of_peer"].values()).ljust(12)
                share += "".join(f"{ratio:11.3f}" for ratio in row["of_silent"])
                print(f"{compiler:8}  {row['source']:28} {row['seconds']:8.2f} {row['over_empty']:11.2f} {share}",
                      flush=True)
    if options.json:
        commit = common.run(["git", "-C", ROOT, "describe", "--always", "--dirty"])[1].strip()
        result = {"benchmark": "compile time, processor seconds", "commit": commit, "rows": rows,
                  "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
        whole_file.write(options.json, json_text.text(result) + "\n")


if __name__ == "__main__":
    main()
