#!/usr/bin/env python3
"""The course: every lesson on every compiler, and the runner with two small lessons of its own.

usage: lessons_test.py [--no-course]
"""

import contextlib
import fcntl
import io
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import struct
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
from cases import Scratch, check as run_cases

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
        """(the current lesson, the solved ones)"""
        record = json.loads((self.folder / "progress.json").read_text())
        return record["current"], list(record["solved"])


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
        self.assertEqual(self.progress(), ("01_units", ["01_units"]))
        self.expect(0, "Lesson 1 of 2", options=["--check"])
        self.expect(1, "Lesson 2 of 2: twice", "(1 solved)", "its check fails when it runs", "twice 2 is 4")
        self.expect(0, "done     units", "current  twice", options=["--list"])
        self.expect(1, "Lesson 2 of 2")
        self.solve(self.TWICE)
        self.expect(0, "Solved")
        self.expect(0, "All 2 lessons are solved", "docs/placement.md", "examples/mnist.cpp")
        self.expect(0, "done     twice", "!current", options=["--list"])

    def test_what_comes_next(self):
        for number in (3, 4):
            self.lesson(number, f"twice{number}", "twice() doubles.", TWICE, ("x + 1;", "x + x;"), TWICE_CHECK)
        self.call()
        for name in ("03_twice3.cpp", self.TWICE):
            self.solve(name)
        self.expect(0, "Solved", "Next comes lesson 4: twice4. Still open before it: 1, 2.\n", options=["3"])
        self.expect(0, "Next comes lesson 4: twice4. Still open before it: 1.\n", options=["2"])
        self.solve("04_twice4.cpp")
        self.expect(0, "Next comes lesson 1: units.\n", "!Still open", options=["4"])
        (self.folder / self.TWICE).write_text("")
        self.expect(0, "Next comes lesson 1: units. Still open before it: 2 (changed since it passed).", options=["4"])
        self.solve()
        self.expect(0, "Next comes lesson 2: twice.", "!All", options=["1"])
        self.solve(self.TWICE)
        self.expect(0, "All 4 lessons are solved", "Read on: docs/placement.md", "!Next comes", options=["1"])

    def test_what_is_named_to_read_on_is_there(self):
        for name in re.findall(r"(?:docs|examples|scripts)/[\w.]+", self.expect_finale()):
            self.assertTrue((ROOT / name).is_file(), name)

    def expect_finale(self):
        self.call()
        for name in (self.UNITS, self.TWICE):
            self.solve(name)
            output = self.expect(0, "Solved", options=[name[:2]])
        return output[output.index("Read on:"):]

    def test_a_lesson_that_is_broken_again_is_not_done(self):
        self.expect_finale()
        self.edit(f"learner/{self.UNITS}", MENDED, "")
        self.expect(0, "  1  changed  units", "  2  done     twice", "changed: it passed", options=["--list"])
        self.expect(1, "Lesson 1 of 2", "(1 solved)", "its check fails")
        self.expect(0, "changed  units", options=["--list"])  # to fail is not to begin again
        self.solve()  # what passed is back: no need to check
        self.expect(0, "done     units", "!changed", options=["--list"])
        self.expect(0, "All 2 lessons are solved")

    def test_a_lesson_that_is_changed_and_still_passes_is_done_once_it_is_checked(self):
        self.expect_finale()
        self.edit(f"learner/{self.UNITS}", "  return metres;", "  return metres;  // as I like it")
        self.expect(0, "changed  units", options=["--list"])
        self.expect(0, "Lesson 1 of 2", "Solved", "All 2 lessons are solved")
        self.expect(0, "done     units", options=["--list"])
        (self.folder / self.UNITS).unlink()
        self.expect(0, "changed  units", options=["--list"])

    def test_another_check_asks_again(self):
        self.expect_finale()
        self.edit("course/checks/01_units.cpp", "value > 3", "value > 4")
        self.expect(0, "changed  units", options=["--list"])
        self.expect(1, "Lesson 1 of 2", "its check fails")

    def test_what_passed_and_now_fails_is_open(self):
        self.expect_finale()
        compiler = self.write("g++", "#!/bin/sh\necho 'x.cpp:1:1: error: no'\nexit 1\n")
        compiler.chmod(0o755)
        self.expect(1, "It does not compile", options=["--check", "1", "--compiler", compiler])
        self.expect(0, "current  units", options=["--list"])

    def test_a_file_saved_while_it_is_compiled_is_not_recorded(self):
        self.call()
        self.solve()
        compiler = self.write("g++", f"#!/bin/sh\necho >>{self.folder / self.UNITS}\nexec g++ \"$@\"\n")
        compiler.chmod(0o755)
        self.expect(0, "Solved", options=["--compiler", compiler])
        self.assertEqual(self.progress()[1], [])

    def test_what_another_terminal_recorded_is_kept(self):
        lessons = course.read_course(self.course)
        folder = course.Folder(self.folder, lessons)
        folder.prepare()
        self.solve(self.TWICE)
        self.expect(0, "Solved", options=["--check", "2"])
        folder.go_to(lessons[0])
        self.assertEqual(self.progress(), ("01_units", ["02_twice"]))

    def test_the_whole_error(self):
        part = self.expect(1, "more lines; --whole shows them all)", options=["--check"])
        whole = self.expect(1, "!more lines", options=["--check", "--whole"])
        self.assertGreater(len(whole.splitlines()), len(part.splitlines()))
        self.assertEqual(whole, self.expect(1, options=["--whole"]))
        self.assertIn("note:", whole)
        check = "\n".join(f'  std::puts("line {i}");' for i in range(20))
        self.edit("course/checks/02_twice.cpp", "  return 1;", check + "\n  return 1;")
        self.expect(1, "line 10", "!line 11", "(9 more lines; --whole shows them all)", options=["--check", "2"])
        self.expect(1, "line 19", "!more lines", options=["--check", "2", "--whole"])

    def test_who_deletes_the_line_is_not_let_through(self):
        self.call()
        self.edit(f"learner/{self.UNITS}", "  metres = feet;  // <- mend this\n", "")
        self.expect(1, "its check fails when it runs", "ten feet are more than three metres", "!Solved")
        self.edit(f"learner/{self.UNITS}", "Metres length(Feet feet)", "Metres length(Metres feet)")
        self.expect(1, "It compiles, but it does not do what the lesson asks for", "error:", "!Solved")
        (self.folder / self.UNITS).write_text("")
        self.expect(1, "It compiles, but", "!Solved")
        self.assertEqual(self.progress()[1], [])

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
        self.assertEqual(self.progress()[0], "02_twice")

    def test_reset_keeps_what_was_written(self):
        self.call()
        shipped = (self.folder / self.UNITS).read_text()
        self.solve()
        self.call()
        self.expect(0, "01_units.cpp.bak", options=["--reset"])
        self.assertEqual((self.folder / self.UNITS).read_text(), shipped)
        self.assertIn(MENDED, (self.folder / "01_units.cpp.bak").read_text())
        self.assertEqual(self.progress()[1], [])
        (self.folder / self.UNITS).write_text("another")
        self.expect(0, "01_units.cpp.bak2", "02_twice: as shipped\n", options=["--reset", "all"])
        self.assertIn(MENDED, (self.folder / "01_units.cpp.bak").read_text())
        self.assertEqual(self.progress(), ("", []))
        self.expect(0, "02_twice: as shipped", "!units", options=["--reset", "02"])

    def test_progress_that_cannot_be_read(self):
        self.call()
        corrupt = [b"{ not json", b"[]", b'{"current": "01_units", "solved": [1]}', b"\xff\xfe", b"", b"[" * 100000,
                   b'{"current": "01_units", "solved": {"01_units": 1}}', b'{"current": 1, "solved": {}}', b"\0" * 50]
        for number, text in enumerate(corrupt, 1):
            (self.folder / "progress.json").write_bytes(text)
            kept = "progress.json.bak" + (str(number) if number > 1 else "")
            self.expect(1, "progress.json could not be understood", f"kept as {kept}.", "Lesson 1 of 2")
            self.assertEqual((self.folder / kept).read_bytes(), text)
            self.expect(1, "!understood")

    def test_a_record_without_fingerprints(self):
        self.call()
        self.solve()
        (self.folder / "progress.json").write_text('{"current": "01_units", "solved": ["01_units"]}')
        self.expect(0, "changed  units", "!understood", options=["--list"])
        self.expect(0, "Lesson 1 of 2", "Solved")

    def test_progress_of_another_course(self):
        self.folder.mkdir()
        (self.folder / "progress.json").write_text('{"current": "09_gone", "solved": {"09_gone": "a", "08_gone": "b"}}')
        self.expect(1, "progress.json names 08_gone, 09_gone, which this course does not have", "Lesson 1 of 2")
        self.solve()
        self.expect(0, "names 08_gone, 09_gone,", "Solved")
        self.assertEqual(self.progress(), ("01_units", ["09_gone", "08_gone", "01_units"]))
        self.expect(0, options=["--reset", "all"])
        self.expect(1, "Lesson 1 of 2", "!gone")

    def test_a_folder_that_cannot_be_written(self):
        lessons = course.read_course(self.course)
        folder = course.Folder(self.folder, lessons)
        folder.prepare()
        folder.go_to(lessons[1])
        before = (self.folder / "progress.json").read_bytes()
        for reason in (PermissionError(13, "Permission denied"), OSError(28, "No space left on device")):
            for faulty in ("os.replace", "os.fsync"):
                with unittest.mock.patch(faulty, side_effect=reason):
                    with self.assertRaisesRegex(course.Trouble, f"cannot write in .*{reason.strerror}.*--dir DIR"):
                        folder.go_to(lessons[0])
                self.assertEqual((self.folder / "progress.json").read_bytes(), before)
        self.assertEqual([path.name for path in self.folder.glob("*.tmp")], [])
        (self.folder / "progress.json").unlink()
        (self.folder / "progress.json").mkdir()
        self.expect(2, "cannot read", "progress.json: Is a directory")

    def test_names_of_a_record_do_not_fill_the_screen(self):
        self.folder.mkdir()
        names = {"x" * 100_000: "", "a\x1b[2J": "", **{f"gone {i}": "" for i in range(1000)}}
        (self.folder / "progress.json").write_text(json.dumps({"current": "", "solved": names}))
        warning = course.Folder(self.folder, course.read_course(self.course)).take_warning()
        self.assertLess(len(warning), 600)
        self.assertIn("and 997 more, which this course does not have", warning)
        self.assertNotIn("\x1b", warning)
        self.assertIn("a\\x1b[2J", warning)

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

    def test_the_source_of_the_first_error_is_shown_wherever_it_begins(self):
        said = ["my.cpp:1:8: error: no", "Metres wrong;", "       ^", "my.cpp:1:8: note: here", "Metres wrong;", "   ^"]
        self.assertEqual(course.first_error("\n".join(said), "my.cpp"), said[:3])

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

    def __init__(self, command, columns=80, **env):
        self.mine, theirs = pty.openpty()
        self.resize(columns)
        self.before = termios.tcgetattr(self.mine)
        environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS")}
        self.process = subprocess.Popen([str(part) for part in command], stdin=theirs, stdout=theirs, stderr=theirs,
                                        env={**environment, "TERM": "xterm", **env}, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(theirs, termios.TIOCSCTTY, 0))
        os.close(theirs)
        self.text = ""

    def resize(self, columns):
        fcntl.ioctl(self.mine, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

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

    def leave(self, key="q"):
        """(exit status, whether the terminal is as it was), once it said goodbye"""
        self.press(key, "Goodbye. ")
        return self.end()

    def end(self):
        status = self.process.wait(30)
        return status, termios.tcgetattr(self.mine) == self.before

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.mine)


