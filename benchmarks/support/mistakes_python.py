"""Runs programs of benchmarks/mistakes in one interpreter, and prints a JSON line for each.

usage: mistakes_python.py LIBRARY [--mistake] < a line for each program

A line has "program"; "output", the lines that the program printed; "error", the first line of the exception, or null;
"warning", the first warning of Python, or null. The first line has the version of LIBRARY instead.
"""

import contextlib
import importlib.metadata
import io
import json
import pathlib
import runpy
import sys
import traceback
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "mistakes"))


def run(path):
    output, error = io.StringIO(), None
    with contextlib.redirect_stdout(output), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("default")
        try:
            runpy.run_path(path, run_name="__main__")
        except Exception as thrown:
            error = traceback.format_exception_only(thrown)[0].splitlines()[0]
    return {"program": path, "output": output.getvalue(), "error": error,
            "warning": f"{warned[0].category.__name__}: {warned[0].message}" if warned else None}


print(json.dumps({"version": importlib.metadata.version(sys.argv[1])}))
for line in sys.stdin:
    print(json.dumps(run(line.strip())), flush=True)
