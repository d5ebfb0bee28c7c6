#!/usr/bin/env python3
"""The course: every lesson on every compiler, and the runner with two small lessons of its own.

usage: lessons_test.py [--no-course]
"""

import contextlib
import io
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import termios
import time
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "tools"), str(ROOT / "scripts" / "lib")]
import common
import course
import verify_course
from tools_test import Scratch, check as run_cases

HEAD = """// Lesson {number}: {title}
//
// INTENDED TO FAIL. This file does not do its work yet.
//
// Goal: {goal}
//
// In PyTorch this would be a number without a unit.
"""
HINTS = """//
// hint: Think of the
//       unit,
// hint: then of the number.
"""
UNITS = """struct Metres {
  double value;
};
struct Feet {
  double value;
};

inline Metres length(Feet feet) {
  Metres metres{0};
  metres = feet;  // <- mend this
  return metres;
}
"""
MENDED = "metres = Metres{feet.value * 0.3048};"
UNITS_CHECK = """// expect-error: Feet
#include LESSON

#include <cstdio>

int main() {
  if (length(Feet{10}).value > 3) return 0;
  std::puts("ten feet are more than three metres");
  return 1;
}
"""
TWICE = "inline int twice(int x) {\n  return x + 1;  // <- mend this\n}\n"
TWICE_CHECK = """// expect-output: twice 2 is 4
#include LESSON

#include <cstdio>

static_assert(sizeof(twice(0)) == sizeof(int));

int main() {
  if (twice(2) == 4) return 0;
  std::puts("twice 2 is 4");
  return 1;
}
"""


class Course(Scratch):
    """Two lessons that include nothing, so that each compiles at once: one does not compile, one is wrong."""

    def setUp(self):
        super().setUp()
        self.course, self.folder = self.root / "course", self.root / "learner"
        mended = ("metres = feet;  // <- mend this", MENDED)
        self.lesson(1, "units", "length() converts feet.", UNITS, mended, UNITS_CHECK)
        self.lesson(2, "twice", "twice() doubles.", TWICE, ("x + 1;  // <- mend this", "x + x;"), TWICE_CHECK)

    def lesson(self, number, title, goal, code, mend, check_text):
        head = HEAD.format(number=number, title=title, goal=goal)
        solved_head = re.sub(r"// INTENDED.*\n//\n", "", head) + HINTS
        name = f"{number:02}_{title}.cpp"
        self.write(f"course/{name}", head + code)
        self.write(f"course/solutions/{name}", solved_head + code.replace(*mend))
        self.write(f"course/checks/{name}", check_text)

    def edit(self, path, *replacement):
        file = self.root / path
        self.assertIn(replacement[0], file.read_text())
        file.write_text(file.read_text().replace(*replacement))


class Calls(Course):
    UNITS, TWICE = "01_units.cpp", "02_twice.cpp"

    def call(self, *options, **more):
        more.setdefault("stdin", subprocess.DEVNULL)
        command = [ROOT / "scripts" / "lessons", "--course", self.course, "--dir", self.folder, *options]
        status, output = common.run(command, **more)
        self.assertNotIn("Traceback", output)
        return status, output

    def expect(self, status, *texts, options=(), **more):
        """One call: its exit status, and what it prints. A text that begins with '!' must not be there."""
        got, output = self.call(*options, **more)
        self.assertEqual(got, status, output)
        for text in texts:
            self.assertIs(text.lstrip("!") in output, not text.startswith("!"), f"{text} in: {output}")
        return output

    def solve(self, name=UNITS):
        shutil.copy(self.course / "solutions" / name, self.folder / name)

    def progress(self):
        return json.loads((self.folder / "progress.json").read_text())


