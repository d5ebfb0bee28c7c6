#!/usr/bin/env python3
"""The example names: it learns its own list and a folder of lists, and refuses folders without them.

usage: names_test.py PROGRAM
"""

import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import cases  # noqa: E402
import common  # noqa: E402

PROGRAM = sys.argv[1] if len(sys.argv) > 1 else ""


class Names(cases.Scratch):
    def run_with(self, *options):
        done = subprocess.run([PROGRAM, "--device", "cpu", *options], capture_output=True, timeout=120, text=True)
        return done.returncode, done.stdout, done.stderr

    def unseen(self, said):
        return float(re.search(r"accuracy on unseen names: ([\d.]+)", said)[1])

    def test_it_learns_its_own_list(self):
        status, said, errors = self.run_with()
        self.assertEqual((status, errors), (0, ""))
        self.assertIn("20 languages, 320 names to learn from, 80 unseen", said)
        self.assertGreater(self.unseen(said), 0.2)  # four times the accuracy by chance

    def test_a_folder_of_lists(self):
        for language, vowel in (("Aish", "a"), ("Oish", "o"), ("Uish", "\u00fc")):
            names = [f"{first}{vowel}{second}{vowel}" for first in "BDKLM" for second in "nrstv"]
            self.write(f"{language}.txt", "\n".join(names) + "\n")
        self.write("README.md", "no list")
        status, said, errors = self.run_with("--names", str(self.root), "--epochs", "10")
        self.assertEqual((status, errors), (0, ""))
        self.assertIn("3 languages, 60 names to learn from, 15 unseen", said)
        self.assertGreater(self.unseen(said), 0.9)

    def test_folders_that_hold_no_lists(self):
        for text, expected in ((None, "has 0 files *.txt; expected two or more"), ("Ann\n", "has 1 files *.txt; expected two or more"),
                               ("\n", "one.txt' holds no names; expected one in each line")):
            if text:
                self.write("one.txt", text)
            status, _, errors = self.run_with("--names", str(self.root))
            self.assertEqual(status, 1)
            self.assertIn(expected, errors)
        status, _, errors = self.run_with("--names", str(self.root / "none"))
        self.assertEqual(status, 1)
        self.assertIn("No such file or directory", errors)


if __name__ == "__main__":
    common.main(cases.check)
