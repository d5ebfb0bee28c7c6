#!/usr/bin/env python3
"""Examples refuse unknown options and unusable numbers, with a message.

usage: arguments_test.py DDP REGRESSION PROGRAM...
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import common  # noqa: E402

NUMBERS = {"--save-every": ["0", "-1", "2.5", "many", "99999999999", ""], "--epochs": ["0", "1e3"], "--ranks": ["-1", "2x"]}


def check_all(report):
    ddp, regression, *others = (pathlib.Path(program).resolve() for program in sys.argv[1:])

    def refuses(what, command, text):
        status, output = common.run(command)
        report.add(what, None if status == 1 and text in output else f"status {status}: {output}")

    for option, values in NUMBERS.items():
        for value in values:
            text = f"ddp: {option} is '{value}'; expected a whole number"
            refuses(f"ddp {option} '{value}'", [ddp, "--device", "cpu", option, value], text)
            refuses(f"ddp {option}='{value}'", [ddp, "--device=cpu", f"{option}={value}"], text)
    for given, wrong in (("--epoch 3", "--epoch"), ("--device", "--device"), ("cpu", "cpu"), ("--device cpu --x=3", "--x=3")):
        for command in ([ddp], [regression, "no-table.csv"], *([other] for other in others)):
            name = command[0].name
            refuses(f"{name} {given}", [*command, *given.split()],
                    f"{name}: '{wrong}' is no option with a value; expected --device")


if __name__ == "__main__":
    common.main(check_all)
