#!/usr/bin/env python3
"""The Python module: a part of it is built and installed by pip into an environment of its own, where its tests run.

The whole module takes minutes to compile. Here it has three families of functions, unoptimized, beside all of the exchange
of arrays; locus.cuda has running sums and arithmetic, and its kernels run on simulated GPUs. `tests/python/module_test.py --wheel FILE`
tests a whole wheel instead, with PyTorch where pip finds it.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import venv

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))
sys.path.insert(0, str(HERE.parent / "cuda"))
import common  # noqa: E402
import simulated_test  # noqa: E402

FAMILIES = "arithmetic,scans,reductions"
SOURCES_ON_GPU = ["exchange", "call", "tensor", "functions/scans", "functions/arithmetic", "module"]
MODULE_MACROS = ["-DNB_BACKEND_MODULE=nanobind_backend", "-DNB_BACKEND_PYPI=nanobind-backend", "-DNB_COMPACT_ASSERTIONS",
                 "-DPy_LIMITED_API=0x030A0000", "-DLOCUS_PYTHON_CUDA=1"]
BUILD_TOOLS = ["meson-python>=0.17", "meson>=1.3", "ninja", "nanobind==3.1.*", "nanobind-backend>=1.0,<2"]


def run(*command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)


def environment(folder):
    """A new virtual environment; its Python."""
    venv.create(folder, with_pip=True)
    return folder / "bin" / "python"


def install(report, python, *packages):
    """Whether pip installed the packages; a machine that reaches no index skips what needs them."""
    done = run(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages)
    if done.returncode != 0:
        report.skip("the Python module", "pip cannot install " + ", ".join(map(str, packages)))
        print(done.stderr[-500:])
    return done.returncode == 0


def build(report, python, scratch):
    """Installs the module, built from a copy of python/ beside Locus's headers."""
    for name in ("python", "include"):
        shutil.copytree(common.ROOT / name, scratch / "source" / name)
    settings = ["-Csetup-args=-Doptimization=0", "-Csetup-args=-Dwerror=true", f"-Csetup-args=-Dfamilies={FAMILIES}",
                f"-Ccompile-args=-j{os.cpu_count() or 1}"]
    path = f"{python.parent}:{os.environ['PATH']}"
    done = run(python, "-m", "pip", "install", "-q", "--no-build-isolation", *settings, scratch / "source" / "python",
               env={**os.environ, "PATH": path})
    report.add("pip install ./python", done.stdout + done.stderr if done.returncode != 0 else None)
    return done.returncode == 0


def check_wheel(report, wheel):
    """A wheel is small, and serves later versions of Python, too."""
    megabytes = wheel.stat().st_size / 1e6
    report.add("size", None if megabytes < 10 else f"{wheel.name} has {megabytes:.1f} MB; allowed are 10")
    report.add("tags", None if "-abi3-" in wheel.name else f"{wheel.name} is for one version of Python")


def build_on_simulated_gpus(python, scratch):
    """Puts locus._cuda into the installed package: its sources with the kernels on simulated threads. The problem, or
    None."""
    headers = run(python, "-c", "import nanobind, sysconfig; print(nanobind.include_dir()); print(sysconfig.get_path('include'))")
    package = run(python, "-c", "import locus; print(locus.__path__[0])").stdout.strip()
    folder = scratch / "simulated"
    folder.mkdir()
    simulator = simulated_test.Simulator(folder, simulated_test.toolkit_headers())
    simulator.compiler += ["-fPIC", "-fvisibility=hidden", f"-I{folder}", *(f"-isystem{path}" for path in headers.stdout.splitlines()), *MODULE_MACROS]
    (folder / "families.inc").write_text("LOCUS_FAMILY(scans)\nLOCUS_FAMILY(arithmetic)\n")
    unit = folder / "module.cpp"
    unit.write_text("".join(f'#include "{common.ROOT}/python/src/{name}.cpp"\n' for name in SOURCES_ON_GPU))
    objects = []
    for source in (unit, simulated_test.HERE / "runtime.cpp"):
        objects.append(folder / f"{source.stem}.o")
        status, output = common.run([*simulator.compiler, "-c", source, "-o", objects[-1]], env=common.HUGE_PAGES)
        if status:
            return output[:3000]
    status, output = common.run([simulator.driver, "-shared", *objects, "-lpthread", "-o", f"{package}/_cuda.abi3.so"])
    return output if status else None


