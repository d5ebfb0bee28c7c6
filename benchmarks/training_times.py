#!/usr/bin/env python3
"""Training time as a function of the sizes of data set, model and batch, on the CPU and on a GPU: measures it with
benchmarks/training_times.cpp, fits a cost model, and writes docs/training-times.md and docs/training-times.svg.

usage: training_times.py                         prints the tables of results/training-times.json
       training_times.py --measure [--data MNIST] [--rounds 8] [--part epochs] [--quick]    measures, and writes that file
       training_times.py --peer PYTHON [--rounds 8]  adds PyTorch to it: some epochs of both, in turns
       training_times.py --write                 writes the picture, and the tables of the page
       training_times.py --check                 tests that page and picture are up to date

Threads and devices take turns at each point. The fastest epoch of all rounds counts, because disturbances only increase
a time; the excess of the medians is reported. Steps are measured at each hidden size with each depth and batch, whole
epochs of some numbers of images with three hidden sizes. --results names another file, also one that scripts/gpu wrote.
Measure with nothing else running; otherwise, --pin binds each thread to a core of its own.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "support"), str(HERE.parent / "scripts" / "lib")]
import training_costs  # noqa: E402
import training_times_page as pages  # noqa: E402
import json_text  # noqa: E402
import whole_file  # noqa: E402

# Arguments of the program, by the part of the study.
FULL = {"steps": ["--hidden", "16,64,256,1024,4096", "--depth", "1,2,3", "--batch", "16,128,1024", "--min-time", "0.1"],
        "epochs": ["--hidden", "16,128,512", "--depth", "1", "--batch", "128", "--images", "1000,4000,15000,60000", "--min-time", "0.1"]}
QUICK = {"steps": ["--hidden", "8,32,64", "--depth", "1,2", "--batch", "8,32", "--min-time", "0.002"],
         "epochs": ["--hidden", "8,64", "--depth", "1", "--batch", "32", "--images", "100,400", "--min-time", "0.002"]}


# Arguments of both programs, for the comparison with PyTorch on the CPU: random images.
PEER = ["--hidden", "16,128,1024,4096", "--depth", "1", "--batch", "16,128", "--images", "4000"]
QUICK_PEER = ["--hidden", "8", "--depth", "1", "--batch", "8", "--images", "64", "--min-time", "0.002"]


class Wrong(Exception):
    """A message for the caller."""


def compiled(folder):
    """Compiles the program for this processor, without CUDA."""
    target = pathlib.Path(folder) / "training_times"
    sources = [HERE / "training_times.cpp", HERE / "support" / "training_times_options.cpp", HERE / "support" / "environment.cpp"]
    subprocess.run(["g++", "-std=c++20", "-O2", "-pthread", "-DLOCUS_ZLIB=1", f'-DLOCUS_SOURCE_DIR="{HERE.parent}"',
                    f"-I{HERE.parent / 'include'}", *map(str, sources), "-o", str(target), "-lz"], check=True)
    return target


def lines_of(command, environment=None):
    try:
        done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    except OSError as error:
        raise Wrong(f"{command[0]} cannot be run: {error.strerror}") from None
    if done.returncode:
        raise Wrong(done.stderr.strip() or f"{command[0]} ended with status {done.returncode}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def machine_of(environment):
    return ", ".join(filter(None, (environment.get("cpu"), environment.get("gpu"))))


def require_same_machine(options, before, now):
    """The rows of one file must come from one machine."""
    if before and machine_of(before) != machine_of(now):
        raise Wrong(f"--part {options.part}: the other rows of {options.results} are of {machine_of(before)}, this is "
                    f"{machine_of(now)}; measure all parts, or name another file by --results")


def measured(program, options):
    """The document of results. Parts that are not measured keep the rows of the file."""
    before = read(options.results) if options.part else {"environment": {}, "rows": []}
    parts = [options.part] if options.part else list(FULL)
    rounds, environment = [], None
    common = ["--device", options.device, *(["--data", options.data] if options.data else []), *(["--pin"] if options.pin else [])]
    for number in range(options.rounds):
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
        lines = []
        for part in parts:
            first, *others = lines_of([program, *common, *(QUICK if options.quick else FULL)[part]])
            environment = environment or first["environment"]
            require_same_machine(options, before["environment"], environment)
            lines += others
        rounds.append(lines)
    counts = {**before["environment"].get("rounds", {}), **dict.fromkeys(parts, options.rounds)}
    kept = [row for row in before["rows"] if pages.part_of(row) not in parts]
    return {**before, "benchmark": "training_times", "environment": {**environment, "rounds": counts}, "rows": kept + pages.rows_of(rounds)}


def beside_peer(program, options, threads):
    """Runs both programs in turns. PyTorch's threads are bound like ours."""
    arguments = [*(QUICK_PEER if options.quick else PEER), "--threads", ",".join(map(str, threads))]
    ours, theirs = [], []
    for number in range(options.rounds):
        print(f"round {number + 1} of {options.rounds}, with PyTorch", file=sys.stderr, flush=True)
        ours.append(lines_of([program, "--device", "cpu", *(["--pin"] if options.pin else []), *arguments])[1:])
        bound = {"OMP_PROC_BIND": "true", "OMP_PLACES": "threads"} if options.pin else {}
        first, *lines = lines_of([options.peer, HERE / "peers" / "torch_training_times.py", *arguments], {**os.environ, **bound})
        theirs.append(lines)
    return {"name": f"PyTorch {first['environment']['torch']}", "rounds": options.rounds, "ours": pages.rows_of(ours),
            "rows": pages.rows_of(theirs)}


