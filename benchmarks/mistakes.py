#!/usr/bin/env python3
"""The same mistakes in six libraries: what becomes of each is measured, and written into docs/mistakes-elsewhere.md.

usage: mistakes.py [--torch DIR] [--python PYTHON] [--page] [LIBRARY...]

A kind of mistake is a folder of mistakes/ with a program for each library, and an entry of mistakes/kinds.json. Each
program is built and run twice: corrected, as it stands, which must print RIGHT and cause no warning, or the result is
void; and with the mistake (-DMISTAKE; --mistake in Python). A program calls passed() after the mistake, and verdict(),
which prints RIGHT or SILENT, at its end. The outcome follows from that:

    does not compile    the compiler's first error is about the program
    warns               as silent, but with a line about the program, or on stderr, that has "warning"
    throws at once      an exception or a failed assertion before passed()
    throws later        the same after passed()
    silently wrong      SILENT
    correct             RIGHT: no mistake in this library
    not expressible     there is no program; kinds.json has the reason
    not measured        likewise, or a call on the GPU passed all checks, and failed for want of a GPU

All programs of a library in C++ are one translation unit for clang, each in a namespace of its own. The results of
the named libraries (default: all that are installed) replace those in results/mistakes.json; --page writes the page
from that file and runs nothing. DIR is the package of PyTorch's wheel (default: of PYTHON); PYTHON has the packages
jax and mlx. Eigen is Debian's libeigen3-dev, xtensor is libxtensor-dev.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(ROOT / "tests" / "tools"), str(HERE / "support"), str(ROOT / "scripts" / "lib")]
import common  # noqa: E402
import compile_fail  # noqa: E402
import json_text  # noqa: E402
import elsewhere_page  # noqa: E402
import together  # noqa: E402
import whole_file  # noqa: E402

PROGRAMS = HERE / "mistakes"
RESULTS = HERE / "results" / "mistakes.json"
FLAGS = [*common.CXX, "-O0", "-pthread", "-Wall", "-Wextra", "-Wconversion", "-ferror-limit=0", f"-I{PROGRAMS}"]
PYTHON = {"jax": {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}, "mlx": {}}
LONGEST = 300  # of a message
NEEDS_GPU = re.compile(r"NVIDIA|CUDA driver|CUDA error|CUDA GPU")  # in the message of a call that got past all checks


class Library(NamedTuple):
    version: str
    compiled: list
    linked: list


def kinds():
    return json.loads((PROGRAMS / "kinds.json").read_text())["kinds"]


def program(kind, library):
    return PROGRAMS / kind / (f"in_{library}.py" if library in PYTHON else f"{library}.cpp")


def programs(library):
    """{kind: path} of a library."""
    return {kind: program(kind, library) for kind in kinds() if program(kind, library).is_file()}


def version_of(header, macros):
    text = pathlib.Path(header).read_text()
    return ".".join(re.search(rf"#\s*define {macro} (\d+)", text).group(1) for macro in macros)


def find_locus(_):
    return Library(common.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"])[1].strip(),
                   [f"-isystem{ROOT / 'include'}"], ["-lz"])


def find_libtorch(package):
    if not package or not (package / "include" / "torch").is_dir():
        return None
    found, folder = package / "include", package / "lib"
    version = version_of(found / "torch" / "headeronly" / "version.h",
                         [f"TORCH_VERSION_{part}" for part in ("MAJOR", "MINOR", "PATCH")])
    cuda = ["-ltorch_cuda", "-lc10_cuda"] if (folder / "libtorch_cuda.so").is_file() else []
    libraries = ["-ltorch_cpu", *cuda, "-lc10"]
    return Library(version, [f"-isystem{found}", f"-isystem{found / 'torch' / 'csrc' / 'api' / 'include'}"],
                   [f"-L{folder}", f"-Wl,-rpath,{folder},--no-as-needed,--unresolved-symbols=ignore-in-shared-libs",
                    *libraries])


def find_eigen(_):
    folder = pathlib.Path("/usr/include/eigen3")
    if not (folder / "Eigen").is_dir():
        return None
    version = version_of(folder / "Eigen" / "src" / "Core" / "util" / "Macros.h",
                         [f"EIGEN_{part}_VERSION" for part in ("WORLD", "MAJOR", "MINOR")])
    return Library(version, [f"-isystem{folder}"], [])


def find_xtensor(_):
    header = pathlib.Path("/usr/include/xtensor/xtensor_config.hpp")
    macros = [f"XTENSOR_VERSION_{part}" for part in ("MAJOR", "MINOR", "PATCH")]
    return Library(version_of(header, macros), [], []) if header.is_file() else None


FIND = {"locus": find_locus, "libtorch": find_libtorch, "eigen": find_eigen, "xtensor": find_xtensor}


def unit(sources):
    """One translation unit, whose main() runs the program of the given number."""
    table = ", ".join(f"&of_{i}::main" for i in range(len(sources)))
    return together.in_one_file(sources) + f"""
