#!/usr/bin/env python3
"""ONNX's node tests, which the Python package onnx makes: each is a model with inputs and expected outputs. The cases of
onnx_nodes.txt pass; every other one names the operator or attribute that Locus lacks, or another reason.

usage: onnx_nodes_test.py PROGRAM [--write] [--keep FOLDER]
PROGRAM is the test program of tests/models/onnx_test.cpp. --write rewrites onnx_nodes.txt; --keep writes the cases to a
folder that stays.
"""

import argparse
import os
import pathlib
import re
import sys
import tempfile
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tools"), str(HERE)]
import common  # noqa: E402
import onnx_packages  # noqa: E402

try:
    import numpy
    import onnx
    from onnx import numpy_helper
except ImportError:
    pass  # until the program is started again, with the packages

LIST = HERE / "onnx_nodes.txt"
HEADER = "# ONNX's node tests that Locus passes; onnx_nodes_test.py --write makes the list, with onnx {}.\n"
# Tolerances of a case, but at least these: expected values are rounded to float.
LEAST_RTOL, LEAST_ATOL = 1e-3, 1e-5
RUN_CASES = ["--test-case=cases of the packages of ONNX", "--no-skip"]


def tensor(value, name):
    """A TensorProto of a value. raises TypeError for sequences and the like"""
    if isinstance(value, onnx.TensorProto):
        result = onnx.TensorProto()
        result.CopyFrom(value)
    elif isinstance(value, (list, tuple, dict)) or value is None:
        raise TypeError(f"{name} is no tensor")
    else:
        result = numpy_helper.from_array(numpy.asarray(value))
    result.name = name
    return result


def write_case(path, model, data, rtol, atol):
    """A folder that support/onnx_case.hpp runs. data: tensors with the names "in:..." and "out:..." """
    path.mkdir(parents=True, exist_ok=True)
    (path / "model.onnx").write_bytes(model.SerializeToString())
    values = onnx.helper.make_model(onnx.helper.make_graph([], "data", [], [], data))
    (path / "data.onnx").write_bytes(values.SerializeToString())
    (path / "tolerances").write_text(f"{rtol} {atol}\n")
    return path


def write_cases(folder):
    """A folder for each case whose inputs and outputs are tensors. Returns the folders, and how many cases there are."""
    from onnx.backend.test.case.node import collect_testcases

    numpy.random.seed(0)
    with warnings.catch_warnings(action="ignore"):  # of numpy, where a case divides by zero
        folders, cases = [], collect_testcases(None)
    for case in cases:
        graph = case.model.graph
        inputs, outputs = case.data_sets[0]
        try:
            data = [tensor(value, "in:" + info.name) for info, value in zip(graph.input, inputs)]
            data += [tensor(value, "out:" + info.name) for info, value in zip(graph.output, outputs)]
        except (TypeError, ValueError):
            continue
        folders.append(write_case(folder / case.name, case.model, data, max(case.rtol, LEAST_RTOL), max(case.atol, LEAST_ATOL)))
    return folders, len(cases)


def run_cases(program, folders):
    """{case: why it failed, or None}. A case that ends the program is one that failed."""
    program = pathlib.Path(program).resolve()
    results, rest = {}, list(folders)
    while rest:
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as listed:
            listed.write("".join(f"{folder}\n" for folder in rest))
            listed.flush()
            status, output = common.run([program, *RUN_CASES], env={**os.environ, "LOCUS_ONNX_CASES": listed.name})
        for kind, name, reason in re.findall(r"^(passed|failed) ([^\s:]+)(?:: (.*))?$", output, re.MULTILINE):
            results[name] = reason if kind == "failed" else None
        left = [folder for folder in rest if folder.name not in results]
        if left and len(left) == len(rest) or status and left:
            results[left[0].name] = f"the program ended with status {status}: {output[-300:]}"
            left = left[1:]
        rest = left
    return results


def missing_operators(results):
    """{operator: cases that fail for the lack of it}"""
    found = {}
    for reason in filter(None, results.values()):
        if match := re.search(r"does not run these operators: (.*?)(?:; |$)", reason):
            for name in re.findall(r"(?:^|, )([\w.]+) \(\d+ nodes?, first", match[1]):
                found[name] = found.get(name, 0) + 1
    return found


def problem_of_page():
    """What the page of ONNX says wrongly of the operators, or None."""
    header = (common.ROOT / "include/locus/interop/onnx/operators.hpp").read_text()
    known = re.findall(r'^    \{"(\w+)",\s', header, re.MULTILINE)
    page = (common.ROOT / "docs/onnx.md").read_text().partition("### Operators")[2].partition("###")[0]
    listed = [name for row in re.findall(r"^\| \w+ \| ([A-Z][\w ]+) \|", page, re.MULTILINE) for name in row.split()]
    wrong = sorted(set(known) ^ set(listed))
    return f"docs/onnx.md and operators.hpp differ in {', '.join(wrong)}" if wrong or len(listed) != len(set(listed)) else None


def check_all(report, options, why):
    report.add("operators of the page", problem_of_page())
    if why:
        return report.skip("node tests", why)
    with tempfile.TemporaryDirectory() as temporary:
        folders, count = write_cases(options.keep or pathlib.Path(temporary))
        results = run_cases(options.program, folders)
    passed = sorted(name for name, reason in results.items() if reason is None)
    failed = {name: reason for name, reason in results.items() if reason is not None}
    print(f"{len(passed)} of {count} cases pass; {count - len(folders)} have values that are no tensors")
    if options.write:
        LIST.write_text(HEADER.format(onnx.__version__) + "".join(f"{name}\n" for name in passed))
        for name, reason in sorted(failed.items()):
            print(f"failed {name}: {reason}")
        for name, cases in sorted(missing_operators(results).items()):
            print(f"missing {name}: {cases}")
    listed = LIST.read_text()
    expected = [line for line in listed.splitlines() if not line.startswith("#")]
    lost = [f"{name}: {failed[name]}" for name in expected if name in failed]
    if listed.startswith(HEADER.format(onnx.__version__)):  # other versions may lack cases
        lost += [f"{name}: it did not run" for name in expected if name not in results]
    report.add("cases that passed before", "\n".join(lost))
    return None


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path, nargs="?")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--keep", type=pathlib.Path)
    arguments = parser.parse_args()
    why = onnx_packages.restart_with_packages(common.ROOT) if arguments.program else "needs the program of models/onnx"
    common.main(lambda report: check_all(report, arguments, why))