class Runner(Calls):
    def test_the_first_call_copies_and_shows_the_first_lesson(self):
        self.expect(1, "Lesson 1 of 2: units", "Goal: length() converts feet.", "In PyTorch this would", "!INTENDED",
                    str(self.folder / self.UNITS), "error:", "Feet", "!Hint", "!\x1b")
        for name in (self.UNITS, self.TWICE):
            self.assertEqual((self.folder / name).read_text(), (self.course / name).read_text())

    def test_what_the_learner_wrote_is_not_overwritten(self):
        self.call()
        (self.folder / self.UNITS).write_text("my own attempt\n")
        (self.folder / self.TWICE).unlink()
        self.expect(1, "my own attempt")
        self.assertEqual((self.folder / self.UNITS).read_text(), "my own attempt\n")
        self.assertTrue((self.folder / self.TWICE).exists())

    def test_a_solved_lesson_stays_solved_and_the_next_one_follows(self):
        self.call()
        self.solve()
        self.expect(0, "Solved", "(0 solved)")
        self.assertEqual(self.progress(), {"current": "01_units", "solved": ["01_units"]})
        self.expect(0, "Lesson 1 of 2", options=["--check"])
        self.expect(1, "Lesson 2 of 2: twice", "(1 solved)", "its check fails when it runs", "twice 2 is 4")
        self.expect(0, "done     units", "current  twice", options=["--list"])
        self.expect(1, "Lesson 2 of 2")
        self.solve(self.TWICE)
        self.expect(0, "Solved")
        self.expect(0, "All 2 lessons are solved")
        self.expect(0, "done     twice", "!current", options=["--list"])

    def test_who_deletes_the_line_is_not_let_through(self):
        self.call()
        self.edit(f"learner/{self.UNITS}", "  metres = feet;  // <- mend this\n", "")
        self.expect(1, "its check fails when it runs", "ten feet are more than three metres", "!Solved")
        self.edit(f"learner/{self.UNITS}", "Metres length(Feet feet)", "Metres length(Metres feet)")
        self.expect(1, "It compiles, but it does not do what the lesson asks for", "error:", "!Solved")
        (self.folder / self.UNITS).write_text("")
        self.expect(1, "It compiles, but", "!Solved")
        self.assertEqual(self.progress()["solved"], [])

    def test_a_template_that_fails_only_where_the_check_uses_it(self):
        self.call()
        self.solve()
        self.call()
        (self.folder / "02_twice.cpp").write_text("template <class X>\nint twice(X x) {\n  return x.doubled();\n}\n")
        self.expect(1, "It compiles by itself, but not where the check uses it:", "doubled", "!Solved")

    def test_a_check_that_crashes(self):
        self.call()
        self.edit(f"learner/{self.UNITS}", "metres = feet;", "__builtin_trap();")
        self.expect(1, "its check fails when it runs", "ended by SIG", "!Solved")

    def test_a_check_that_does_not_end(self):
        program = self.write("endless", "#!/bin/sh\nexec sleep 60\n")
        program.chmod(0o755)
        with unittest.mock.patch.object(course, "PATIENCE", 0.2):
            self.assertEqual(course.run_check(program), (1, "still running after 0.2 s, and stopped\n"))

    def test_list_hint_and_another_lesson(self):
        self.expect(0, "current  units", "open     twice", options=["--list"])
        self.expect(0, "Hint: Think of the unit, then of the number.", options=["--hint"])
        self.assertFalse(self.folder.exists())
        self.expect(1, "Lesson 2 of 2", options=["2"])
        self.expect(0, "current  twice", "open     units", options=["--list"])
        self.expect(1, "Lesson 1 of 2", options=["--check", "01_units"])
        self.assertEqual(self.progress()["current"], "02_twice")

    def test_reset_keeps_what_was_written(self):
        self.call()
        shipped = (self.folder / self.UNITS).read_text()
        self.solve()
        self.call()
        self.expect(0, "01_units.cpp.bak", options=["--reset"])
        self.assertEqual((self.folder / self.UNITS).read_text(), shipped)
        self.assertIn(MENDED, (self.folder / "01_units.cpp.bak").read_text())
        self.assertEqual(self.progress()["solved"], [])
        (self.folder / self.UNITS).write_text("another")
        self.expect(0, "01_units.cpp.bak2", "02_twice: as shipped\n", options=["--reset", "all"])
        self.assertIn(MENDED, (self.folder / "01_units.cpp.bak").read_text())
        self.expect(0, "02_twice: as shipped", "!units", options=["--reset", "02"])

    def test_progress_that_cannot_be_read(self):
        self.call()
        corrupt = [b"{ not json", b"[]", b'{"current": "01_units", "solved": [1]}', b"\xff\xfe", b"", b"[" * 100000]
        for number, text in enumerate(corrupt, 1):
            (self.folder / "progress.json").write_bytes(text)
            kept = "progress.json.bak" + (str(number) if number > 1 else "")
            self.expect(1, "progress.json could not be understood", f"kept as {kept}.", "Lesson 1 of 2")
            self.assertEqual((self.folder / kept).read_bytes(), text)
            self.expect(1, "!understood")

    def test_progress_of_another_course(self):
        self.folder.mkdir()
        (self.folder / "progress.json").write_text('{"current": "09_gone", "solved": ["09_gone", "01_units"]}')
        self.expect(1, "Lesson 2 of 2", "(1 solved)")

    def test_a_write_that_fails_leaves_the_old_file(self):
        file = self.write("file", "old")
        with unittest.mock.patch.object(os, "replace", side_effect=OSError("disk full")):
            self.assertRaises(OSError, course.write_whole, file, b"new")
        self.assertEqual([path.name for path in self.root.iterdir() if path.is_file()], ["file"])
        self.assertEqual(file.read_text(), "old")

    def test_mistakes_of_the_caller(self):
        self.expect(2, "no lesson 7; there are 1 to 2", options=["7"])
        self.expect(2, "no lesson 7", options=["--reset", "7"])
        self.expect(2, "--compiler no-such: no such compiler", options=["--compiler", "no-such"])
        self.expect(2, "$CXX no-such: no such compiler", env={"CXX": "no-such"})
        self.expect(2, "no C++ compiler found", env={"CXX": "", "PATH": self.path_with("python3")})
        self.expect(2, "no lessons in", options=["--course", self.root / "nothing"])
        self.expect(2, "expected gcc,clang,clang19,nvcc", options=["--verify-all", "--compilers", "icc"])
        self.write("file", "")
        for folder in (self.root / "file", self.root / "file" / "below"):
            self.expect(2, "cannot write in", "--dir", options=["--dir", folder])

    def path_with(self, *programs):
        for program in programs:
            (self.root / "bin").mkdir(exist_ok=True)
            (self.root / "bin" / program).symlink_to(sys.executable)
        return f"{self.root / 'bin'}"

    def test_every_compiler_that_is_here(self):
        for name, path in common.find_compilers(every=True).items():
            if name != "nvcc":
                self.expect(1, "It does not compile", "error:", options=["--compiler", path])
                self.expect(1, "It does not compile", "error:", env={"CXX": path})

    def test_a_folder_with_blanks(self):
        self.folder = self.root / "my lessons"
        self.call()
        self.solve()
        self.expect(0, "Solved")


