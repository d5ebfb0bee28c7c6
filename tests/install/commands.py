"""Shared by the checks of an installation: commands that must succeed, and the path of the user's programs."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))
import common  # noqa: E402


class Failed(Exception):
    pass


def must(*command, **options):
    status, output = common.run(command, **options)
    if status:
        raise Failed(f"{' '.join(map(str, command))}\n{output}")
    return output


def refused(*command, **options):
    """The output of a command that must fail."""
    status, output = common.run(command, **options)
    if status == 0:
        raise Failed(f"{' '.join(map(str, command))} succeeded\n{output}")
    return output


def check_little_is_compiled(target):
    """The object refers to symbols of the library, and defines no products, kernels or JSON reader itself."""
    symbols = must("nm", "-C", target).splitlines()
    defined = [line for line in symbols if " U " not in line]
    for name in ("multiply_tile", "CrossEntropyRow", "operation::Linear", "JsonReader"):
        if found := [line for line in defined if name in line]:
            raise Failed(f"compiled again: {found[0]}")
    if not any(" U " in line and "train_step" in line for line in symbols):
        raise Failed("train_step is not taken from the library")
