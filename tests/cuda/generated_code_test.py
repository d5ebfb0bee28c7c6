#!/usr/bin/env python3
"""nvcc's code for the kernels of canonical_kernels.cu, checked without a GPU: full-width accesses for dense operands,
no local memory, no unintended double arithmetic, registers and instructions within the budgets of kernels.txt, and the
expected set of kernels per expression.

generated_code_test.py [--write]     rewrites kernels.txt
"""

import argparse
import collections
import pathlib
import re
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tools"), str(HERE)]
import common  # noqa: E402
import kernels  # noqa: E402

SOURCE, RECORD = HERE / "canonical_kernels.cu", HERE / "kernels.txt"
ARCHITECTURES = ("sm_80", "sm_90")
REWRITE = "if that is as it should be, tests/cuda/generated_code_test.py --write records it"
TOLERANCE = 0.1  # of the recorded registers and instructions, to allow for other patch releases of a toolkit

# From cuda_kernels/locus/cuda/launch_plan.hpp and indexing.hpp.
BYTES_IN_FLIGHT = {"sm_80": 16 << 10, "sm_90": 48 << 10}
MAP_THREADS = 256

# Kernels that use double on purpose: arange places the last of a million floats exactly, and powers of numbers close to
# 1 keep their digits.
COUNTS_IN_DOUBLE = ("ArangeElement", "CountStep")

# Kernels that also read memory at computed places: a scan its neighbours, a bisection a list of ends; and steps by
# corrections from memory, of which a rule may leave one unread. Only their stores are checked.
LOADS_ELSEWHERE = ("ScanPass", "SourceOfRepeat", "StepUnless", "StepOfGroups")


def launch_of_map(functor):
    """The kernels of a map: for dense operands, for operands dense in the innermost dimension alone, and for any
    operands."""
    return {f"map {way}: {functor}" for way in ("contiguous", "vectors", "elements")}


# For functors with resident_blocks, a multiprocessor hosts two blocks of long rows, with 64 registers per thread.
# Measured on an H200, the spills cost less than half of the threads would.
LONG_ROWS = ("RegisterRows<16>", "MemoryRows")
MOST_SPILLED = 200  # bytes


def launch_of_rows(functor):
    """The kernels of a row launch: for rows of up to one, eight or sixteen columns per thread, and for rows that exceed
    registers."""
    return {f"rows by team: {storage}, {functor}" for storage in ("RegisterRows<1>", "RegisterRows<8>", *LONG_ROWS)}


NEVER_LAUNCHED = "any kernel: void"  # in every program, to query whether the GPU can run it

# The kernels that an expression of Tensor<float, Cuda> compiles: exactly the kernels of the launches that it may make.
EXPRESSIONS = {
    "Floats y = relu(a * b + 2)": launch_of_map("relu(x0 * x1 + c), float"),
    # One launch, unless the expression was computed before.
    "Floats y = sum(a * b)": {"reduce: sum(x0 * x1), float", "reduce: sum(x0), float"} | launch_of_map("x0 * x1, float"),
    "Floats y = sum(a)": {"reduce: sum(x0), float"},
    # The copy materializes rows that are a view.
    "Floats y = softmax(a, -1)": launch_of_rows("SoftmaxRow<float, false>") | launch_of_map("copy, float")
    | {"transpose tiles of 1: unsigned int"},
}


def accesses_of(operands, width, vectors):
    """Accesses of every operand: this number of vectors, and one element if a vector has several."""
    expected = collections.Counter()
    for size in kernels.sizes(operands):
        expected.update({width * size: vectors})
        expected.update({size: int(width > 1)})
    return +expected


def vectors_of_a_thread(kernel, body):
    """The number of vectors of every operand that a contiguous kernel accesses, followed by one element, without
    repetition; 0 if its accesses differ from this pattern."""
    loads, stores = (kernels.accesses(body, kind) for kind in ("ld", "st"))
    if "random_bits" in kernel.functor:
        loads.pop(8, None)  # in a captured step, seed and offset of the draw, which are no operand
    checked = [(stores, kernel.outputs)]
    if not kernel.functor.startswith(LOADS_ELSEWHERE):
        checked.append((loads, kernel.inputs))
    for n in range(1, 9):
        if all(found == accesses_of(operands, kernel.width, n) for found, operands in checked):
            return n
    return 0