class Terminal:
    """The runner at a terminal of its own."""

    def __init__(self, command, **env):
        self.mine, theirs = pty.openpty()
        self.before = termios.tcgetattr(self.mine)
        environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        self.process = subprocess.Popen([str(part) for part in command], stdin=theirs, stdout=theirs, stderr=theirs,
                                        env={**environment, "TERM": "xterm", **env})
        os.close(theirs)
        self.text = ""

    def wait_for(self, *texts, seconds=60):
        """What was printed since the last call, up to and with all of these."""
        end = time.monotonic() + seconds
        while not all(text in self.text for text in texts):
            if not select.select([self.mine], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError(f"{texts} did not come: {self.text}")
            try:
                self.text += os.read(self.mine, 65536).decode(errors="replace")
            except OSError:
                raise AssertionError(f"ended before {texts}: {self.text}") from None
        seen, self.text = self.text, ""
        return seen

    def press(self, keys, *texts):
        os.write(self.mine, keys.encode())
        return self.wait_for(*texts)

    def leave(self):
        """Presses q; (exit status, whether the terminal is as it was)"""
        os.write(self.mine, b"q")
        status = self.process.wait(30)
        return status, termios.tcgetattr(self.mine) == self.before

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.mine)


class AtATerminal(Calls):
    KEYS = "q quit"

    def start(self, **env):
        terminal = Terminal([ROOT / "scripts" / "lessons", "--course", self.course, "--dir", self.folder], **env)
        self.addCleanup(terminal.close)
        return terminal

    def test_a_session(self):
        terminal = self.start(NO_COLOR="1")
        seen = terminal.wait_for("Lesson 1 of 2", "It does not compile", "Save your file", self.KEYS)
        self.assertNotIn("\x1b[1m", seen)
        terminal.press("n", "not solved yet", self.KEYS)
        terminal.press("h", "Hint: Think of the unit", self.KEYS)
        terminal.press("l", "current  units", "open     twice", self.KEYS)
        terminal.press("w", "error:", self.KEYS)
        self.edit(f"learner/{self.UNITS}", "  metres = feet;  // <- mend this\n", "")
        terminal.wait_for("Compiling", "its check fails", "ten feet", self.KEYS)
        self.solve()
        terminal.wait_for("Compiling", "Solved", "n goes on", self.KEYS)
        self.assertNotIn("Hint", terminal.press("n", "Lesson 2 of 2", "(1 solved)", "twice 2 is 4", self.KEYS))
        (self.folder / self.TWICE).write_text("mine")
        terminal.wait_for("does not compile", self.KEYS)
        terminal.press("r", "02_twice.cpp.bak", "twice 2 is 4", self.KEYS)
        self.assertEqual((self.folder / "02_twice.cpp.bak").read_text(), "mine")
        self.assertEqual(terminal.leave(), (1, True))

        again = self.start(NO_COLOR="1")
        again.wait_for("Lesson 2 of 2", "(1 solved)", "twice 2 is 4", self.KEYS)
        beside = self.root / "beside"  # as editors save: another file, renamed
        shutil.copy(self.course / "solutions" / self.TWICE, beside)
        os.replace(beside, self.folder / self.TWICE)
        again.wait_for("Solved", self.KEYS)
        again.press("n", "All 2 lessons are solved")
        self.assertEqual(again.process.wait(30), 0)

    def test_the_file_disappears_and_comes_back(self):
        terminal = self.start(NO_COLOR="1")
        terminal.wait_for("does not compile", self.KEYS)
        (self.folder / self.UNITS).unlink()
        terminal.wait_for("is gone", self.KEYS)
        terminal.press("r", "does not compile", self.KEYS)
        self.assertEqual(terminal.leave(), (1, True))

    def test_a_session_that_is_interrupted(self):
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            terminal = self.start(NO_COLOR="1")
            terminal.wait_for("does not compile", self.KEYS)
            terminal.process.send_signal(number)
            self.assertEqual(terminal.process.wait(30), status)
            self.assertNotIn("Traceback", terminal.text)
            self.assertEqual(termios.tcgetattr(terminal.mine), terminal.before)

    def test_colours_and_keys_that_mean_nothing(self):
        terminal = self.start()
        self.assertIn("\x1b[1;31m", terminal.wait_for("It does not compile", self.KEYS))
        terminal.press("\x1b[A\x1bOBxyz\x1b[1;5Dl", "current", self.KEYS)
        self.assertEqual(terminal.leave(), (1, True))


