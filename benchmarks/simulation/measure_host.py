#!/usr/bin/env python3
"""Measures what the simulation of this host is calibrated by and compared with: results/scaling-host.json.

usage: measure_host.py --programs build/release/benchmarks [--runs 5] [--minutes 10] [--only threads]

Runs ddp and all_reduce, with ranks of one thread each, each case `runs` times, while other processes use less than 5 % of
the cores; it waits for that, for up to `minutes`. The least time of each case over its quiet runs is kept, as
disturbances only increase a time; without a quiet run, the least disturbed run, whose share of other processes stands
beside it. An existing file is improved, unless --anew. On a quiet machine a run of all cases takes two minutes.
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "scripts" / "lib"))
import whole_file  # noqa: E402

RESULTS = HERE.parent / "results" / "scaling-host.json"
MIB = 1 << 20
BUCKETS = [(25 * MIB, MIB), (MIB, MIB), (MIB // 4, MIB // 16), (1 << 30, 1 << 30)]  # bucket_bytes, first_bucket_bytes
RANKS = {"threads": (2, 4, 8), "processes": (2, 4, 8)}
STEPS = {2: 1, 4: 4, 8: 6}  # of a sample: ranks that share a core begin one after another
QUIET = 0.05
MPIRUN = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n"]


def cases(only):
    """(key, command) of each run."""
    for way, counts in RANKS.items():
        if only and only != way:
            continue
        for ranks in counts:
            begin = [*MPIRUN, str(ranks)] if way == "processes" else []
            more = [] if begin else ["--ranks", str(ranks)]
            by_messages = ["--messages"] if begin else []
            yield (f"all_reduce {way} {ranks}",
                   [*begin, "all_reduce", *more, "--in-place", "--min", "1024", "--max", str(16 * MIB), "--samples", "3"])
            for bucket, first in BUCKETS:
                yield (f"ddp {way} {ranks} {bucket}",
                       [*begin, "ddp", *more, *by_messages, "--steps", str(STEPS[ranks]), "--samples", str(max(3, 16 // STEPS[ranks])),
                        "--bucket-bytes", str(bucket), "--first-bucket-bytes", str(first)])


def busy_seconds():
    """Seconds of all cores that were not idle since the start of the machine."""
    numbers = [int(word) for word in pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    return (sum(numbers) - numbers[3] - numbers[4]) / os.sysconf("SC_CLK_TCK")


def own_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measured(command, programs):
    """The rows of a run, and the share of the cores that other processes used."""
    name = next(word for word in command if word in ("ddp", "all_reduce"))
    command = [str(programs / word) if word == name else word for word in command]
    environment = os.environ | {"LOCUS_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.json"
        busy, own, begin = busy_seconds(), own_seconds(), time.monotonic()
        subprocess.run([*command, "--json", str(out)], check=True, stdout=subprocess.DEVNULL, env=environment)
        seconds = time.monotonic() - begin
        others = max(0.0, busy_seconds() - busy - (own_seconds() - own)) / seconds / os.cpu_count()
        result = json.loads(out.read_text())
    return result["environment"], result["rows"], others


def disturbance(run):
    """The share of other processes; 1 where it was not observed."""
    return 1.0 if run["others"] is None else run["others"]


def is_quiet(seconds=0.5):
    busy = busy_seconds()
    time.sleep(seconds)
    return busy_seconds() - busy < QUIET * seconds * os.cpu_count() + 1 / os.sysconf("SC_CLK_TCK")


def merged(before, rows, others):
    """The better of two runs of a case: the least time of each row of quiet runs, else the least disturbed run."""
    kept = ("way", "ranks", "overlap", "bytes", "least")
    after = {"others": round(others, 3), "runs": 1, "rows": [{key: row[key] for key in kept if key in row} for row in rows]}
    if not before or (others < QUIET <= disturbance(before)):
        return after
    if others >= QUIET:
        return min(before, after, key=disturbance)
    for old, new in zip(before["rows"], after["rows"]):
        old["least"] = min(old["least"], new["least"])
    return before | {"others": min(before["others"], after["others"]), "runs": before["runs"] + 1}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", required=True, type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--only", choices=sorted(RANKS))
    parser.add_argument("--anew", action="store_true")
    arguments = parser.parse_args()
    kept = {} if arguments.anew or not RESULTS.exists() else json.loads(RESULTS.read_text())["cases"]
    end = time.monotonic() + 60 * arguments.minutes
    all_cases = dict(cases(arguments.only))

    def quiet_runs(key):
        return kept[key]["runs"] if key in kept and disturbance(kept[key]) < QUIET else 0

    while time.monotonic() < end and min(map(quiet_runs, all_cases)) < arguments.runs:
        if not is_quiet():
            continue
        key = min(all_cases, key=quiet_runs)
        environment, rows, others = measured(all_cases[key], arguments.programs.resolve())
        kept[key] = merged(kept.get(key), rows, others)
        print(f"{key}: others used {others:.0%}", flush=True)
        whole_file.write(RESULTS, json.dumps({"environment": environment, "cases": kept}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
