#!/usr/bin/env python3
"""Programs with random, mostly senseless, values of the options that their --help lists, or that are named after a colon.

Each run must end by itself with a status, and say something where that is not 0; one that still works after --seconds is
ended, and counts as well. A signal, an exception that nobody catches and silence are failures.

LOCUS_FUZZ_COUNT says how many runs of each program there are, LOCUS_FUZZ_SEED with which seed they are made.

usage: command_lines_test.py [--seconds S] PROGRAM[:OPTION,OPTION...]...
"""

import argparse
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import common  # noqa: E402

VALUES = ["0", "-1", "1", "2", "3", "65536", "2147483648", "-9223372036854775808", "18446744073709551616", "1e400", "-1e-320",
          "nan", "inf", "0.5", "-0", "", " ", "word", "3x", "0x10", "é", "%s%n", ",", "1,2", "a,,b", "/", "/nonexistent/folder/file",
          "/dev/null", "/dev/full", ".", "cuda", "cuda:7", "cuda:-1", "auto", "float", "half", "bfloat16", "--help",
          "A" * 5000]
OPTION = re.compile(r"^\s+(?:-\w,)?(--[a-z][a-z0-9-]*)( [A-Z]| \[|,)?", re.MULTILINE)


def options_of(program):
    """The options that a program's --help lists; none where it has no --help."""
    done = subprocess.run([program, "--help"], capture_output=True, text=True, errors="replace", timeout=60)
    return sorted({found[1] for found in OPTION.finditer(done.stdout)} - {"--help"}) if done.returncode == 0 else []


def arguments(choose, options):
    chosen = choose.sample(options, min(len(options), 1 + choose.randrange(3)))
    given = []
    for option in chosen:
        given.append(option)
        if choose.randrange(8):
            given.append(choose.choice(VALUES))
    if not choose.randrange(6):
        given.append(choose.choice(VALUES))
    if "--device" in options and "--device" not in chosen:
        given += ["--device", "cpu"]
    return given


def problem_of(program, given, seconds):
    """How a run failed; None: it did not."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run([program, *given], cwd=folder, capture_output=True, text=True, errors="replace",
                                  stdin=subprocess.DEVNULL, timeout=seconds, env={**os.environ, "LOCUS_NUM_THREADS": "1"})
        except subprocess.TimeoutExpired:
            return None
        left = [path.name for path in pathlib.Path(folder).rglob("*.tmp*")]
    shown = " ".join([program, *(repr(one[:60]) for one in given)])
    said = (done.stdout + done.stderr)[-3000:]
    if done.returncode < 0 or done.returncode > 128:
        return f"{shown}\nended by signal or with status {done.returncode}\n{said}"
    if "terminate called" in said or "Sanitizer" in said:
        return f"{shown}\nended by an exception that nobody caught\n{said}"
    if done.returncode and not said.strip():
        return f"{shown}\nended with status {done.returncode} without a word"
    if left:
        return f"{shown}\nleft {left} behind"
    return None


def run(report):
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("programs", nargs="+")
    asked = parser.parse_args()
    choose = random.Random(int(os.environ.get("LOCUS_FUZZ_SEED", "1")))
    for named in asked.programs:
        program, _, listed = named.partition(":")
        program = os.path.abspath(program)
        options = listed.split(",") if listed else options_of(program)
        report.add(f"{pathlib.Path(program).name} has options", None if options else "no options")
        runs = int(os.environ.get("LOCUS_FUZZ_COUNT", "12")) if options else 0
        problems = [problem_of(program, arguments(choose, options), asked.seconds) for _ in range(runs)]
        problems = [problem for problem in problems if problem]
        report.add(f"{pathlib.Path(program).name} with {runs} command lines", "\n".join(problems))


if __name__ == "__main__":
    common.main(run)
