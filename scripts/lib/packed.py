"""Runs a pack that scripts/gpu --pack wrote: checks its files, unpacks its programs and runs them.

Runs the programs of this pack on a machine with a GPU, where only Python 3.9 must be installed: first, if the pack has
them, self_check, which compares every kind of work with the host, and cuda_first_run, the experiments of
docs/first-gpu-run.md; then the device tests, each source of tests by itself; training on Cuda and on Cpu;
compute-sanitizer, if installed, as time allows; and last the benchmarks, in turns with PyTorch if a Python has it.

DIR/results.json is rewritten after every result, and DIR/results.log has the output of the programs: an interrupted run
keeps its results. While cuda_first_run runs, its answers so far are in DIR/cuda_first_run.json, which becomes part of
the results. The last line is `N passed, N failed, N skipped`.

Exits with 0 for success, 1 if something failed or the run was cut off, 77 if no GPU answers and nothing failed.
"""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

KIND = "programs of Locus for a GPU"
ARCHIVE = "programs.tar.xz"
BUDGET = 540  # seconds; leaves time to end where a command may take ten minutes
PLACES = ("/tmp", "/var/tmp", "/dev/shm")


def decompressed(path):
    """The archive as a stream, decompressed by Python's lzma or by xz."""
    try:
        import lzma
        return lzma.open(path)
    except ImportError:
        if not shutil.which("xz"):
            raise RuntimeError(f"{sys.executable} has no module lzma, and there is no xz; put a Python that has it first "
                               "in PATH")
        return subprocess.Popen(["xz", "-dc", str(path)], stdout=subprocess.PIPE).stdout


def damaged(root, files):
    """Files of the pack whose digest differs from the manifest."""
    def good(name, digest):
        path = root / name
        return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == digest
    return [name for name, digest in files.items() if not good(name, digest)]


def runs_programs(folder):
    """Whether programs in the folder can be executed."""
    probe = pathlib.Path(folder) / "probe"
    probe.write_text("#!/bin/sh\nexit 0\n")
    probe.chmod(0o755)
    try:
        return subprocess.run([str(probe)]).returncode == 0
    except OSError:
        return False
    finally:
        probe.unlink()


def work_folder(given):
    """A new folder to unpack into: below the given one, or below the first suitable one."""
    tried = []
    for place in [given] if given else dict.fromkeys([tempfile.gettempdir(), *PLACES, os.path.expanduser("~")]):
        try:
            folder = tempfile.mkdtemp(prefix="locus-pack-", dir=place)
        except OSError as error:
            tried.append(f"{place}: {error.strerror}")
            continue
        if runs_programs(folder):
            return pathlib.Path(folder)
        os.rmdir(folder)
        tried.append(f"{place}: programs may not be run there")
    raise RuntimeError(f"found no folder to unpack into; {'; '.join(tried)}. Name one: --work DIR")


def unpack(root, manifest, folder):
    """Unpacks the programs of the pack into the folder. Throws RuntimeError if a file is damaged or missing."""
    wrong = damaged(root, manifest["files"])
    if wrong:
        raise RuntimeError(f"{', '.join(wrong)}: damaged or missing; copy the pack again")
    with decompressed(root / ARCHIVE) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
        archive.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    wrong = damaged(folder, manifest["programs"])
    if wrong:
        raise RuntimeError(f"{', '.join(wrong)}: not in {folder} as packed; free some space there, or name another: --work DIR")
    return {"unpacked": len(manifest["programs"])}


def main():
    import context  # these import modules that stand beside them in a pack
    import gpu
    import machine

    known = context.parser(BUDGET)
    known.description, known.prog = __doc__.partition("\n\n")[2], "run"
    known.add_argument("--out", type=pathlib.Path, metavar="DIR", default=pathlib.Path("locus-results"),
                       help="write the results there; default: locus-results")
    known.add_argument("--work", metavar="DIR", help="unpack below this folder; default: a temporary one")
    options = context.parse(known)
    manifest = json.loads((gpu.ROOT / "manifest.json").read_text())
    try:
        options.build = work_folder(options.work)
    except RuntimeError as error:
        sys.exit(f"run: {error}")
    try:
        facts = machine.describe(gpu.ROOT, None)
        facts["pack"] = {key: value for key, value in manifest.items() if key not in ("files", "programs")}
        facts.update({key: manifest[key] for key in ("commit", "modified", "toolkit")})
        out = options.out.resolve()
        started = context.start(gpu.ROOT, options, facts, out / "results.json", out / "results.log")
        return gpu.run(started, [("programs", lambda context: unpack(gpu.ROOT, manifest, context.build))])
    finally:
        shutil.rmtree(options.build, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
