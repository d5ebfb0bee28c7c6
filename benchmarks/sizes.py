#!/usr/bin/env python3
"""The sizes of Locus: its headers, the lines that a compiler reads, and a program that trains; beside libtorch's.

usage: sizes.py [--torch FOLDER] [--json FILE]

The program is benchmarks/cpu_training.cpp, which trains on MNIST, and the peer the same training with libtorch
(benchmarks/peers/torch_mnist.cpp), both by g++ -O2. FOLDER is the prefix of libtorch, by default /usr (Debian: apt-get
install libtorch-dev); without libtorch the peer is left out. Lines are those that are left after preprocessing, without
empty ones. A program of libtorch needs its shared libraries, whose sizes are added up; libraries that both programs take
from the system are not counted.
"""

import argparse
import pathlib
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "tools"), str(ROOT / "scripts" / "lib")]
import common  # noqa: E402
import json_text  # noqa: E402
import whole_file  # noqa: E402

PROGRAM = ROOT / "benchmarks" / "cpu_training.cpp"
PEER = ROOT / "benchmarks" / "peers" / "torch_mnist.cpp"
FLAGS = ["-std=c++20", "-O2", "-pthread", f"-I{ROOT / 'include'}"]
SHARED = ("libtorch.so", "libtorch_cpu.so", "libc10.so")


def must(*command):
    status, output = common.run(command)
    if status:
        sys.exit(f"{' '.join(map(str, command))}\n{output}")
    return output


def torch_flags(prefix):
    """(compiler flags, shared libraries) of the libtorch in a prefix, or None."""
    headers = prefix / "include" / "torch" / "csrc" / "api" / "include"
    libraries = [path.resolve() for name in SHARED for path in sorted((prefix / "lib").rglob(name))]
    if not headers.is_dir() or len(libraries) != len(SHARED):
        return None
    # /usr/include is searched anyway, and the standard library's headers would not find it if it stood before them.
    folders = [headers, *([] if prefix == pathlib.Path("/usr") else [prefix / "include"])]
    return ["-std=c++20", "-O2", "-fopenmp", *(f"-isystem{folder}" for folder in folders)], libraries


def lines(text):
    return sum(1 for line in text.splitlines() if line.strip())


def headers():
    """Files and bytes of the installed headers."""
    found = common.sources("include", "cuda_kernels/locus")
    return {"what": "headers", "files": len(found), "bytes": sum(path.stat().st_size for path in found),
            "lines": sum(lines(path.read_text()) for path in found)}


def preprocessed(what, source, flags, scratch):
    result = scratch / "preprocessed.ii"
    must("g++", *flags, "-E", "-P", source, "-o", result)
    return {"what": f"{what}, preprocessed", "lines": lines(result.read_text(errors="replace"))}


def binary(what, source, flags, scratch, *libraries):
    """Bytes of a program as linked, and without symbols."""
    program = scratch / source.stem
    must("g++", *flags, source, "-o", program, *libraries)
    linked = program.stat().st_size
    must("strip", program)
    return {"what": what, "bytes": linked, "stripped": program.stat().st_size}


def measure(torch, scratch):
    alone = scratch / "locus.cpp"
    alone.write_text("#include <locus/locus.hpp>\nint main() {}\n")
    yield headers()
    yield preprocessed("#include <locus/locus.hpp>", alone, FLAGS, scratch)
    yield preprocessed(PROGRAM.name, PROGRAM, FLAGS, scratch)
    yield binary(PROGRAM.name, PROGRAM, FLAGS, scratch, "-lz")
    if torch:
        flags, libraries = torch
        yield preprocessed(PEER.name, PEER, flags, scratch)
        # Its libraries need others, which are not linked again.
        yield binary(PEER.name, PEER, flags, scratch, "-Wl,--allow-shlib-undefined", *libraries, "-lz")
        yield {"what": f"libtorch's {', '.join(SHARED)}", "bytes": sum(path.stat().st_size for path in libraries)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", type=pathlib.Path, default=pathlib.Path("/usr"), metavar="FOLDER")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    options = parser.parse_args()
    torch = torch_flags(options.torch)
    if not torch:
        print(f"no libtorch in {options.torch}: the peer is left out")
    rows = []
    print(f"{'':44} {'files':>6} {'lines':>9} {'bytes':>12} {'stripped':>12}")
    with tempfile.TemporaryDirectory() as scratch:
        for row in measure(torch, pathlib.Path(scratch)):
            rows.append(row)
            print(f"{row['what']:44} {row.get('files', ''):>6} {row.get('lines', ''):>9} {row.get('bytes', ''):>12} "
                  f"{row.get('stripped', ''):>12}", flush=True)
    if options.json:
        commit = common.run(["git", "-C", ROOT, "describe", "--always", "--dirty"])[1].strip()
        result = {"benchmark": "sizes", "commit": commit, "compiler": must("g++", "--version").splitlines()[0], "rows": rows,
                  "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
        whole_file.write(options.json, json_text.text(result) + "\n")


if __name__ == "__main__":
    main()
