"""Shared by the checks: paths of the tree and the compilers, parallel runs, counts of cases."""

import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOO_LATE = "the minutes of scripts/test --within are over"
COUNTS = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.MULTILINE)
CXX = ["-std=c++20"]
INCLUDES = [f"-I{ROOT / 'include'}"]
# clang++ compiles a large unit in an eighth less time if its heap is of huge pages; g++ and nvcc gain nothing.
HUGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}


def without_record(path):
    """Header and tensors of a checkpoint, without the record of the run that wrote it."""
    content = path.read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    del header["__metadata__"]["locus.run"]
    return header, content[end:]


class Report:
    """Counts cases, prints failures, and ends with the line that every test program ends with."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def ok(self, name):
        self.passed += 1

    def fail(self, name, why):
        self.failed += 1
        print(f"FAILED {name}\n" + "".join(f"    {line}\n" for line in str(why).rstrip().splitlines()))

    def skip(self, name, why):
        self.skipped += 1
        print(f"skipped {name}: {why}")

    def add(self, name, problem):
        """problem: None or an empty text for success."""
        self.fail(name, problem) if problem else self.ok(name)

    def merge(self, other):
        """Adds the counts of another report."""
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped")
        return 1 if self.failed else 0


def find_compilers(*, every=False):
    """{'gcc': path, 'clang': path, 'nvcc': path} of the installed compilers; `every`: also 'clang19', whose messages
    have another layout than clang 14's."""
    found = {
        "gcc": shutil.which("g++"),
        "clang": shutil.which("clang++-14") or shutil.which("clang++"),
        "clang19": shutil.which("clang++-19") if every else None,
        "nvcc": find_nvcc(),
    }
    return {name: path for name, path in found.items() if path}


def find_nvcc():
    """The nvcc that the build found (empty: none), otherwise from the usual folders of toolkits."""
    if "LOCUS_NVCC" in os.environ:
        return os.environ["LOCUS_NVCC"] or None
    homes = [os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    paths = [str(pathlib.Path(home) / "bin" / "nvcc") for home in homes if home]
    return next(filter(None, map(shutil.which, ["nvcc", *paths])), None)


@functools.cache
def fastest(nvcc):
    """The options with which nvcc translates device code fastest, if it has them."""
    return ["--Ofast-compile=max"] if "--Ofast-compile" in run([nvcc, "--help"])[1] else []


def told(options):
    """Options of subprocess for a program whose output is read: stdout and stderr together, in English."""
    env = dict(os.environ, LC_ALL="C", **options.pop("env", {}))
    return {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "errors": "replace", "env": env,
            **options}


def run(command, **options):
    """(exit status, stdout and stderr together). Messages in English, colours off."""
    done = subprocess.run([str(part) for part in command], **told(options))
    return done.returncode, done.stdout


def run_timed(command, **options):
    """(exit status, output, seconds of processor time). Other load on the machine hardly affects processor time."""
    with subprocess.Popen([str(part) for part in command], **told(options)) as process:
        try:
            output = process.stdout.read()
            _, status, used = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            raise
        process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, output, used.ru_utime + used.ru_stime


def parallel(function, items):
    """[(item, function(item))], computed on all processors, in the order of items."""
    items = list(items)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(zip(items, pool.map(function, items)))


def sources(*folders, suffixes=(".hpp", ".inc", ".cuh", ".cpp", ".cu"), root=ROOT):
    """The C++ files of these folders, sorted."""
    return sorted(path for folder in folders for path in (root / folder).rglob("*") if path.suffix in suffixes)


def main(check):
    """Runs check(report), unless the time of the run is over (`scripts/test --within`), and exits as the report says."""
    report = Report()
    if time.time() > float(os.environ.pop("LOCUS_TEST_UNTIL", "inf")):  # not for the programs that a check runs
        report.skip(pathlib.Path(sys.argv[0]).name, TOO_LATE)
    else:
        check(report)
    sys.exit(report.finish())
