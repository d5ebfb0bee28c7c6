"""Makes a pack of a portable build: a folder with the device tests, the example and the benchmarks, which runs on a
machine with a GPU without installation. Called by scripts/gpu --pack, which documents its content.

usage: pack.py --check FOLDER | --targets BUILD | --build BUILD --out FOLDER
"""

import argparse
import fnmatch
import hashlib
import io
import json
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "tools"))

import common  # noqa: E402
import device_tests  # noqa: E402
import machine  # noqa: E402
import packed  # noqa: E402
import processes  # noqa: E402
import record  # noqa: E402

LARGEST = 48 << 20  # bytes of all files
GLIBC = 36  # minor version of glibc 2: the newest that programs may need
OF_GLIBC = re.compile(r"(libc|libm|libdl|librt|libpthread|ld-linux-x86-64|linux-vdso)\.so(\.\d+)?")
REQUIRED = ("mnist", "cifar10", "gpt2", "matmul", "training_times", "verbs")
WANTED = (device_tests.TESTS, *(name for name, *_ in device_tests.FIRST), *REQUIRED)
# Files that are copied unchanged, relative to the root of the sources.
BESIDE = ("scripts/lib/*.py", "tests/tools/common.py", "tests/golden/*.txt", "tests/support/trace_events.py", "LICENSE",
          *(f"benchmarks/peers/torch_{name}.py" for name in ("gpu", "networks", "resnet", "gpt2", "lines")))
RUN = """#!/bin/sh
# Runs the programs of this pack on a machine with a GPU: run --help.
here=$(cd "$(dirname "$0")" && pwd) || exit 1
command -v python3 >/dev/null || {
  echo "run: python3 not found; it alone is needed. Put the folder of one into PATH: PATH=/opt/conda/bin:\\$PATH $0" >&2
  exit 1
}
python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' || {
  echo "run: $(command -v python3) is $(python3 --version 2>&1); 3.9 or newer is needed. Put the folder of one first in" \\
    "PATH: PATH=/opt/conda/bin:\\$PATH $0" >&2
  exit 1
}
PYTHONDONTWRITEBYTECODE=1 exec python3 "$here/scripts/lib/packed.py" "$@"
"""


class Refused(Exception):
    """A message for the caller."""


def wanted(name):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in WANTED)


def targets(build):
    """The programs of a configured build folder that a run on a GPU needs, as paths in the folder."""
    known = json.loads(subprocess.check_output(["meson", "introspect", "--targets", str(build)]))
    files = [pathlib.Path(name) for target in known if target["type"] == "executable" for name in target["filename"]]
    return sorted(os.path.relpath(file, build) for file in files if wanted(file.name))


def programs_of(build):
    found = [path for folder in device_tests.FOLDERS for path in sorted((build / folder).glob("*"))
             if path.is_file() and os.access(path, os.X_OK) and wanted(path.name)]
    names = {path.name for path in found}
    missing = [name for name in REQUIRED if name not in names]
    if not any(fnmatch.fnmatchcase(name, device_tests.TESTS) for name in names):
        missing.append(device_tests.TESTS)
    if missing:
        raise Refused(f"{build} has no {', '.join(missing)}; build it with -Dcuda=enabled -Dtests=enabled "
                      "-Dbenchmarks=enabled -Dexamples=enabled")
    return found


def newest_glibc(path):
    """The newest version of glibc that an ELF file requires: 34 for 2.34."""
    data = path.read_bytes()
    return max(map(int, re.findall(rb"\0GLIBC_2\.(\d+)", data)), default=0) if data[:4] == b"\x7fELF" else 0


def check_portable(program):
    strange = [name for name in machine.elf_names(program)
               if not OF_GLIBC.fullmatch(name) and not machine.OF_CUDA.fullmatch(name)]
    folders = machine.elf_names(program, (machine.RPATH, machine.RUNPATH))
    problems = [f"needs {', '.join(strange)}"] if strange else []
    problems += [f"looks for libraries in {folder}" for folder in folders]
    if newest_glibc(program) > GLIBC:
        problems.append(f"needs glibc 2.{newest_glibc(program)}; expected at most 2.{GLIBC}")
    if problems:
        raise Refused(f"{program}: {'; '.join(problems)}. Build it with -Dportable=true on a system of that age")


def is_pack(folder):
    try:
        return json.loads((folder / "manifest.json").read_text()).get("pack") == packed.KIND
    except (OSError, ValueError, AttributeError):
        return False