def access_problem(kernel, body):
    if vectors_of_a_thread(kernel, body):
        return None
    return (f"loads {dict(kernels.accesses(body, 'ld'))}, stores {dict(kernels.accesses(body, 'st'))} (bytes: how often); "
            f"expected of every operand as many vectors of {kernel.width} elements, and a single one")


def in_flight_problem(kernel, vectors, registers, arch):
    """The resident threads of a multiprocessor must request enough bytes to keep its memory busy; for a kernel that
    does not, bulk copies through shared memory would be faster."""
    loaded, stored = (sum(kernels.sizes(operands)) for operands in (kernel.inputs, kernel.outputs))
    if not loaded:
        return None
    share = min(1, 2 * loaded / (loaded + stored))  # relative to a copy, for which BYTES_IN_FLIGHT holds
    found = kernels.resident_threads(registers, MAP_THREADS) * vectors * kernel.width * loaded
    if found >= share * BYTES_IN_FLIGHT[arch]:
        return None
    return f"{found} bytes in flight in a multiprocessor; its memory is busy from {share * BYTES_IN_FLIGHT[arch]:.0f} on"


def check_accesses(report, found, ptx):
    """found: {mangled name: kernel}"""
    for name, body in ptx.items():
        kernel = found[name]
        if kernel.is_contiguous:
            report.add(f"{kernel.name}: accesses", access_problem(kernel, body))
        if kernel.name.startswith(("attention forward", "attention query", "attention key")):
            report.add(f"{kernel.name}: products", product_problem(body))
        if kernel.has_double or kernel.functor.startswith(COUNTS_IN_DOUBLE):
            continue
        doubles = kernels.double_arithmetic(body)
        report.add(f"{kernel.name}: arithmetic", doubles and f"computes in double: {doubles[0]}")


def product_problem(body):
    """Attention multiplies tiles: every loop of multiply-adds reads four neighbours at a time from shared memory, and uses
    each at least eight times."""
    blocks = re.split(r"^\$\w+:", body, flags=re.MULTILINE)
    loops = [block for block in blocks if block.count("fma.rn.f32") >= 64 and "ld.shared" in block]
    if len(loops) < 2:
        return f"{len(loops)} loops of multiply-adds; expected 2 or more"
    for loop in loops:
        used, quads = loop.count("fma.rn.f32"), loop.count("ld.shared.v4.f32")
        if len(re.findall(r"\bld\.(?!param)", loop)) != quads or used < 8 * quads:
            return f"{used} multiply-adds of {quads} quads of shared memory, among {loop.count(chr(10))} instructions"
    return None


def check_in_flight(report, found, ptx, rows):
    """ptx: {architecture: {mangled name: body}}"""
    for arch, bodies in ptx.items():
        for name, body in bodies.items():
            kernel = found[name]
            if kernel.is_contiguous and (vectors := vectors_of_a_thread(kernel, body)):
                report.add(f"{kernel.name}: bytes in flight on {arch}",
                           in_flight_problem(kernel, vectors, rows[kernel.name][arch], arch))


def check_names(report, found):
    twice = [name for name, count in collections.Counter(x.name for x in found.values()).items() if count > 1]
    report.add("every kernel has a name of its own", "\n".join(twice))


def rows_of(found, ptx, reports, code):
    """{name: {column: number}}; reports: {architecture: output of ptxas -v}; code: {mangled name: instructions}"""
    resources = {arch: kernels.resources(text) for arch, text in reports.items()}
    rows = {}
    for mangled, kernel in found.items():
        each = [resources[arch][mangled] for arch in reports]
        rows[kernel.name] = {arch: of["registers"] for arch, of in zip(reports, each)}
        rows[kernel.name].update({column: max(of[column] for of in each) for column in ("shared", "stack", "spills")})
        rows[kernel.name].update(load=max(kernels.accesses(ptx[mangled], "ld"), default=0),
                                 store=max(kernels.accesses(ptx[mangled], "st"), default=0), code=code[mangled])
    return rows


def row_problem(name, row, recorded):
    """The problem of a kernel compared with its row of the record, or None."""
    may_spill = name.startswith(tuple(f"rows by team: {storage}," for storage in LONG_ROWS)) and row["sm_90"] == 64
    may_spill |= name.startswith("attention ") and row["sm_80"] >= 168  # tiles take most registers of a thread
    if row["spills"] > (MOST_SPILLED if may_spill else 0) or (row["stack"] and not may_spill):
        return f"local memory: {row['stack']} bytes of stack, {row['spills']} bytes spilled"
    if recorded is None:
        return f"is not in {RECORD.name}; {REWRITE}"
    for column in kernels.COLUMNS:
        if column in (*ARCHITECTURES, "code"):
            if row[column] > recorded[column] * (1 + TOLERANCE):
                unit = "instructions" if column == "code" else f"registers on {column}"
                return f"{row[column]} {unit}, {recorded[column]} on record; {REWRITE}"
        elif row[column] != recorded[column]:
            return f"{column}: {row[column]} bytes, {recorded[column]} on record; {REWRITE}"
    return None


