#!/usr/bin/env python3
"""The tests of a suite that have to run again: all but programs that passed since their last build and since the last
change of the golden numbers.

usage: unchanged.py BUILD_DIR SUITE       prints how many need not run, and the names of those to run, a line each
       unchanged.py BUILD_DIR --record    after they ran: remembers which programs passed
"""

import argparse
import json
import pathlib
import subprocess
import sys

import common
import summary


def state_of(program):
    """The build time of the program, and of the newest golden numbers, which it may read."""
    golden = max((path.stat().st_mtime_ns for path in (common.ROOT / "tests" / "golden").rglob("*")), default=0)
    path = pathlib.Path(program)
    return [path.stat().st_mtime_ns if path.exists() else 0, golden]


def tests_of(build):
    """{name: (suites, command)} of Meson's tests."""
    text = subprocess.run(["meson", "introspect", "--tests", str(build)], check=True, capture_output=True, text=True).stdout
    return {test["name"]: ([suite.split(":")[-1] for suite in test["suite"]], test["cmd"]) for test in json.loads(text)}


def record_of(build):
    return build / "passed.json"


def passed_before(build):
    """{name: state} of the programs that passed; {} if the record cannot be read."""
    try:
        return json.loads(record_of(build).read_text())
    except (OSError, ValueError):
        return {}


def choose(build, suite):
    """(how many tests of the suite need not run, the names of those to run)"""
    before = passed_before(build)
    commands = {name: command for name, (suites, command) in tests_of(build).items() if suite in suites}
    names = [name for name, command in commands.items() if before.get(name) != state_of(command[0])]
    return len(commands) - len(names), names


def record(build):
    """Records programs alone: the inputs of a check written in Python are unknown."""
    tests, before = tests_of(build), passed_before(build)
    for test in summary.read_log(build):
        name = test["name"].split(" / ", 1)[-1]
        command = tests[name][1]
        is_program = pathlib.Path(command[0]).is_relative_to(build)
        before.pop(name, None)
        if is_program and summary.count(test)[3] is None:
            before[name] = state_of(command[0])
    record_of(build).write_text(json.dumps(before, indent=0))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, metavar="BUILD_DIR")
    parser.add_argument("suite", nargs="?")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    if options.record:
        record(options.build.resolve())
    elif options.suite:
        left_out, names = choose(options.build.resolve(), options.suite)
        print(left_out, *names, sep="\n")
    else:
        sys.exit("unchanged.py: a suite, or --record")
