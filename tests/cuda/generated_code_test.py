#!/usr/bin/env python3
"""What nvcc makes of canonical kernels: 128-bit accesses where operands are dense, no local memory anywhere."""

import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import common  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parent / "canonical_kernels.cu"
VECTOR = r"\.global\.v(?:4\.[bfsu]32|2\.[bfsu]64)"


def bodies(ptx):
    """{mangled name: body} of every kernel."""
    return dict(re.findall(r"\.entry (\w+)\((?:.*?)\n\{\n(.*?)\n\}", ptx, re.DOTALL))


def check_accesses(report, ptx):
    contiguous = {name: body for name, body in bodies(ptx).items() if "map_contiguous" in name}
    report.add("contiguous kernels found", None if len(contiguous) >= 6 else f"{len(contiguous)}, expected 6 or more")
    for name, body in contiguous.items():
        loads, stores = len(re.findall("ld" + VECTOR, body)), len(re.findall("st" + VECTOR, body))
        narrow = len(re.findall(r"ld\.global\.(?!v)", body))
        problem = None
        if loads < 1 or stores < 1:
            problem = f"{loads} 128-bit loads, {stores} 128-bit stores; expected one of each at least"
        elif narrow > 2:
            problem = f"{narrow} narrow loads; expected those of one leftover element (one per input) alone"
        report.add(f"{name}: accesses", problem)


def check_resources(report, text):
    """text: what ptxas -v says."""
    found = re.findall(r"Function properties for (\w+)\s+(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes "
                       r"spill loads\s+.*?Used (\d+) registers", text)
    report.add("kernels reported on", None if len(found) >= 20 else f"{len(found)}, expected 20 or more")
    for name, stack, stores, loads, registers in found:
        local = int(stack) + int(stores) + int(loads)
        report.add(f"{name}: local memory",
                   f"{stack} bytes of stack, {stores} + {loads} bytes spilled, {registers} registers" if local else None)


def check(report):
    nvcc = common.find_nvcc()
    if not nvcc:
        return report.skip(SOURCE.name, "nvcc is not here")
    with tempfile.TemporaryDirectory() as folder:
        ptx = pathlib.Path(folder) / "kernels.ptx"
        status, output = common.run([nvcc, *common.CXX, "-arch=sm_90", "-O2", "-Werror", "all-warnings",
                                     *common.INCLUDES, f"-I{common.ROOT / 'cuda_kernels'}", "-ptx", SOURCE, "-o", ptx])
        if status:
            return report.fail(f"{SOURCE.name} (nvcc -ptx)", output)
        check_accesses(report, ptx.read_text())
        ptxas = pathlib.Path(nvcc).resolve().parent / "ptxas"
        status, output = common.run([ptxas, "-arch=sm_90", "-v", ptx, "-o", pathlib.Path(folder) / "kernels.cubin"])
        if status:
            return report.fail(f"{SOURCE.name} (ptxas)", output)
        check_resources(report, output)


if __name__ == "__main__":
    common.main(check)
