#!/usr/bin/env python3
"""Files that scripts write whole, whatever ends them."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest.mock

HERE = pathlib.Path(__file__).resolve()
LIBRARY = HERE.parents[2] / "scripts" / "lib"
sys.path[:0] = [str(HERE.parents[1] / "tools"), str(LIBRARY)]
import common  # noqa: E402
import whole_file  # noqa: E402

# Writes the file of its first argument, and at the sync does what the second says.
WRITER = f"""
import os, signal, sys
sys.path.insert(0, {str(LIBRARY)!r})
import whole_file
def at_sync(descriptor):
    if sys.argv[2] == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    print("at it", flush=True)
    sys.stdin.readline()
os.fsync = at_sync
whole_file.write(sys.argv[1], "of another process")
"""


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def check_replaced(folder):
    file = folder / "file"
    for data, mode in (("text \u00e4", 0o640), (b"\x00\xff", 0o640), ("", 0o600)):
        whole_file.write(file, data)
        assert file.read_bytes() == (data.encode() if isinstance(data, str) else data)
        assert names(folder) == ["file"]
        file.chmod(mode)
        whole_file.write(file, "more")
        assert file.stat().st_mode & 0o777 == mode


def check_synced(folder):
    calls = []
    real = {name: getattr(os, name) for name in ("fsync", "replace")}

    def log(name):
        def call(*arguments):
            target = os.readlink(f"/proc/self/fd/{arguments[0]}") if name == "fsync" else arguments[1].name
            calls.append((name, os.path.basename(target)))
            return real[name](*arguments)
        return unittest.mock.patch(f"os.{name}", side_effect=call)

    with log("fsync"), log("replace"):
        whole_file.write(folder / "file", "text")
    assert [name for name, _ in calls] == ["fsync", "replace", "fsync"], calls
    assert whole_file.TEMPORARY.search(calls[0][1]) and calls[2][1] == folder.name, calls


def check_failed(folder):
    file = folder / "file"
    whole_file.write(file, "old")
    for faulty in ("os.fsync", "os.replace"):
        with unittest.mock.patch(faulty, side_effect=OSError(28, "No space left on device")):
            try:
                whole_file.write(file, "new")
            except OSError as error:
                assert error.errno == 28
            else:
                raise AssertionError(f"{faulty} failed, and nothing was said")
        assert file.read_text() == "old" and names(folder) == ["file"]


def check_killed(folder):
    file = folder / "file"
    whole_file.write(file, "old")
    for _ in range(3):
        status = subprocess.run([sys.executable, "-c", WRITER, file, "die"]).returncode
        assert status == -signal.SIGKILL, status
        assert file.read_text() == "old" and len(names(folder)) == 2, names(folder)
    (folder / "notes.tmp").write_text("of somebody")
    whole_file.write(file, "new")
    assert file.read_text() == "new" and names(folder) == ["file", "notes.tmp"], names(folder)


def check_two_at_once(folder):
    file = folder / "file"
    writer = subprocess.Popen([sys.executable, "-c", WRITER, file, "wait"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    assert writer.stdout.readline() == "at it\n"
    whole_file.write(file, "mine")
    assert file.read_text() == "mine" and len(names(folder)) == 2, names(folder)
    writer.communicate("\n\n\n")
    assert writer.returncode == 0 and file.read_text() == "of another process" and names(folder) == ["file"]


def check_taken(folder):
    (folder / "file.locus-aa.tmp").write_text("kept")
    with open(folder / "file.locus-0000000000000000.tmp", "w") as taken:
        whole_file.fcntl.flock(taken, whole_file.fcntl.LOCK_EX)
        with unittest.mock.patch("secrets.token_hex", side_effect=["0" * 16, "0" * 16, "1" * 16]):
            whole_file.write(folder / "file", "text")
    assert (folder / "file").read_text() == "text" and len(names(folder)) == 3, names(folder)


def check(report):
    for name, test in list(globals().items()):
        if not name.startswith("check_"):
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(pathlib.Path(folder))
            except AssertionError as error:
                report.add(name, f"{error or 'failed'} at line {error.__traceback__.tb_next.tb_lineno}")
            else:
                report.add(name, None)


if __name__ == "__main__":
    common.main(check)
