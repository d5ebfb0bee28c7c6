#!/usr/bin/env python3
"""scripts/lessons as a command, with a course of two small lessons."""

import json
import re
import sys
import unittest.mock

from small_course import MENDED, ROOT, TWICE, TWICE_CHECK, Calls, common

import cases
from lessons import attempts, course
from lessons.folder import Folder


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
        self.expect(0, "changed  units", options=["--list"])  # a failed attempt does not reset the lesson
        self.solve()  # the version that passed is back: no check needed
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
        folder = Folder(self.folder, lessons)
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
        with unittest.mock.patch.object(attempts, "PATIENCE", 0.2):
            self.assertEqual(attempts.run_check([program]), (1, "still running after 0.2 s, and stopped\n"))

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
        folder = Folder(self.folder, lessons)
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
        warning = Folder(self.folder, course.read_course(self.course)).take_warning()
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
        self.assertEqual(attempts.first_error("\n".join(said), "my.cpp"), said[:3])

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


if __name__ == "__main__":
    common.main(cases.check)
