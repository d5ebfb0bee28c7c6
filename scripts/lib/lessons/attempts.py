"""An attempt at a lesson: the compiler's output for the learner's file, and the result of the lesson's check."""

import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass, field

import common

from .course import Trouble

WARNINGS = ["-Wall", "-Wextra"]
BRIEF = 12  # lines that are shown at first
PATIENCE = 20  # seconds until a check program is stopped
ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|\x1b\]8;.*?(?:\x1b\\|\x07)")
ERROR = re.compile(r"\berror:(?!:)")
MARK = re.compile(r"^[ |]*[\^~][\^~ ]*$", re.MULTILINE)  # under a line of the source


def find_compiler(asked):
    """The command of the compiler, as a list: `asked`, else $CXX, else g++, else clang++."""
    wish, origin = (asked, "--compiler") if asked else (os.environ.get("CXX", "").strip(), "$CXX")
    if wish:
        words = shlex.split(wish)
        if not words or not shutil.which(words[0]):
            raise Trouble(f"{origin} {wish}: no such compiler; expected g++, clang++-14 or the path of one")
        if "nvcc" in pathlib.Path(words[0]).name:
            raise Trouble(f"{origin} {wish}: the lessons need no CUDA; expected g++, clang++-14 or the path of one")
        return words
    found = shutil.which("g++") or shutil.which("clang++")
    if not found:
        raise Trouble("no C++ compiler found; on Debian: apt-get install g++, or name one with --compiler PATH")
    return [found]


def base(compiler):
    return [*compiler, *common.CXX, *WARNINGS, *common.INCLUDES]


def syntax_command(compiler, file):
    return [*base(compiler), "-fsyntax-only", file]


def check_flags(compiler):
    """A missing return is undefined behaviour, which differs between compilers; therefore it is an error."""
    return [*base(compiler), "-Werror=return-type"]


def check_command(compiler, lesson, file, program):
    return [*check_flags(compiler), f'-DLESSON="{file.absolute()}"', lesson.check, "-o", program]


@dataclass
class Attempt:
    solved: bool
    verdict: str
    brief: list = field(default_factory=list)  # lines to show at first
    whole: str = ""
    ran: bool = False  # whether the check ran
    seconds: float = 0  # processor time of the compilation

    def left_out(self):
        return len(self.whole.splitlines()) - len(self.brief)


def attempt(lesson, file, compiler):
    """Compiles the learner's file, then builds and runs the check of the lesson with it."""
    if not file.is_file():
        return Attempt(False, f"{file} is gone. Resetting the lesson brings it back.")
    status, output, seconds = common.run_timed(syntax_command(compiler, file))
    if status:
        brief = first_error(output, file)
        return Attempt(False, "It does not compile. The first error:", brief, output, seconds=seconds)
    tried = attempt_check(lesson, file, compiler)
    tried.seconds += seconds
    return tried


def attempt_check(lesson, file, compiler):
    with tempfile.TemporaryDirectory() as scratch:
        program = pathlib.Path(scratch) / "check"
        status, output, seconds = common.run_timed(check_command(compiler, lesson, file, program))
        if status:
            brief = first_error(output, file)
            by_itself = any(str(file.absolute()) in line and "error:" in line for line in brief)
            verdict = "It compiles by itself, but not where the check uses it:" if by_itself else \
                "It compiles, but it does not do what the lesson asks for:"
            return Attempt(False, verdict, brief, output, seconds=seconds)
        tried = attempt_run([program])
    tried.seconds = seconds
    return tried


def attempt_run(command):
    """Runs the program of a check."""
    status, output = run_check(command)
    if status:
        verdict = "It compiles, but its check fails when it runs:"
        return Attempt(False, verdict, output.splitlines()[:BRIEF], output, ran=True)
    return Attempt(True, "Solved: it compiles, and the check of the lesson passes.")


def run_check(command):
    """(exit status, output of the program and how it ended)"""
    try:
        status, output = common.run(command, timeout=PATIENCE, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return 1, f"still running after {PATIENCE} s, and stopped\n"
    if status < 0:
        return status, output + f"ended by {signal.Signals(-status).name}\n"
    return status, output or (f"ended with status {status}\n" if status else "")


def first_error(output, file):
    """The first error line and its snippet; if it points into another file, also the first line about the learner's
    file."""
    lines = output.splitlines()
    plain = [ANSI.sub("", line) for line in lines]

    def with_snippet(at):
        end = at + 1
        while end < len(lines) and (plain[end][:1].isspace() or MARK.fullmatch("".join(plain[end + 1:end + 2]))):
            end += 1
        return lines[at:end]

    at = next((i for i, line in enumerate(plain) if ERROR.search(line)), None)
    if at is None:
        return lines[:BRIEF]
    shown = with_snippet(at)
    here = re.compile(re.escape(str(file)) + r":\d+")
    if not here.match(plain[at]):
        cause = next((i for i, line in enumerate(plain) if here.match(line)), None)
        shown += with_snippet(cause) if cause is not None else []
    return shown[:BRIEF]
