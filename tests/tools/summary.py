#!/usr/bin/env python3
"""Sums the cases of every test that `meson test` ran, lists failed and skipped ones, and ends with the line `N passed,
N failed, N skipped`. Before it come the slowest tests and build steps, with their seconds. A test without its own last
line, or with an exit status that its line does not explain, counts as one failure. Exits with 1 unless nothing failed
and something passed.

usage: summary.py [--note TEXT]... [--since FILE] BUILD_DIR...

--since FILE   list only steps built after the file was written: ninja's log also has steps of earlier runs
"""

import argparse
import json
import pathlib
import sys

import common


def count(test):
    """(passed, failed, skipped, why it counts as failed or None) of one record of Meson's testlog.json."""
    found = common.COUNTS.findall(test.get("stdout") or "")
    passed, failed, skipped = map(int, found[-1]) if found else (0, 0, 0)
    status = test.get("returncode", 0)
    if test["result"] == "TIMEOUT":
        return passed, failed + 1, skipped, "ran out of time"
    if not found:
        return 0, 1, 0, f"ended with status {status} and counted no case"
    if status != 0 and failed == 0:
        return passed, 1, skipped, f"ended with status {status} though no case failed"
    if status == 0 and failed == 0 and passed + skipped == 0:
        return 0, 1, 0, "has no case"
    return passed, failed, skipped, f"{failed} failed" if failed else None


def read_log(build):
    log = pathlib.Path(build) / "meson-logs" / "testlog.json"
    return [json.loads(line) for line in log.read_text().splitlines() if line.strip()]


def is_newer(path, since):
    """Whether the file exists, and is no older than `since` if given."""
    return since is None or path.exists() and path.stat().st_mtime_ns >= since


def seconds_of_steps(build, since=None):
    """[(seconds, target)] of ninja's last build of each target; only targets no older than `since`, in nanoseconds."""
    log = pathlib.Path(build) / ".ninja_log"
    rows = [line.split("\t") for line in log.read_text().splitlines() if not line.startswith("#")] if log.exists() else []
    last = {row[3]: (int(row[1]) - int(row[0])) / 1000 for row in rows if len(row) > 3}
    return [(seconds, f"building {target} in {build}") for target, seconds in last.items()
            if is_newer(pathlib.Path(build) / target, since)]


def slowest(builds, most=10, since=None):
    """Lines with the slowest tests and build steps."""
    found = [timed for build in builds for timed in seconds_of_steps(build, since)]
    found += [(test.get("duration", 0), f"{test['name']} in {build}") for build in builds for test in read_log(build)]
    lines = [f"{seconds:7.1f} s  {name}" for seconds, name in sorted(found, reverse=True)[:most]]
    return ["Slowest:", *lines] if lines else []


def summarize(builds):
    """([passed, failed, skipped], lines to print)."""
    totals, lines, late = [0, 0, 0], [], []
    for build in builds:
        for test in read_log(build):
            *counts, why = count(test)
            totals = [total + part for total, part in zip(totals, counts)]
            name = f"{test['name']} in {build}"
            if common.TOO_LATE in (test.get("stdout") or ""):
                late.append(test["name"])
            if why:
                lines += [f"FAILED {name}: {why}", *(test.get("stdout") or "").rstrip().splitlines()[-60:],
                          *(test.get("stderr") or "").rstrip().splitlines()[-60:]]
            elif counts[2]:
                lines.append(f"{counts[2]} skipped in {name}")
    if late:
        lines.append(f"{len(late)} checks did not run, as {common.TOO_LATE}: {', '.join(late)}")
    return totals, lines


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", nargs="+", metavar="BUILD_DIR")
    parser.add_argument("--note", action="append", default=[], help="printed before the last line")
    parser.add_argument("--since", type=pathlib.Path, metavar="FILE", help="name only steps that were built after it was written")
    options = parser.parse_args()
    since = options.since.stat().st_mtime_ns if options.since else None
    (passed, failed, skipped), lines = summarize(options.builds)
    print("\n".join([*lines, *slowest(options.builds, since=since), *options.note]))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(0 if passed and not failed else 1)
