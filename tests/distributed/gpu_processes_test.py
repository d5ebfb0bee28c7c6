#!/usr/bin/env python3
"""Ranks that are processes with a simulated GPU each: gpu_processes.cpp, whose elements travel through CUDA-aware MPI,
through page-locked memory and MPI, and through page-locked memory and TCP."""

import pathlib
import shutil
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "tools"), str(TESTS / "cuda"), str(TESTS / "distributed")]
import common  # noqa: E402
import processes_test  # noqa: E402
import simulated_test  # noqa: E402

RANKS = 3


def build(folder, toolkit):
    """(the program, the error or None)"""
    simulator = simulated_test.Simulator(folder, toolkit)
    runtime, program = folder / "runtime.o", folder / "gpu_processes"
    flags = [part for part in common.run(["mpicxx", "--showme:compile"])[1].split()]
    links = [part for part in common.run(["mpicxx", "--showme:link"])[1].split()]
    for source, target in ((simulated_test.HERE / "runtime.cpp", runtime), (TESTS / "distributed" / "gpu_processes.cpp", f"{program}.o")):
        status, output = common.run([*simulator.compiler, *flags, "-c", source, "-o", target])
        if status:
            return program, output[:3000]
    status, output = simulator.link([f"{program}.o", runtime, *links], program)
    return program, output if status else None


def check(report):
    toolkit = simulated_test.toolkit_headers()
    if not toolkit or not shutil.which("mpicxx") or not shutil.which("mpirun"):
        return report.skip("processes with a GPU", "no CUDA toolkit, or no MPI, here")
    with tempfile.TemporaryDirectory() as scratch:
        program, problem = build(pathlib.Path(scratch).resolve(), toolkit)
        if problem:
            return report.fail("gpu_processes.cpp", problem)
        ways = {"MPI that takes memory of GPUs": (processes_test.mpirun, ["-x", "LOCUS_MPI_CUDA_AWARE=1"]),
                "MPI": (processes_test.mpirun, ["-x", "LOCUS_MPI_CUDA_AWARE=0"]), "TCP": (processes_test.tcp, None)}
        for way, (start, options) in ways.items():
            problem, output = start(RANKS, program, **({"options": options} if options else {}))
            named = output.count(f"names rank {RANKS - 1}")
            report.add(way, problem or (None if named == RANKS - 1 else f"{named} ranks name the one at fault\n{output}"))


if __name__ == "__main__":
    common.main(check)