def check_rows(report, rows, recorded, same_release=True):
    """Local memory always fails; resources are compared only with a record of the same release of nvcc."""
    for name, row in sorted(rows.items()):
        report.add(f"{name}: resources", row_problem(name, row, recorded.get(name) if same_release else row))
    gone = sorted(set(recorded) - set(rows))
    report.add("the record has no other kernels", gone and "\n".join(gone) + f"\nare no longer; {REWRITE}")


def release_of(nvcc):
    return common.run([nvcc, "--version"])[1].split("release ")[1].split(",")[0]


def compile_ptx(nvcc, source, target, arch):
    """The errors of nvcc; empty if it succeeds."""
    status, output = common.run([nvcc, *common.CXX, f"-arch={arch.replace('sm', 'compute')}", "-O2", "-Werror", "all-warnings",
                                 *common.INCLUDES, f"-I{common.ROOT / 'cuda_kernels'}", "-DLOCUS_ZLIB=0", "-ptx", source,
                                 "-o", target])
    return output or "failed" if status else ""


def check_canonical(report, nvcc, folder, write):
    ptxas = pathlib.Path(nvcc).resolve().parent / "ptxas"
    reports, ptx = {}, {}
    for arch in ARCHITECTURES:
        target = folder / f"{arch}.ptx"
        if problem := compile_ptx(nvcc, SOURCE, target, arch):
            return report.fail(f"{SOURCE.name} (nvcc, {arch})", problem)
        status, reports[arch] = common.run([ptxas, f"-arch={arch}", "-v", target, "-o", folder / "kernels.cubin"])
        if status:
            return report.fail(f"{SOURCE.name} (ptxas, {arch})", reports[arch])
        ptx[arch] = kernels.bodies(target.read_text())
    found = kernels.demangle(ptx[ARCHITECTURES[0]])
    check_names(report, found)
    for arch in ARCHITECTURES:
        check_accesses(report, found, ptx[arch])
    code = kernels.instructions((folder / "kernels.cubin").read_bytes())  # of the last architecture
    rows = rows_of(found, ptx[ARCHITECTURES[-1]], reports, code)
    check_in_flight(report, found, ptx, rows)
    release = release_of(nvcc)
    if write:
        RECORD.write_text(kernels.write_record(rows, release))
    recorded, of_release = kernels.read_record(RECORD.read_text())
    if release != of_release:
        report.skip("registers against their budgets", f"{RECORD.name} is of nvcc {of_release}, and this is {release}")
    check_rows(report, rows, recorded, release == of_release)


def check_expressions(report, nvcc, folder):
    for expression, expected in EXPRESSIONS.items():
        source, target = folder / "expression.cu", folder / "expression.ptx"
        source.write_text("#include <locus/locus.hpp>\nusing namespace locus;\nusing Floats = Tensor<float, Cuda>;\n"
                          f"Floats of(const Floats& a, const Floats& b) {{ (void)a, (void)b; {expression}; return y; }}\n")
        problem = compile_ptx(nvcc, source, target, ARCHITECTURES[-1])
        found = {kernel.name for kernel in kernels.demangle(kernels.bodies(target.read_text())).values()} if not problem else ()
        found = set(found) - {NEVER_LAUNCHED}
        report.add(expression, problem or kernels_problem(found, expected))


def kernels_problem(found, expected):
    if found == expected:
        return None
    return f"{len(found)} kernels, expected {len(expected)}\n" + "\n".join(
        [f"too many: {name}" for name in sorted(found - expected)] + [f"missing: {name}" for name in sorted(expected - found)])


def check(report, write=False):
    nvcc = common.find_nvcc()
    if not nvcc:
        return report.skip(SOURCE.name, "nvcc is not here")
    with tempfile.TemporaryDirectory() as folder:
        check_canonical(report, nvcc, pathlib.Path(folder), write)
        check_expressions(report, nvcc, pathlib.Path(folder))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    common.main(lambda report: check(report, options.write))
