#!/usr/bin/env python3
"""Programs with random, mostly senseless, values of options: the ones that --help lists, or the ones given after a
colon. After another colon comes an argument that precedes them.

Each run must end by itself, and print a message if its status is not 0. A run that uses --seconds of processor time is
ended, and counts as good. At least half of all runs must end by themselves, and one in twenty must do the work that its
options ask for. Failures are: a signal, an uncaught exception, no message, and a minute of wall time before that
processor time is used.

LOCUS_FUZZ_COUNT is the number of runs of each program, LOCUS_FUZZ_SEED their seed.

usage: command_lines_test.py [--seconds S] PROGRAM[:OPTION,OPTION...[:ARGUMENT]]...
"""

import argparse
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import common  # noqa: E402

VALUES = ["0", "-1", "1", "2", "3", "65536", "2147483648", "-9223372036854775808", "18446744073709551616", "1e400", "-1e-320",
          "nan", "inf", "0.5", "-0", "", " ", "word", "3x", "0x10", "é", "%s%n", ",", "1,2", "a,,b", "/", "/nonexistent/folder/file",
          "/dev/null", "/dev/full", ".", "cuda", "cuda:7", "cuda:-1", "auto", "float", "half", "bfloat16", "--help",
          "A" * 5000]
SENSIBLE = ["0", "1", "2", "3", "0.5", "auto"]
MANY_THREADS = ("--ranks", "65536")  # starts this number of threads
WALL_SECONDS = 60
OPTION = re.compile(r"^\s+(?:-\w,)?(--[a-z][a-z0-9-]*)( [A-Z]| \[|,)?", re.MULTILINE)


def options_of(program):
    """The options that a program's --help lists; none if it has no --help."""
    done = subprocess.run([program, "--help"], capture_output=True, text=True, errors="replace", timeout=60)
    return sorted({found[1] for found in OPTION.finditer(done.stdout)} - {"--help"}) if done.returncode == 0 else []


def arguments(choose, options):
    chosen = choose.sample(options, min(len(options), 1 + choose.randrange(3)))
    given = []
    for option in chosen:
        given.append(option)
        if choose.randrange(8):
            given.append(choose.choice(choose.choice([VALUES, SENSIBLE, SENSIBLE])))
    if not choose.randrange(6):
        given.append(choose.choice(VALUES))
    if "--device" in options and "--device" not in chosen:
        given += ["--device", "cpu"]
    return ["3" if pair == MANY_THREADS else pair[1] for pair in zip(["", *given], given)]


def limit_work(seconds):
    """After this processor time, SIGPROF ends this process, and the program that it executes."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)


def outcome_of(program, given, seconds):
    """(whether the run ended by itself, whether it did the work, how it failed or None)"""
    shown = " ".join([program, *(repr(one[:60]) for one in given)])
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run([program, *given], cwd=folder, capture_output=True, text=True, errors="replace",
                                  stdin=subprocess.DEVNULL, timeout=WALL_SECONDS, preexec_fn=lambda: limit_work(seconds),
                                  env={**os.environ, "LOCUS_NUM_THREADS": "1"})
        except subprocess.TimeoutExpired:
            return False, False, f"{shown}\nneither ended nor worked for {seconds} seconds within {WALL_SECONDS}"
        left = [path.name for path in pathlib.Path(folder).rglob("*.tmp*")]
    if done.returncode == -signal.SIGPROF:
        return False, True, None
    return True, done.returncode == 0, problem_of(shown, done, left)


def problem_of(shown, done, left):
    """How a run that ended by itself failed, or None."""
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


def try_programs(report, programs, seconds):
    choose = random.Random(int(os.environ.get("LOCUS_FUZZ_SEED", "1")))
    outcomes = []
    for named in programs:
        program, listed, *before = (named + ":").split(":")[:3]
        program, before = os.path.abspath(program), [one for one in before if one]
        options = listed.split(",") if listed else options_of(program)
        report.add(f"{pathlib.Path(program).name} has options", None if options else "no options")
        runs = int(os.environ.get("LOCUS_FUZZ_COUNT", "30")) if options else 0
        tried = [outcome_of(program, before + arguments(choose, options), seconds) for _ in range(runs)]
        report.add(f"{pathlib.Path(program).name} with {runs} command lines", "\n".join(found for *_, found in tried if found))
        outcomes += tried
    ended, worked = sum(one[0] for one in outcomes), sum(one[1] for one in outcomes)
    report.add("half of the runs end by themselves", None if 2 * ended >= len(outcomes) else f"{ended} of {len(outcomes)} did")
    report.add("one of twenty runs does what its options say",
               None if 20 * worked >= len(outcomes) else f"{worked} of {len(outcomes)} did")


def run(report):
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("programs", nargs="+")
    asked = parser.parse_args()
    try_programs(report, asked.programs, asked.seconds)


if __name__ == "__main__":
    common.main(run)
