#!/usr/bin/env python3
"""Ranks that are processes: mpi_ranks.cpp, compiled by mpicxx and started by mpirun, and programs that are built without MPI.

Values are compared by the processes themselves. Here it is seen that they end, each as it should, and in time.
"""

import pathlib
import shutil
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import common  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
# {fault: how often}. Those of few runs wait for time-outs.
FAULTS = {"throw": 20, "debug": 20, "backward": 20, "leave": 3, "stall": 2, "order": 2}
SECONDS = 60
WITHOUT = """
#include <locus/dist/dist.hpp>
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


def mpirun(ranks, program, *arguments):
    """What is wrong with a run, its status, and its seconds."""
    begin = time.monotonic()
    status, output = common.run(["timeout", "--kill-after=5", str(SECONDS), "mpirun", "--oversubscribe", "--allow-run-as-root",
                                 "-n", str(ranks), program, *arguments], env={"OMP_NUM_THREADS": "1"})
    return (f"status {status}\n{output}" if status else None), status, time.monotonic() - begin


def left_over(program):
    """Processes of a program that still run."""
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


def check(report):
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch).resolve()
        check_without(report, folder)
        if not shutil.which("mpicxx") or not shutil.which("mpirun"):
            return report.skip("ranks of mpirun", "no MPI here")
        program = folder / "mpi_ranks"
        status, output = common.run(["mpicxx", *common.CXX, *common.INCLUDES, "-Wall", "-Wextra", "-Wshadow", "-Wconversion",
                                     "-Werror", f"-I{HERE.parent}", HERE / "mpi_ranks.cpp", "-o", program, "-lz"])
        if status:
            return report.fail("mpi_ranks.cpp", output)
        for ranks in (1, 2, 4):
            report.add(f"collectives of {ranks} processes", mpirun(ranks, program)[0])
        for fault, runs in FAULTS.items():
            report.add(f"fault: {fault}", mpirun(3, program, fault, str(runs))[0])
        _, status, seconds = mpirun(3, program, "die", "1")
        problem = None if status not in (0, 124) and seconds < SECONDS / 2 else f"status {status} after {seconds:.0f} s"
        report.add("fault: die", problem)
        report.add("no process is left", ", ".join(left_over(program)))


if __name__ == "__main__":
    common.main(check)
