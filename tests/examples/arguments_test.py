#!/usr/bin/env python3
"""Examples refuse numbers and tables that they cannot use, in words.

usage: arguments_test.py DDP REGRESSION
"""

import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import common  # noqa: E402

NUMBERS = {"--save-every": ["0", "-1", "2.5", "many", "99999999999", ""], "--epochs": ["0", "1e3"], "--ranks": ["-1", "2x"]}
TABLES = {"words": ("a,b\n1,2\nthree,4\n", "holds 'three' in line 3; expected numbers"),
          "a unit": ("a,b\n1,2 m\n", "holds '2 m' in line 2"),
          "an empty cell": ("a,b\n1,\n", "has 1 columns in line 2; expected 2"),
          "a longer row": ("a,b\n1,2\n1,2,3\n1\n", "has 3 columns in line 3; expected 2"),
          "nothing": ("", "holds no table of numbers"),
          "a heading alone": ("a,b\n", "holds no table of numbers")}


def check_all(report):
    ddp, regression = (pathlib.Path(program).resolve() for program in sys.argv[1:3])

    def refuses(what, command, text):
        status, output = common.run([*command, "--device", "cpu"])
        report.add(what, None if status == 1 and text in output else f"status {status}: {output}")

    for option, values in NUMBERS.items():
        for value in values:
            refuses(f"ddp {option} '{value}'", [ddp, option, value], f"ddp: {option} is '{value}'; expected a whole number")
    refuses("ddp --epoch", [ddp, "--epoch", "3"], "'--epoch' is no option with a value; expected --device")
    with tempfile.TemporaryDirectory() as folder:
        for what, (content, text) in TABLES.items():
            table = pathlib.Path(folder) / "table.csv"
            table.write_text(content)
            refuses(f"a table with {what}", [regression, table], text)
        refuses("a table that is not there", [regression, pathlib.Path(folder) / "none"], "holds no table of numbers")


if __name__ == "__main__":
    common.main(check_all)