def read(path):
    """A document of --measure, or of scripts/gpu."""
    try:
        document = json.loads(path.read_text())
    except OSError as error:
        raise Wrong(f"{path} cannot be read ({error.strerror}); measure it first: training_times.py --measure") from None
    except ValueError as error:
        raise Wrong(f"{path} is no JSON: {error}") from None
    if "training times" in document:  # one round, without the packing into rows
        part = document["training times"]
        document = {"environment": part.get("environment"), "rows": pages.rows_of([part.get("lines", [])])}
    if not document.get("rows"):
        raise Wrong(f"{path} holds no training times; expected a file that --measure or scripts/gpu wrote")
    return document


def checked_target(path):
    """Checks the target before measuring."""
    if not path.parent.is_dir():
        raise Wrong(f"--results {path}: there is no folder {path.parent}; create it or choose another")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            return path
    except OSError as error:
        raise Wrong(f"--results {path}: the folder {path.parent} may not be written to ({error.strerror})") from None


def write(path, text):
    try:
        whole_file.write(path, text)
    except OSError as error:
        raise Wrong(f"{path} cannot be written: {error.strerror}") from None


def measure(options):
    target = checked_target(options.results)
    document = None if options.measure else read(target)
    with tempfile.TemporaryDirectory() as folder:
        program = options.program or compiled(folder)
        if options.measure:
            document = measured(program, options)
        if options.peer:
            threads = sorted({row["threads"] for row in document["rows"] if row["device"] == "cpu"})
            document["peer"] = beside_peer(program, options, threads)
    write(target, json_text.text(document) + "\n")


def run(options):
    if options.measure or options.peer:
        measure(options)
    study = pages.Study(read(options.results))
    page, picture = options.docs / "training-times.md", options.docs / "training-times.svg"
    if options.check:
        stale = [path.name for path, text in ((page, study.page(page.read_text())), (picture, study.picture()))
                 if path.read_text() != text]
        print("".join(f"FAILED {name} is not what --write makes\n" for name in stale) +
              f"{2 - len(stale)} passed, {len(stale)} failed, 0 skipped")
        return 1 if stale else 0
    if options.write:
        write(page, study.page(page.read_text()))
        write(picture, study.picture())
    print(study.text())
    return 0


def parsed(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--results", type=pathlib.Path, default=HERE / "results" / "training-times.json", metavar="FILE")
    parser.add_argument("--docs", type=pathlib.Path, default=HERE.parent / "docs", metavar="FOLDER", help="of page and picture")
    parser.add_argument("--program", type=pathlib.Path, help="the built training_times; default: it is compiled for the CPU")
    parser.add_argument("--device", default="auto", help="auto and both: the CPU, and a GPU if there is one; cpu; cuda; cuda:N")
    parser.add_argument("--data", metavar="FOLDER", help="of MNIST's files; without it, images are random")
    parser.add_argument("--peer", metavar="PYTHON", help="one that has PyTorch")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--part", choices=list(FULL), help="measure this alone, and keep the others of the file")
    parser.add_argument("--pin", action="store_true", help="bind each thread to a core of its own")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to try the program")
    options = parser.parse_args(arguments)
    if options.quick and options.results == parser.get_default("results"):
        parser.error("--quick is no measurement: name another file by --results FILE")
    if options.rounds < 1:
        parser.error(f"--rounds {options.rounds}: expected 1 or more")
    return options


def main():
    try:
        return run(parsed())
    except (Wrong, ValueError) as error:
        print(f"training_times.py: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