#include <cstdlib>
int main(int, char** argv) {{
  int (*const programs[])() = {{{table}}};
  return programs[std::atoi(argv[1])]();
}}
"""


def messages_of(output, sources, word):
    """{source: first message with this word} of clang's output. A message whose first line is in a header belongs to
    the source that a later line of it points into."""
    found, owner, message = {}, None, None
    for line in output.splitlines():
        if compile_fail.says("error", line) or compile_fail.says("warning", line):
            owner, message = None, line if compile_fail.says(word, line) else None
        if message and owner is None:
            owner = next((source for source in sources if compile_fail.points_into(source, line)), None)
            if owner:
                found.setdefault(owner, message)
    return found


def compile_all(clang, library, sources, mistake, scratch):
    """(program, its sources, {source: error}, {source: warning}). Sources that do not compile are left out.
    raises RuntimeError if the compiler blames none of them"""
    errors, rest = {}, list(sources)
    text, program = pathlib.Path(scratch) / "unit.cpp", pathlib.Path(scratch) / ("mistakes" if mistake else "corrected")
    options = [*library.compiled, *(["-DMISTAKE"] if mistake else [])]
    while rest:
        text.write_text(unit(rest))
        status, output = common.run([clang, *FLAGS, *options, text, "-o", program, *library.linked])
        if status == 0:
            return program, rest, errors, messages_of(output, rest, "warning")
        found = messages_of(output, rest, "error")
        if not found:
            raise RuntimeError(f"does not compile:\n{output[:4000]}")
        errors.update(found)
        rest = [source for source in rest if source not in found]
    return program, rest, errors, {}


def thrown(output):
    """The message of an exception or a failed assertion, or None."""
    match = re.search(r"^  what\(\):  (.*)$|^.*?(Assertion .* failed)\.?$", output, re.MULTILINE)
    return match and (match[1] if match[1] is not None else match[2])


def ran(status, output, error, warning):
    """{outcome, message} of a program that compiled and ended."""
    if error and NEEDS_GPU.search(error):
        return {"outcome": "not measured", "message": error}
    if error or status:
        later = re.search(r"^PASSED$", output, re.MULTILINE)
        return {"outcome": "throws later" if later else "throws at once", "message": error or f"status {status}"}
    if re.search(r"^RIGHT$", output, re.MULTILINE):
        return {"outcome": "correct", "message": ""}
    if not re.search(r"^SILENT$", output, re.MULTILINE):
        return {"outcome": "void", "message": "no verdict"}
    return {"outcome": "warns" if warning else "silently wrong", "message": warning or ""}


def plain(message):
    """A message without the folders of this machine."""
    text = re.sub(r"(?<![\w/:])/[\w./+-]*/(?=[\w+-]+)", "", message)
    return text if len(text) <= LONGEST else text[:LONGEST - 3] + "..."


def run_one(program, number):
    status, output = common.run([program, number])
    warning = re.search(r"^.*\bwarning\b.*$", output, re.MULTILINE | re.IGNORECASE)
    return status, output, thrown(output), warning and warning[0]


def void_because(status, output, error, *warnings):
    """The fault of a corrected program, or None."""
    if ran(status, output, error, None)["outcome"] != "correct":
        return error or "the corrected program is not right"
    return next(filter(None, warnings), None)


def cpp_rows(clang, name, library):
    paths = programs(name)
    rows = {}
    with tempfile.TemporaryDirectory() as scratch:
        right, sources, void, warnings = compile_all(clang, library, list(paths.values()), False, scratch)
        for i, source in enumerate(sources):
            if why := void_because(*run_one(right, i), warnings.get(source)):
                void[source] = why
        wrong, sources, errors, warnings = compile_all(clang, library, [source for source in paths.values() if source not in void],
                                                      True, scratch)
        for kind, source in paths.items():
            if source in void:
                row = {"outcome": "void", "message": void[source]}
            elif source in errors:
                row = {"outcome": "does not compile", "message": errors[source],
                       "own line": bool(compile_fail.points_into(source, errors[source]))}
            else:
                status, output, error, warning = run_one(wrong, sources.index(source))
                row = ran(status, output, error, warnings.get(source) or warning)
            rows[kind] = row
    return rows


def python_rows(python, name):
    """(version, rows)"""
    paths, results = programs(name), {}
    for mistake in (False, True):
        command = [python, HERE / "support" / "mistakes_python.py", name, *(["--mistake"] if mistake else [])]
        status, output = common.run(command, input="".join(f"{path}\n" for path in paths.values()), env=PYTHON[name])
        if status:
            raise RuntimeError(output)
        version, *lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
        results[mistake] = {line["program"]: line for line in lines}
    rows = {}
    for kind, path in paths.items():
        right, wrong = results[False][str(path)], results[True][str(path)]
        why = void_because(0, right["output"], right["error"], right["warning"])
        rows[kind] = ({"outcome": "void", "message": why} if why else
                      ran(0, wrong["output"], wrong["error"], wrong["warning"]))
    return version["version"], rows


def measure(name, clang, options):
    """(version, {kind: row}), or None if the library is not installed."""
    if name in PYTHON:
        if common.run([options.python, "-c", f"import importlib.metadata as m; m.version('{name}')"])[0]:
            return None
        version, rows = python_rows(options.python, name)
    else:
        library = FIND[name](options.torch)
        if not library:
            return None
        version, rows = library.version, cpp_rows(clang, name, library)
    return version, {kind: {**row, "message": plain(row["message"])} for kind, row in rows.items()}


def package_of(python):
    """The folder of PyTorch in this Python, or None."""
    where = "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')"
    found = subprocess.run([python, "-c", where], capture_output=True, text=True, check=False).stdout.strip()
    return pathlib.Path(found) if found else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--python", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("libraries", nargs="*", metavar="LIBRARY", help=f"of {', '.join(elsewhere_page.LIBRARIES)}")
    options = parser.parse_args()
    unknown = set(options.libraries) - set(elsewhere_page.LIBRARIES)
    if unknown:
        parser.error(f"no such library: {', '.join(sorted(unknown))}; one of {', '.join(elsewhere_page.LIBRARIES)}")
    options.torch = options.torch or package_of(options.python)
    result = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {"libraries": {}, "rows": []}
    clang = common.find_compilers()["clang"]
    for name in [] if options.page else options.libraries or elsewhere_page.LIBRARIES:
        measured = measure(name, clang, options)
        if not measured:
            print(f"no {name} here: its results stay")
            continue
        version, rows = measured
        result["clang"] = re.search(r"\d+\.\d+\.\d+", common.run([clang, "--version"])[1]).group()
        result["libraries"][name] = version
        others = [row for row in result["rows"] if row["library"] != name]
        result["rows"] = others + [{"kind": kind, "library": name, **row} for kind, row in rows.items()]
        print(*(f"{kind:26} {name:9} {row['outcome']:16} {row['message']}" for kind, row in rows.items()), sep="\n")
        order = {kind: i for i, kind in enumerate(kinds())}
        result["rows"].sort(key=lambda row: (order.get(row["kind"], -1), elsewhere_page.LIBRARIES.index(row["library"])))
        whole_file.write(RESULTS, json_text.text(result) + "\n")
    whole_file.write(elsewhere_page.PAGE, elsewhere_page.page(result))
    sys.exit(any(row["outcome"] == "void" for row in result["rows"]))


if __name__ == "__main__":
    main()
