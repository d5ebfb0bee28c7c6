"""Imported by the programs in Python: the counterpart of verdict.hpp."""

import sys

MISTAKE = "--mistake" in sys.argv


def passed():
    """Says that the mistake was made without an error: an exception that follows comes later."""
    print("PASSED", flush=True)


def verdict(right):
    """The end of a program, which knows whether its result is right."""
    print("RIGHT" if right else "SILENT")
