#!/usr/bin/env python3
"""Scripts write files atomically, however they end."""

import os
import pathlib
import signal
import subprocess
import sys
import unittest.mock

HERE = pathlib.Path(__file__).resolve()
LIBRARY = HERE.parents[2] / "scripts" / "lib"
sys.path[:0] = [str(HERE.parents[1] / "tools"), str(LIBRARY)]
import cases  # noqa: E402
import common  # noqa: E402
import whole_file  # noqa: E402

# Writes the file of its first argument; at the sync, executes the second argument.
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


class WholeFile(cases.Scratch):
    def setUp(self):
        super().setUp()
        self.file = self.root / "file"

    def assert_names(self, *names):
        self.assertEqual(sorted(path.name for path in self.root.iterdir()), list(names))

    def count(self):
        return len(list(self.root.iterdir()))

    def test_a_file_is_replaced_and_keeps_its_mode(self):
        for data, mode in (("text \u00e4", 0o640), (b"\x00\xff", 0o640), ("", 0o600)):
            whole_file.write(self.file, data)
            self.assertEqual(self.file.read_bytes(), data.encode() if isinstance(data, str) else data)
            self.assert_names("file")
            self.file.chmod(mode)
            whole_file.write(self.file, "more")
            self.assertEqual(self.file.stat().st_mode & 0o777, mode)

    def test_file_and_folder_are_synced(self):
        calls = []
        real = {name: getattr(os, name) for name in ("fsync", "replace")}

        def log(name):
            def call(*arguments):
                target = os.readlink(f"/proc/self/fd/{arguments[0]}") if name == "fsync" else arguments[1].name
                calls.append((name, os.path.basename(target)))
                return real[name](*arguments)
            return unittest.mock.patch(f"os.{name}", side_effect=call)

        with log("fsync"), log("replace"):
            whole_file.write(self.file, "text")
        self.assertEqual([name for name, _ in calls], ["fsync", "replace", "fsync"])
        self.assertRegex(calls[0][1], whole_file.TEMPORARY)
        self.assertEqual(calls[2][1], self.root.name)

    def test_what_fails_leaves_the_old_file(self):
        whole_file.write(self.file, "old")
        for faulty in ("os.fsync", "os.replace"):
            with unittest.mock.patch(faulty, side_effect=OSError(28, "No space left on device")), \
                    self.assertRaisesRegex(OSError, "No space left"):
                whole_file.write(self.file, "new")
            self.assertEqual(self.file.read_text(), "old")
            self.assert_names("file")

    def test_what_killed_processes_left_is_removed(self):
        whole_file.write(self.file, "old")
        for _ in range(3):
            status = subprocess.run([sys.executable, "-c", WRITER, self.file, "die"]).returncode
            self.assertEqual(status, -signal.SIGKILL)
            self.assertEqual((self.file.read_text(), self.count()), ("old", 2))
        (self.root / "notes.tmp").write_text("of somebody")
        whole_file.write(self.file, "new")
        self.assertEqual(self.file.read_text(), "new")
        self.assert_names("file", "notes.tmp")

    def test_two_at_once(self):
        with subprocess.Popen([sys.executable, "-c", WRITER, self.file, "wait"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as writer:
            self.addCleanup(writer.kill)
            self.assertEqual(writer.stdout.readline(), "at it\n")
            whole_file.write(self.file, "mine")
            self.assertEqual((self.file.read_text(), self.count()), ("mine", 2))
            writer.communicate("\n\n\n")
        self.assertEqual((writer.returncode, self.file.read_text()), (0, "of another process"))
        self.assert_names("file")

    def test_a_name_that_is_taken_is_left_alone(self):
        (self.root / "file.locus-aa.tmp").write_text("kept")
        with open(self.root / "file.locus-0000000000000000.tmp", "w") as taken:
            whole_file.fcntl.flock(taken, whole_file.fcntl.LOCK_EX)
            with unittest.mock.patch("secrets.token_hex", side_effect=["0" * 16, "0" * 16, "1" * 16]):
                whole_file.write(self.file, "text")
        self.assertEqual((self.file.read_text(), self.count()), ("text", 3))


if __name__ == "__main__":
    common.main(cases.check)
