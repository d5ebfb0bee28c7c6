#!/usr/bin/env python3
"""examples/self_check on the simulated Cuda device: it passes there, and says what is wrong where something is.

The device is that of simulated_test.py; what is broken on purpose, LOCUS_SIMULATED_FAULT names. Takes about 40 seconds.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import simulated_test  # noqa: E402
import common  # noqa: E402  (simulated_test says where it is)

PASSED, FAILED, NO_GPU = 0, 1, 77
PARTS = 17
VERSIONS = r"cuda:0: Simulated GPU, sm_90; driver .*, for CUDA \d+\.\d\nCUDA runtime \d+\.\d+; cuBLASLt \d+\.\d+\.\d+\n"


def part(name, state):
    """A line of the program's report, as an expression."""
    return rf"^{re.escape(name)} +{state}"


# What is broken: (exit status, what the report says).
FAULTS = {
    "": (PASSED, [rf"\A{VERSIONS}", part("map, contiguous", "ok "), part("a captured training step, replayed", "ok "),
                  r"^all parts passed$"]),
    "lost_shuffle": (FAILED, [rf"\A{VERSIONS}", part("map, contiguous", "ok "),
                              part("for_each_row, short rows", r"FAILED  error \S+; at most 1e-05 was expected"),
                              r"parts failed: cuda:0 does not compute what the host computes$"]),
    "wrong_product": (FAILED, [part("map, contiguous", "ok "), part("gemm, float32", "FAILED  error "),
                               part("gemm, bfloat16", "FAILED "), part("sort", "ok "),
                               part("linear layers, forward and backward", "FAILED ")]),
    "illegal_address": (FAILED, [rf"\A{VERSIONS}", part("map, contiguous", "FAILED .*cudaErrorIllegalAddress.*compute-sanitizer"),
                                 r"^The GPU no longer answers this program: the parts after this one did not run\.$",
                                 r"^1 part failed: cuda:0"]),
    "no_device": (NO_GPU, [r"\Acuda:0: none; ", r"no usable GPU: cuda:0: the NVIDIA driver \(CUDA .*\) shows no GPU to this "
                           r"program: check nvidia-smi and CUDA_VISIBLE_DEVICES"]),
    "no_driver": (NO_GPU, [r"no NVIDIA driver answers .*needs one for CUDA \d+\.\d or newer: install it, or run on Cpu"]),
    "old_driver": (NO_GPU, [r"driver .*, for CUDA 11\.8$", r"the NVIDIA driver is for CUDA 11\.8 and this program for CUDA "
                            r"(\d+\.\d): update the driver to one for CUDA \1 or newer"]),
    "no_code": (NO_GPU, [r"\Acuda:0: Simulated GPU, sm_70; ", part("copy", "ok "), part("map, contiguous", "not possible$"),
                         r"no usable GPU: .*this program has no code that cuda:0, of architecture sm_70, can run: compile "
                         r"with .*nvcc -arch=sm_70 .*, or run on Cpu"]),
}


def problem_of(program, fault, expected):
    """What is wrong with the report of a run; None: nothing."""
    wanted_status, wanted = expected
    status, output = common.run([program], env={"LOCUS_SIMULATED_FAULT": fault, "ASAN_OPTIONS": "detect_leaks=0"})
    missing = [text for text in wanted if not re.search(text, output, re.MULTILINE)]
    if status == wanted_status and not missing and (fault or output.count(" ok ") == PARTS):
        return None
    return f"status {status}, expected {wanted_status}; not found: {missing}\n{output}"


def last_part(program, fault, seconds):
    """(exit status or None where it ran out of time, the last line) of a program that ends, or does not, in a part."""
    with open(program.parent / f"{fault}.log", "w+") as log:
        try:
            status = subprocess.run([program], env={"LOCUS_SIMULATED_FAULT": fault}, stdout=log, stderr=log,
                                    timeout=seconds).returncode
        except subprocess.TimeoutExpired:
            status = None
        log.seek(0)
        return status, log.read().splitlines()[-1].strip()


def check(report):
    toolkit = simulated_test.toolkit_headers()
    if not toolkit or not shutil.which("g++"):
        return report.skip("self-check", "needs g++ and the headers of a CUDA toolkit")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        simulator = simulated_test.Simulator(folder, toolkit, sanitize=False)
        program = folder / "self_check"
        sources = [common.ROOT / "examples" / "self_check.cpp", simulated_test.HERE / "runtime.cpp"]
        status, output = common.run([*simulator.compiler, *sources, "-lpthread", "-lz", "-o", program])
        if status:
            return report.fail("self-check (compiling)", "\n".join(output.splitlines()[:40]))
        for fault, problem in common.parallel(lambda item: problem_of(program, *item), FAULTS.items()):
            report.add(f"self-check, broken: {fault[0] or 'nothing'}", problem)
        # What ends the program, or keeps it from ending, is the last thing that it names.
        for fault, wanted in {"crash": -11, "hang": None}.items():
            found = last_part(program, fault, 5)
            report.add(f"self-check, broken: {fault}", None if found == (wanted, "map, contiguous") else f"{found}")


if __name__ == "__main__":
    common.main(check)
