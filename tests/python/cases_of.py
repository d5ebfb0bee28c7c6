"""A list of cases that are functions, and the program that runs them; it ends with the line of every test program."""

import sys
import traceback


def registry():
    """A decorator that adds a case, and the function that runs all of them."""
    cases = []

    def case(function):
        cases.append(function)
        return function

    def main():
        failed = 0
        for function in cases:
            try:
                function()
            except Exception:  # noqa: BLE001
                failed += 1
                print(f"FAILED {function.__name__}")
                traceback.print_exc(file=sys.stdout)
        print(f"{len(cases) - failed} passed, {failed} failed, 0 skipped")
        return 1 if failed else 0

    return case, main


def raises(kind, text, call):
    """Checks that the call raises an exception of this kind whose message has the text."""
    try:
        call()
    except kind as error:
        assert text in str(error), f"the message lacks {text!r}: {error}"
        return
    raise AssertionError(f"no {kind.__name__} was raised")
