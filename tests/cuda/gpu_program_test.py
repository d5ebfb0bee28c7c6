#!/usr/bin/env python3
"""Runs a program that needs a GPU: with a GPU, it must succeed; without one, it must exit with 77 and say why.

    gpu_program_test.py PROGRAM [ARGUMENT...]
"""

import pathlib
import re
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / folder) for folder in ("tests/tools", "scripts/lib")]
import common  # noqa: E402
import machine  # noqa: E402

NO_GPU = 77


def has_gpu():
    return "no_gpu" not in machine.describe_gpus()


def problem_of(command):
    """How the program's end differs from the expected one, or None."""
    status, output = common.run(command)
    says_why = re.search(r"^\w+: no usable GPU: .*(install|update|compile|check|run on Cpu)", output, re.MULTILINE)
    if status == 0 and has_gpu() or status == NO_GPU and says_why and not has_gpu():
        return None
    return f"ended with status {status} on a machine {'with' if has_gpu() else 'without'} a GPU\n{output[-6000:]}"


if __name__ == "__main__":
    common.main(lambda report: report.add(pathlib.Path(sys.argv[1]).name, problem_of(sys.argv[1:])))
