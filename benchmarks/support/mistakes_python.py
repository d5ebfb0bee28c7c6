"""Runs programs of benchmarks/mistakes in one interpreter, and prints a JSON line for each.

usage: mistakes_python.py LIBRARY [--mistake] < a line for each program

A line has "program", "output", the lines that the program printed, and "error", the last line of the exception, or null.
The first line has the version of LIBRARY instead.
"""

import contextlib
import importlib.metadata
import io
import json
import pathlib
import runpy
import sys
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "mistakes"))


def run(path):
    output, error = io.StringIO(), None
    with contextlib.redirect_stdout(output):
        try:
            runpy.run_path(path, run_name="__main__")
        except Exception as thrown:
            error = "".join(traceback.format_exception_only(thrown)).strip()
    return {"program": path, "output": output.getvalue(), "error": error}


print(json.dumps({"version": importlib.metadata.version(sys.argv[1])}))
for line in sys.stdin:
    print(json.dumps(run(line.strip())), flush=True)
