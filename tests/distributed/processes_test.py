#!/usr/bin/env python3
"""Ranks that are processes: processes.cpp, started by mpirun, or without MPI, connected through an address.

    processes_test.py [--runs N]     N runs of every fault (default: few; with 20, some six minutes)

The processes compare values themselves. This test checks that each ends with the expected status, and in time.
"""

import argparse
import itertools
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import common  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
# {fault: default number of runs}. Faults with one run wait for time-outs.
FAULTS = {"throw": 10, "flight": 10, "debug": 5, "backward": 5, "leave": 5, "recv": 5, "stall": 1, "order": 1, "kill": 3}
RANKS = 3  # the last one is at fault
SECONDS = 60
WITHOUT = """
#include <locus/distributed/distributed.hpp>
#include <cstdio>
int main() {
  try {
    (void)locus::dist::mpi<locus::Cpu>();
  } catch (const locus::EngineUnavailable& error) {
    std::puts(error.what());
    return 0;
  }
  return 1;
}
"""


def mpirun(ranks, program, *arguments, options=()):
    """(the problem of a run, or None; its output)"""
    status, output = common.run(["timeout", "--kill-after=5", str(SECONDS), "mpirun", "--oversubscribe", "--allow-run-as-root",
                                 *options, "-n", str(ranks), program, *arguments], env={"OMP_NUM_THREADS": "1"})
    return f"status {status}\n{output}" if status else None, output


def mpirun_on(ranks, program, *arguments):
    """The same with an mpirun that keeps the other ranks alive when one fails."""
    return mpirun(ranks, program, *arguments, options=["--enable-recovery"])


def free_port(calls=itertools.count()):
    """A port of 127.0.0.1 as free_port.hpp finds it: below those of outgoing connections, which may take theirs at any time."""
    for call in calls:
        port = 12000 + (61 * os.getpid() + call) % 20000
        with socket.socket() as free:
            free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                free.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass  # in use


def tcp(ranks, program, *arguments):
    """The same by TCP."""
    port = free_port()
    processes = []
    for rank in range(ranks):
        env = dict(os.environ, OMP_NUM_THREADS="1", MASTER_PORT=str(port), WORLD_SIZE=str(ranks), RANK=str(rank),
                   LOCUS_DIST_SECRET="known to all ranks of this run")
        processes.append(subprocess.Popen(["timeout", "--kill-after=5", str(SECONDS), program, *arguments], env=env,
                                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
    outputs = [process.communicate()[0] for process in processes]
    failed = [f"rank {rank}: status {process.returncode}" for rank, process in enumerate(processes) if process.returncode
              and not (arguments[:1] == ("kill",) and rank == ranks - 1)]
    return "\n".join(failed + outputs) if failed else None, "".join(outputs)


def check_fault(report, start, program, fault, runs):
    """In each run, every rank but the last names the failed rank; none waits for a dead rank, and no process
    remains."""
    name = f"fault: {fault}, {start.__name__}"
    at_once = 1 if fault in ("kill", "stall", "order") else runs
    if at_once == 1 and start is mpirun:
        start = mpirun_on
    for _ in range(0, runs, at_once):
        begin = time.monotonic()
        problem, output = start(RANKS, program, fault, str(at_once))
        seconds = time.monotonic() - begin
        named = [len(re.findall(rf"^rank {rank} names rank", output, re.MULTILINE)) for rank in range(RANKS - 1)]
        if not problem and named != [at_once] * (RANKS - 1):
            problem = f"ranks named the one at fault {named} times, expected {at_once} each\n{output}"
        if not problem and seconds > 10 + 2 * at_once:
            problem = f"took {seconds:.0f} s"
        if not problem and (left := left_over(program)):
            problem = f"processes are left: {left}"
        if problem:
            return report.fail(name, problem)
    report.ok(name)


def left_over(program):
    """Processes of the program that still run."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "exe").resolve() == program:
                found.append(folder.name)
        except OSError:
            pass
    return found


def check_without(report, folder):
    source, program = folder / "without.cpp", folder / "without"
    source.write_text(WITHOUT)
    status, output = common.run(["g++", *common.CXX, *common.INCLUDES, "-DLOCUS_MPI=0", source, "-o", program, "-lz"])
    if not status:
        status, output = common.run([program])
        if "apt-get install libopenmpi-dev" not in output:
            status = 1
    report.add("a program without MPI", output or "failed" if status else None)


def check(report, runs):
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch).resolve()
        check_without(report, folder)
        has_mpi = shutil.which("mpicxx") and shutil.which("mpirun")
        program = folder / "processes"
        compiler = ["mpicxx"] if has_mpi else ["g++", "-DLOCUS_MPI=0"]
        status, output = common.run([*compiler, *common.CXX, *common.INCLUDES, "-Wall", "-Wextra", "-Wshadow", "-Wconversion",
                                     "-Werror", f"-I{HERE.parent}", HERE / "processes.cpp", "-o", program, "-lz", "-pthread"])
        if status:
            return report.fail("processes.cpp", output)
        for start in (mpirun, tcp):
            if start is mpirun and not has_mpi:
                report.skip("ranks of mpirun", "no MPI here")
                continue
            for ranks in (1, 2, 4):
                report.add(f"collectives of {ranks} processes, {start.__name__}", start(ranks, program)[0])
            report.add(f"late elements, {start.__name__}", start(RANKS, program, "late")[0])
            for fault, few in FAULTS.items():
                check_fault(report, start, program, fault, runs or few)
        if has_mpi:
            begin = time.monotonic()
            problem, _ = mpirun(RANKS, program, "kill")
            seconds = time.monotonic() - begin
            report.add("mpirun ends all when one is killed", None if problem and seconds < 20 else f"after {seconds:.0f} s")
        report.add("no process is left", ", ".join(left_over(program)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=0)
    arguments = parser.parse_args()
    common.main(lambda report: check(report, arguments.runs))