class AtATerminal(Calls):
    KEYS = "q quit"

    def start(self, *options, **env):
        command = [ROOT / "scripts" / "lessons", "--course", self.course, "--dir", self.folder, *options]
        terminal = Terminal(command, **env)
        self.addCleanup(terminal.close)
        return terminal

    def test_a_session(self):
        terminal = self.start(NO_COLOR="1")
        seen = terminal.wait_for("Lesson 1 of 2", "It does not compile", "Save your file", self.KEYS)
        self.assertNotIn("\x1b[1m", seen)
        terminal.press("n", "not solved yet", self.KEYS)
        terminal.press("h", "Hint: Think of the unit", self.KEYS)
        self.assertNotIn("Goal", terminal.press("l", "current  units", "open     twice", "l goes back", self.KEYS))
        self.assertNotIn("twice", terminal.press("l", "Goal", "Hint", self.KEYS))
        terminal.press("l", "l goes back", self.KEYS)
        terminal.press("w", "error:", self.KEYS)
        self.edit(f"learner/{self.UNITS}", "  metres = feet;  // <- mend this\n", "")
        terminal.wait_for("Compiling", "its check fails", "ten feet", self.KEYS)
        terminal.press("l", "l goes back", self.KEYS)
        self.solve()
        seen = terminal.wait_for("Compiling", "Solved", "Next comes lesson 2: twice; n goes on to it.", self.KEYS)
        self.assertNotIn("Hint", seen.split("Solved")[-1])
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
        again.wait_for("Solved", "All 2 lessons are solved", "Read on: docs/placement.md", self.KEYS)
        again.press("n", "Goodbye. All 2 lessons are solved.\r\n")
        self.assertEqual(again.end(), (0, True))

    def test_the_file_disappears_and_comes_back(self):
        terminal = self.start(NO_COLOR="1")
        terminal.wait_for("does not compile", self.KEYS)
        (self.folder / self.UNITS).unlink()
        terminal.wait_for("is gone", self.KEYS)
        terminal.press("r", "does not compile", self.KEYS)
        self.assertEqual(terminal.leave(), (1, True))

    def test_ctrl_c(self):
        terminal = self.start(NO_COLOR="1")
        terminal.wait_for("does not compile", self.KEYS)
        terminal.press("\x03", "Goodbye. 0 of 2 solved; next time it goes on with lesson 1.\r\n")
        self.assertEqual(terminal.end(), (130, True))

    def test_ctrl_c_while_it_compiles(self):
        compiler = self.write("g++", f"#!/bin/sh\necho $$ >{self.root / 'running'}\nexec sleep 60\n")
        compiler.chmod(0o755)
        terminal = self.start("--compiler", compiler, NO_COLOR="1")
        terminal.wait_for("Compiling", self.KEYS)
        while not (self.root / "running").exists():
            time.sleep(0.01)
        time.sleep(0.2)
        terminal.press("\x03", "Goodbye. ")
        self.assertEqual(terminal.end(), (130, True))
        self.assertNotIn("Traceback", terminal.text)
        self.assertFalse(pathlib.Path("/proc", (self.root / "running").read_text().strip()).exists())

    def test_a_session_that_is_ended(self):
        terminal = self.start(NO_COLOR="1")
        terminal.wait_for("does not compile", self.KEYS)
        terminal.process.send_signal(signal.SIGTERM)
        self.assertEqual(terminal.end(), (143, True))
        self.assertNotIn("Traceback", terminal.text)

    def test_ctrl_d_leaves(self):
        terminal = self.start(NO_COLOR="1")
        terminal.wait_for("does not compile", self.KEYS)
        self.assertEqual(terminal.leave("\x04"), (1, True))

    def test_a_narrow_terminal(self):
        self.call()
        (self.folder / self.UNITS).write_text(
            UNITS.replace("metres = feet;", MENDED)
            + 'inline const char* text = "' + 70 * "x" + '"; Metres wrong = Feet{1}; int after_it = 1;\n')
        for name, path in common.find_compilers(every=True).items():
            if name != "nvcc":
                terminal = self.start("--compiler", path, columns=40, NO_COLOR="1")
                terminal.wait_for("does not compile", self.KEYS)
                lines = terminal.press("h", "Hint").split("It does not compile")[-1].split("\r\n")
                mark = next(i for i, line in enumerate(lines) if "^" in line)
                self.assertRegex(lines[mark - 1][lines[mark].index("^"):], r"^(Feet\{1|wrong = Feet)")
                self.assertLessEqual(max(len(line) for line in lines[1:] if str(self.root) not in line), 40, lines)
                self.assertEqual(terminal.leave(), (1, True))

    def test_colours_of_an_error(self):
        said = (r"x.cpp:2:1: error: no [why =\n   is_on<Cpu>; D = Cuda]\n  2 | error:\n    |   ^~~\n"
                r"x.cpp:2:1: note: here\n")
        compiler = self.write("g++", f"#!/bin/sh\nprintf '{said}'\nexit 1\n")
        compiler.chmod(0o755)
        terminal = self.start("--whole", "--compiler", compiler)
        terminal.wait_for("x.cpp:2:1: \x1b[1;31merror:\x1b[0m no [\x1b[1mwhy =\x1b[0m\r\n"  # as in a narrow terminal
                          "\x1b[1m   is_on<Cpu>\x1b[0m; D = Cuda]\r\n  2 | error:\r\n"
                          "\x1b[1;31m    |   ^~~\x1b[0m\r\nx.cpp:2:1: \x1b[1;31mnote:\x1b[0m here\r\n", self.KEYS)
        self.assertEqual(terminal.leave(), (1, True))

    def test_another_width(self):
        terminal = self.start(NO_COLOR="1")
        terminal.wait_for("In PyTorch this would be a number without a unit.\r\n", "does not compile", self.KEYS)
        terminal.resize(30)
        seen = terminal.wait_for("number without a unit.\r\n", self.KEYS)
        self.assertIn("In PyTorch this would be a\r\nnumber without a unit.", seen)
        self.assertIn("h hint   w whole error\r\n", seen)
        self.assertEqual(terminal.leave(), (1, True))

    def test_back_from_the_background(self):
        terminal = self.start(NO_COLOR="1")
        terminal.wait_for("does not compile", self.KEYS)
        termios.tcsetattr(terminal.mine, termios.TCSANOW, terminal.before)  # as a shell does
        terminal.process.send_signal(signal.SIGCONT)
        terminal.wait_for("does not compile", self.KEYS)
        self.assertEqual(terminal.leave(), (1, True))

    def test_a_warning_stays_on_the_screen(self):
        self.call()
        (self.folder / "progress.json").write_text("{")
        terminal = self.start(NO_COLOR="1")
        terminal.wait_for("does not compile", "w shows them all", "progress.json.bak", self.KEYS)
        self.assertNotIn("progress.json.bak", terminal.press("h", "Hint", self.KEYS))
        self.assertEqual(terminal.leave(), (1, True))

    def test_whole_from_the_start(self):
        terminal = self.start("--whole", NO_COLOR="1")
        self.assertIn("note:", terminal.wait_for("does not compile", self.KEYS))
        terminal.press("w", "more lines; w shows them all", self.KEYS)
        self.assertEqual(terminal.leave(), (1, True))

    def test_a_terminal_that_can_do_nothing(self):
        terminal = self.start(TERM="dumb")
        seen = terminal.wait_for("does not compile", "--whole shows them all")
        self.assertNotIn("\x1b", seen)
        self.assertEqual(terminal.end(), (1, True))

    def test_colours_and_keys_that_mean_nothing(self):
        terminal = self.start()
        self.assertIn("\x1b[1;31m", terminal.wait_for("It does not compile", self.KEYS))
        terminal.press("\x1b[A\x1bOBxyz\x1b[1;5Dl", "current", self.KEYS)
        self.assertEqual(terminal.leave(), (1, True))


