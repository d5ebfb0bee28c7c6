#!/usr/bin/env python3
"""The ways to start ranks: one program as threads, under mpirun, and by a launcher that sets RANK and WORLD_SIZE.
Faults: a wrong number of ranks, a host file with too few slots, no MPI, and a rank that does not start."""

import os
import shutil
import sys
import tempfile
import time
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tools")]
import common  # noqa: E402
import processes_test  # noqa: E402

MPIRUN = ["mpirun", "--allow-run-as-root"]
THREE = "3 ranks, whose sum is 3\n"
SECONDS = 20


def expect(report, name, command, status, *texts):
    """One run: checks its exit status, its output, and that it ends soon."""
    begin = time.monotonic()
    env = {"OMP_NUM_THREADS": "1", "LOCUS_DIST_TIMEOUT": "2" if "absent" in command else "30"}
    ended, output = common.run(["timeout", "--kill-after=5", "60", *command], env=env)
    seconds = time.monotonic() - begin
    sound = bool(ended) == status and any(text in output for text in texts) and seconds < SECONDS
    report.add(name, None if sound else f"status {ended} after {seconds:.0f} s, expected {' or '.join(texts)}\n{output}")


def compile_program(report, compiler, program):
    status, output = common.run([*compiler, *common.CXX, *common.INCLUDES, "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror",
                                 HERE / "launched.cpp", "-o", program, "-lz", "-pthread"])
    if status:
        report.fail(f"launched.cpp: {compiler[0]}", output)
    return not status


def check_without_mpi(report, program, has_mpirun):
    expect(report, "threads", [program, "3"], False, THREE)
    expect(report, "one rank where nothing is said", [program], False, "1 ranks, whose sum is 0\n")
    problem, output = processes_test.tcp(3, program)
    report.add("a launcher's variables", problem or (None if THREE in output else output))
    problem, output = processes_test.tcp(3, program, "2")
    report.add("a launcher's variables, another number", None if "2 ranks, but a launcher started 3" in output else output)
    os.environ["LOCUS_DIST_TIMEOUT"] = "2"
    problem, output = processes_test.tcp(3, program, "0", "absent")
    os.environ.pop("LOCUS_DIST_TIMEOUT")
    report.add("a rank that does not come", None if output.count("did not come within 2 seconds: 2") == 2 else output)
    if has_mpirun:
        expect(report, "mpirun of a program without MPI", [*MPIRUN, "--oversubscribe", "-n", "3", program], True,
               "each of the 3 processes that mpirun started would be rank 0 of 1")


def check_mpi(report, program, folder):
    hosts = folder / "hosts"
    hosts.write_text("localhost slots=2\n")
    run = [*MPIRUN, "--oversubscribe", "-n", "3", program]
    expect(report, "mpirun", run, False, THREE)
    expect(report, "mpirun, the same number", [*run, "3"], False, THREE)
    expect(report, "mpirun, another number", [*run, "2"], True, "2 ranks, but mpirun started 3 processes")
    expect(report, "a host file", [*MPIRUN, "--hostfile", hosts, "-n", "2", program], False, "2 ranks, whose sum is 1\n")
    expect(report, "more ranks than a host file has slots for", [*MPIRUN, "--hostfile", hosts, "-n", "3", program], True,
           "not enough slots")
    expect(report, "a rank that ends before it meets the others", [*run, "0", "absent"], True,
           "MPI has not started within 2 seconds", "exiting improperly")  # mpirun's words, if it notices first


def check(report):
    has_mpi = shutil.which("mpicxx") and shutil.which("mpirun")
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch).resolve()
        program = folder / "without_mpi"
        if compile_program(report, ["g++", "-DLOCUS_MPI=0"], program):
            check_without_mpi(report, program, has_mpi)
        if not has_mpi:
            return report.skip("ranks of mpirun", "no MPI here")
        program = folder / "with_mpi"
        if compile_program(report, ["mpicxx"], program):
            check_mpi(report, program, folder)
            report.add("no process is left", ", ".join(processes_test.left_over(program)))


if __name__ == "__main__":
    common.main(check)
