#!/usr/bin/env python3
"""Runs a pack of scripts/gpu --pack on a bare machine: a chroot with only a shell, Python's standard library, the
shared libraries of both, and libcublasLt inside a Python package. It has no GPU: the run must finish, list the skipped
work and write its results. Needs root, for unshare and chroot.

usage: bare_machine.py PACK [--out DIR] [--nvidia-smi] [--without-libraries]

  --out DIR            keeps the results there, and the output of the run as DIR/output.txt
  --nvidia-smi         a stand-in for nvidia-smi lists a GPU that no program sees: the run must fail, and say so
  --without-libraries  no libcublasLt: the run must fail, and say where it looked
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import common  # noqa: E402

sys.path.insert(0, str(common.ROOT / "scripts" / "lib"))
import device_tests  # noqa: E402

PYTHON = "/usr/bin/python3"
PROGRAMS = ("/bin/sh", "/usr/bin/dirname", "/usr/bin/env", "/sbin/ldconfig", PYTHON)
STDLIB = "import sysconfig; print(sysconfig.get_path('stdlib'))"
OF_GLIBC = ("libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1")
PACKAGE = "opt/env/lib/python3.12/site-packages/nvidia/cu13/lib"
SMI = 'case "$*" in -L) echo "GPU 0: Stand-in";; *) echo "Stand-in, 580.65, 9.0, 81559 MiB, 1980 MHz";; esac'
ENTER = """set -e
mount -t proc proc {root}/proc
for name in null zero urandom; do touch {root}/dev/$name; mount --bind /dev/$name {root}/dev/$name; done
if [ -n "{library}" ]; then touch {root}/{package}/$(basename {library}); mount --bind {library} {root}/{package}/$(basename {library}); fi
exec chroot {root} /usr/bin/env -i PATH=/usr/bin:/bin /pack/run --out /results
"""


def shared_libraries(path):
    """The shared libraries that the loader loads for a program or library, including the file itself."""
    _, output = common.run(["ldd", path])
    return re.findall(r"(/\S+) \(0x", output)


def put(root, path):
    """Copies a file of this system to its place in the root; symbolic links in its path become folders."""
    target = root / os.path.realpath(os.path.dirname(path)).lstrip("/") / os.path.basename(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists():
        shutil.copy(path, target)


def make_root(root, pack):
    for folder in ("dev", "proc", "tmp", "results", "etc", PACKAGE, "usr/bin", "usr/sbin", "usr/lib", "usr/lib64"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for folder in ("bin", "sbin", "lib", "lib64"):
        (root / folder).symlink_to(f"usr/{folder}")
    stdlib = pathlib.Path(subprocess.check_output([PYTHON, "-c", STDLIB], text=True).strip())
    shutil.copytree(stdlib, root / stdlib.relative_to("/"), ignore=shutil.ignore_patterns("__pycache__", "test", "dist-packages"))
    libc = next(path for path in shared_libraries(PYTHON) if path.endswith("/libc.so.6"))
    libgcc = subprocess.check_output(["g++", "-print-file-name=libgcc_s.so.1"], text=True).strip()
    files = [*PROGRAMS, *(str(pathlib.Path(libc).with_name(name)) for name in OF_GLIBC), libgcc]
    for path in files:
        put(root, path)
    for path in (*files, *map(str, stdlib.glob("lib-dynload/*.so"))):
        for library in shared_libraries(path):
            put(root, library)
    shutil.copytree(pack, root / "pack")


def find_library(needs):
    """The one library that a pack needs, from the installed toolkit."""
    name = needs[0]
    nvcc = common.find_nvcc()
    homes = [pathlib.Path(nvcc).parents[1]] if nvcc else []
    paths = (home / folder / name for home in homes for folder in ("lib64", "lib", "targets/x86_64-linux/lib"))
    return next((str(path.resolve()) for path in paths if path.is_file()), None)


def run_in(root, library):
    """(exit status, output, seconds) of the pack in the root."""
    started = time.monotonic()
    script = ENTER.format(root=root, library=library or "", package=PACKAGE)
    status, output = common.run(["unshare", "--mount", "sh", "-c", script])
    return status, output, time.monotonic() - started


def check_files(report, out):
    files = [path for path in out.rglob("*") if path.is_file()]
    report.add("files", None if 2 <= len(files) <= 8 and all(path.stat().st_size < 16 << 20 for path in files)
               else f"{[path.name for path in files]}; expected 2 to 8 of less than 16 MiB")


def expect(report, name, found, expected):
    report.add(name, None if found == expected else f"found {found!r}; expected {expected!r}")


def check_results(report, options, manifest, results, status, output):
    """Checks the results of the run."""
    tests = [name for name in manifest["programs"] if name.endswith("_cuda_test")]
    fails = options.nvidia_smi or options.without_libraries
    expect(report, "state", (status, results["state"]), (1 if fails else 77, "complete"))
    expect(report, "programs", {entry["program"] for entry in results["tests"]}, {pathlib.Path(name).name for name in tests})
    if options.without_libraries:
        report.add("message", None if f"{manifest['needs'][0]}: not found" in output and "packages of Python" in output else output)
        expect(report, "programs without it", any(entry["verdict"] == "skipped" for entry in results["tests"]), True)
        return
    expect(report, "library", results["libraries"].get("found"), {name: f"/{PACKAGE}/{name}" for name in manifest["needs"]})
    skipped = sum(device_tests.NO_DEVICE in line for line in results["not_done"])
    report.add("what was skipped", None if 2 * skipped > len(tests) else results["not_done"])
    expect(report, "failed tests", [entry for entry in results["tests"] if entry["failed"]], [])
    unseen = [line for line in results["failures"] if line.startswith("device tests: Stand-in is here, but")]
    expect(report, "failures", bool(unseen) if options.nvidia_smi else results["failures"], options.nvidia_smi or [])


def check(options, report):
    manifest = json.loads((options.pack / "manifest.json").read_text())
    library = None if options.without_libraries or not manifest["needs"] else find_library(manifest["needs"])
    if os.geteuid() != 0 or common.run(["unshare", "--mount", "true"])[0] != 0:
        return report.skip("bare machine", "needs root, and the right to unshare")
    if manifest["needs"] and not library and not options.without_libraries:
        return report.skip("bare machine", f"no {manifest['needs'][0]} beside nvcc")
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch)
        root.chmod(0o755)
        make_root(root, options.pack)
        if options.nvidia_smi:
            (root / "usr/bin/nvidia-smi").write_text(f"#!/bin/sh\n{SMI}\n")
            (root / "usr/bin/nvidia-smi").chmod(0o755)
        status, output, seconds = run_in(root, library)
        print(output)
        print(f"ended with status {status} after {seconds:.0f} s")
        if options.out:
            shutil.copytree(root / "results", options.out, dirs_exist_ok=True)
            (options.out / "output.txt").write_text(output)
        path = root / "results" / "results.json"
        if not path.exists():
            return report.fail("bare machine", "left no results.json")
        check_files(report, root / "results")
        check_results(report, options, manifest, json.loads(path.read_text()), status, output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pack", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--nvidia-smi", action="store_true")
    parser.add_argument("--without-libraries", action="store_true")
    arguments = parser.parse_args()
    common.main(lambda report: check(arguments, report))