def run_cases(report, python, name):
    """Runs a program of cases in the environment, and adds its counts."""
    done = run(python, HERE / f"{name}.py")
    counts = common.COUNTS.search(done.stdout)
    if not counts:
        return report.fail(name, done.stdout + done.stderr)
    if counts[2] != "0":
        print(done.stdout)
    report.passed += int(counts[1])
    report.failed += int(counts[2])
    report.skipped += int(counts[3])


def check_stubs(report, python):
    """The package is typed: it has stubs of the compiled part, with the functions and their types of arguments."""
    where = run(python, "-c", "import locus; print(locus.__path__[0])").stdout.strip()
    stubs = pathlib.Path(where) / "_core.pyi"
    if not stubs.exists() or not (pathlib.Path(where) / "py.typed").exists():
        return report.fail("stubs", f"{where} lacks _core.pyi or py.typed")
    text = stubs.read_text()
    wanted = [r"def cumsum\(x: locus\._types\.ArrayLike, axis: int, \*", r"-> locus\._results\.ValuesAndIndices",
              r"class Tensor"]
    missing = [pattern for pattern in wanted if not re.search(pattern, text)]
    report.add("stubs", f"{stubs} lacks {missing}" if missing else None)


def check_types(report, python):
    """A type checker reads the stubs: it accepts a program, and finds the mistakes in it."""
    done = run(python, "-m", "mypy", "--strict", "--no-incremental", HERE / "typed_program.py")
    report.add("typed_program.py", done.stdout + done.stderr if done.returncode != 0 else None)


def run_page(report, python, page):
    """The examples of a page run, one after another, as one program."""
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.S)
    done = run(python, "-c", "\n".join(blocks))
    report.add(page.name, done.stdout + done.stderr if done.returncode != 0 or not blocks else None)


def check_speed(report):
    """The tables of speed in the page are those of stored results."""
    done = run(sys.executable, common.ROOT / "benchmarks" / "python_calls.py", "--check")
    report.add("tables of speed", done.stderr if done.returncode != 0 else None)


def check(report, wheel=None):
    check_speed(report)
    includes = run(sys.executable, "-c", "import sysconfig; print(sysconfig.get_path('include'))").stdout.strip()
    if not (wheel or pathlib.Path(includes, "Python.h").exists()):
        return report.skip("the Python module", "Python.h is not installed")
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        python = environment(scratch / "environment")
        if not install(report, python, "numpy>=2.1", *([wheel] if wheel else BUILD_TOOLS)):
            return None
        if not wheel and not build(report, python, scratch):
            return None
        check_stubs(report, python)
        run_cases(report, python, "exchange")
        if not wheel and not simulated_test.toolkit_headers():
            report.skip("locus.cuda on simulated GPUs", "needs the headers of a CUDA toolkit")
        elif not wheel:
            problem = build_on_simulated_gpus(python, scratch)
            report.add("locus.cuda on simulated GPUs", problem)
            if not problem:
                run_cases(report, python, "on_gpu")
        if wheel:
            check_wheel(report, wheel)
        if wheel and install(report, python, "torch", "scipy", "mypy"):
            check_types(report, python)
            run_cases(report, python, "values")
            for page in ("docs/python.md", "python/README.md"):
                run_page(report, python, common.ROOT / page)
    return None


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--wheel", type=pathlib.Path, help="a wheel to test instead of a build of a part")
    given = arguments.parse_args()
    common.main(lambda report: check(report, given.wheel))