@unittest.skipUnless(shutil.which("g++"), "no g++ here")
class Verification(Course):
    """A course with a known fault must be reported."""

    def faults(self):
        report, said = common.Report(), io.StringIO()
        with contextlib.redirect_stdout(said):
            table = verify_course.verify(course.read_course(self.course), ["gcc"], report)
        return report, said.getvalue() + table

    def assert_fault(self, *texts):
        report, said = self.faults()
        self.assertGreater(report.failed, 0, said)
        for text in texts:
            self.assertIn(text, said)

    def test_a_good_course(self):
        report, said = self.faults()
        self.assertEqual((report.passed, report.failed, report.skipped), (8, 0, 0), said)
        self.assertRegex(said, r"01_units +\d+\n02_twice +runs$")

    def test_a_compiler_that_is_not_here(self):
        with unittest.mock.patch.object(common, "find_compilers", return_value={}):
            report, said = self.faults()
        self.assertEqual((report.passed, report.failed, report.skipped), (2, 0, 2), said)

    def test_an_exercise_that_compiles(self):
        self.edit("course/01_units.cpp", "metres = feet;", MENDED)
        self.assert_fault("01_units as shipped (gcc)", "compiles as shipped")

    def test_another_message(self):
        self.edit("course/checks/01_units.cpp", "expect-error: Feet", "expect-error: Miles")
        self.assert_fault("does not match 'Miles'")

    def test_too_many_lines(self):
        self.edit("course/01_units.cpp", "metres = feet;", "metres = feet; " * 4)
        self.assert_fault("12 allowed")

    def test_another_output(self):
        self.edit("course/checks/02_twice.cpp", "expect-output: twice 2 is 4", "expect-output: five")
        self.assert_fault("02_twice as shipped (gcc)", "does not print 'five'")

    def test_a_run_time_lesson_that_does_not_compile(self):
        self.edit("course/02_twice.cpp", "x + 1", "y + 1")
        self.assert_fault("02_twice as shipped (gcc)", "it does not compile")

    def test_a_solution_that_is_none(self):
        self.edit("course/solutions/01_units.cpp", "0.3048", "0.1")
        self.assert_fault("01_units solved (gcc)", "ten feet are more")

    def test_a_check_that_lets_everybody_through(self):
        self.edit("course/checks/01_units.cpp", "if (length(Feet{10}).value > 3) return 0;", "return 0;")
        self.assert_fault("01_units deleted (gcc)")

    def test_comments(self):
        for path, *replacement, said in [
                ("01_units.cpp", "Lesson 1:", "Lesson 3:", "does not begin with"),
                ("01_units.cpp", "INTENDED TO FAIL.", "Careful.", "no paragraph 'INTENDED TO FAIL.'"),
                ("01_units.cpp", "// Goal:", "// Aim:", "no paragraph 'Goal:'"),
                ("01_units.cpp", "PyTorch", "NumPy", "no paragraph about PyTorch"),
                ("01_units.cpp", "// <- mend this", "", "has no '// <- mend this'"),
                ("solutions/01_units.cpp", "converts feet", "converts", "differs from its solution"),
                ("solutions/01_units.cpp", "// hint:", "//", "without '// hint: '"),
                ("checks/01_units.cpp", "// expect-error", "// expected", "no '// expect-error"),
                ("checks/01_units.cpp", "#include LESSON", "", "without '#include LESSON'")]:
            before = (self.course / path).read_text()
            self.edit(f"course/{path}", *replacement)
            self.assert_fault("01_units (comments)", said)
            (self.course / path).write_text(before)

    def test_files_without_their_others(self):
        self.write("course/checks/05_gone.cpp", "")
        (self.course / "solutions/02_twice.cpp").unlink()
        self.assert_fault("05_gone.cpp belongs to no lesson", "02_twice.cpp is missing")


def check(report):
    run_cases(report)
    if "--no-course" not in sys.argv:
        print(verify_course.verify(course.read_course(course.SHIPPED), verify_course.compile_fail.COMPILERS, report))


if __name__ == "__main__":
    common.main(check)
