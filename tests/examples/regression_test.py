#!/usr/bin/env python3
"""The example regression: it learns, and names a cell of a table that is no number.

usage: regression_test.py PROGRAM TABLE
"""

import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import cases  # noqa: E402
import common  # noqa: E402

PROGRAM, TABLE = sys.argv[1:] if len(sys.argv) > 2 else ("", "")


class Regression(cases.Scratch):
    def run_on(self, table):
        done = subprocess.run([PROGRAM, table, "--device", "cpu"], capture_output=True, timeout=120, text=True)
        return done.returncode, done.stderr

    def refusal(self, text):
        status, said = self.run_on(self.write("table.csv", text))
        self.assertEqual(status, 1, said)
        return said

    def test_it_learns(self):
        self.assertEqual(self.run_on(TABLE), (0, ""))

    def test_words_and_short_rows_are_named(self):
        self.assertIn("table.csv', line 3: column 'price': 'many' is no number", self.refusal("area,price\n1,2\n3,many\n"))
        self.assertIn("table.csv', line 3: column 'price': the value is missing", self.refusal("area,price\n1,2\n3,\n"))
        self.assertIn("table.csv', line 3: a row of 1 cells; expected 2", self.refusal("area,price\n1,2\n3\n"))
        self.assertIn("table.csv', line 2: column 'price': '2 m' is no number", self.refusal("area,price\n1,2 m\n"))

    def test_tables_without_rows_and_files_that_are_not_there(self):
        self.assertIn("holds a table of shape (0, 2)", self.refusal("area,price\n"))
        self.assertIn("there is nothing in it", self.refusal(""))
        status, said = self.run_on(self.root / "none.csv")
        self.assertEqual(status, 1, said)
        self.assertIn("No such file or directory", said)


if __name__ == "__main__":
    common.main(cases.check)
