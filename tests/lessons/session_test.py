#!/usr/bin/env python3
"""A session of scripts/lessons at a terminal."""

import fcntl
import os
import pathlib
import pty
import select
import shutil
import signal
import struct
import subprocess
import termios
import time

from small_course import MENDED, ROOT, UNITS, Calls, common

import cases


class Terminal:
    """The program in a pseudo-terminal."""

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
        """The output since the last call, up to and including all of these texts."""
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
        """(exit status, whether the terminal's mode is restored), after the goodbye"""
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


if __name__ == "__main__":
    common.main(cases.check)