@unittest.skipUnless(shutil.which("g++"), "no g++ here")
class Verification(Course):
    """A course with a known fault must be reported."""

    def faults(self, names=("gcc",)):
        report, said = common.Report(), io.StringIO()
        with contextlib.redirect_stdout(said):
            table = verify_course.verify(course.read_course(self.course), list(names), report)
        return report, said.getvalue() + table

    def assert_fault(self, *texts, names=("gcc",)):
        report, said = self.faults(names)
        self.assertGreater(report.failed, 0, said)
        for text in texts:
            self.assertIn(text, said)

    def test_a_good_course(self):
        report, said = self.faults()
        self.assertEqual((report.passed, report.failed, report.skipped), (8, 0, 0), said)
        self.assertRegex(said, r"01_units +\d+\n02_twice +runs\n")
        self.assertRegex(said, r"01_units +\d\.\d \d\.\d\n02_twice +\d\.\d \d\.\d\nslowest to its error: 0")

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

    @unittest.skipUnless("clang" in common.find_compilers(), "no clang++ here")
    def test_a_deletion_that_clang_alone_lets_through(self):
        self.edit("course/checks/01_units.cpp", "int main() {", "int main() {\n#ifdef __clang__\n  return 0;\n#endif")
        self.assert_fault("01_units deleted (clang)", names=["gcc", "clang"])

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
                ("checks/01_units.cpp", "#include LESSON", "", "whose first include is not '#include LESSON'")]:
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
