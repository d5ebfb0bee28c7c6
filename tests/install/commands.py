"""What the checks of an installation share: commands that must succeed, and where the programs of somebody else are."""

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
    """What a command that must fail says."""
    status, output = common.run(command, **options)
    if status == 0:
        raise Failed(f"{' '.join(map(str, command))} succeeded\n{output}")
    return output