def check_folder(folder):
    """Checks that a pack may be written to the folder."""
    if folder.exists() and not is_pack(folder) and not (folder.is_dir() and not any(folder.iterdir())):
        raise Refused(f"{folder} is there and is no pack; name a new folder, or one that --pack wrote")


def stripped(program, scratch):
    if program.read_bytes()[:4] != b"\x7fELF":
        return program
    target = scratch / program.name
    subprocess.run(["strip", "-s", "-o", target, program], check=True)
    return target


def add_file(archive, name, data, mode):
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), mode
    archive.addfile(entry, io.BytesIO(data))


def write_archive(build, programs, path):
    """Archives the stripped programs, reproducibly: the same programs give the same bytes. Returns {name in the
    archive: digest}."""
    digests = {}
    with tempfile.TemporaryDirectory() as scratch, lzma.open(path, "wb", preset=9) as stream, \
            tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for program in programs:
            file, name = stripped(program, pathlib.Path(scratch)), program.relative_to(build).as_posix()
            add_file(archive, name, file.read_bytes(), 0o755)
            digests[name] = digest(file)
    return digests


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def copy_beside(root, folder):
    for pattern in BESIDE:
        found = sorted(root.glob(pattern))
        if not found:
            raise Refused(f"{root} has no {pattern}")
        for path in found:
            target = folder / path.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)


def write_pack(build, folder, facts):
    programs = programs_of(build)
    for program in programs:
        check_portable(program)
    copy_beside(ROOT, folder)
    (folder / "run").write_text(RUN)
    (folder / "run").chmod(0o755)
    digests = write_archive(build, programs, folder / packed.ARCHIVE)
    files = {path.relative_to(folder).as_posix(): digest(path) for path in sorted(folder.rglob("*")) if path.is_file()}
    manifest = {"pack": packed.KIND, **facts, "glibc": f"2.{max(map(newest_glibc, programs))}",
                "needs": machine.cuda_needs(programs), "files": files,
                "programs": digests}
    record.write(folder / "manifest.json", manifest)


def size_of(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def mebibytes(size):
    return f"{size / (1 << 20):.1f} MiB"


def check_size(folder):
    size = size_of(folder)
    if size > LARGEST:
        largest = max((path for path in folder.rglob("*") if path.is_file()), key=lambda path: path.stat().st_size)
        raise Refused(f"the pack has {mebibytes(size)}, {largest.name} alone {mebibytes(largest.stat().st_size)}; "
                      f"expected at most {mebibytes(LARGEST)}. Build for fewer architectures (-Dgpu_arch)")


def make(build, folder, facts):
    """Writes the pack beside the folder, then renames it."""
    check_folder(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as scratch:
        fresh, old = pathlib.Path(scratch) / "new", pathlib.Path(scratch) / "old"
        fresh.mkdir()
        write_pack(build, fresh, facts)
        check_size(fresh)
        if folder.exists():
            folder.rename(old)
        fresh.rename(folder)


def facts_of(build):
    """The manifest's facts about sources and build. The date is the commit's, so that packs can be compared."""
    if not (build / "meson-info").is_dir():
        raise Refused(f"{build} is no build folder of Meson, which would say for which GPUs its programs are")
    options = json.loads(subprocess.check_output(["meson", "introspect", "--buildoptions", str(build)]))
    architectures = next(option["value"] for option in options if option["name"] == "gpu_arch")
    known = machine.describe(ROOT, common.find_nvcc())
    return {"commit": known["commit"], "modified": known["modified"], "toolkit": known["toolkit"],
            "date": processes.read(["git", "-C", ROOT, "log", "-1", "--format=%cI"]), "architectures": architectures}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", type=pathlib.Path)
    parser.add_argument("--targets", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    try:
        if options.check:
            check_folder(options.check)
        elif options.targets:
            found = targets(options.targets)
            if not found:
                raise Refused(f"meson lists no program of {options.targets} that a run on a GPU needs")
            print("\n".join(found))
        else:
            programs_of(options.build)
            make(options.build, options.out, facts_of(options.build))
            manifest = json.loads((options.out / "manifest.json").read_text())
            print(f"{options.out}: {len(manifest['programs'])} programs, {mebibytes(size_of(options.out))}")
    except (Refused, OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"scripts/gpu: {error}")


if __name__ == "__main__":
    main()
