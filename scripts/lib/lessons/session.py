"""The interactive loop: answers keys, and compiles a file again when it is saved."""

import os
import re
import select
import signal
import sys
import time

from .screen import farewell, show_attempt, show_hints, show_keys, show_lesson, show_list, shown_path, what_next, wrap

ESCAPE = re.compile(r"\x1b(?:\[[0-9;]*.|O.|.)?")
POLL = 0.2  # seconds between two polls of the file
REDRAW, END = "\x0c", "\x04"  # Ctrl-L, Ctrl-D


class Keyboard:
    """While open, reads single keys without Enter and without echo."""

    def __enter__(self):
        import termios
        import tty
        self.descriptor = sys.stdin.fileno()
        self.before = termios.tcgetattr(self.descriptor)
        self.restore = lambda: termios.tcsetattr(self.descriptor, termios.TCSADRAIN, self.before)
        def take(*_):
            tty.setcbreak(self.descriptor)
            self.outdated = True

        signal.signal(signal.SIGCONT, take)  # after Ctrl-Z and fg
        signal.signal(signal.SIGWINCH, lambda *_: setattr(self, "outdated", True))
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        take()
        self.outdated = False  # whether the screen has to be redrawn
        return self

    def __exit__(self, *_):
        self.restore()

    def read(self, seconds):
        """The keys pressed within this time; END if the terminal is closed. Escape sequences, such as arrows, are
        ignored."""
        typed = ""
        if select.select([self.descriptor], [], [], seconds)[0]:
            typed = ESCAPE.sub("", os.read(self.descriptor, 64).decode(errors="ignore") or END).lower()
        if self.outdated:
            typed, self.outdated = REDRAW + typed, False
        return typed


def stamp(file):
    """Changes whenever the file is saved, in place or by renaming another file over it."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


class Session:
    """One learner at one terminal."""

    def __init__(self, folder, compiler, painter, whole=False):
        self.folder, self.compiler, self.painter, self.always_whole = folder, compiler, painter, whole
        self.open(folder.current())

    def open(self, lesson):
        self.folder.go_to(lesson)
        self.lesson, self.whole, self.tried, self.seen, self.note = lesson, self.always_whole, None, (), []
        self.hint = self.listing = False

    def check(self):
        if self.tried:  # the result of the previous attempt
            self.note, self.listing = [], False
        self.draw([f"Compiling with {self.compiler[0]} ..."])
        self.seen = stamp(self.folder.file(self.lesson))
        self.tried = self.folder.attempt(self.lesson, shown_path(self.folder.file(self.lesson)), self.compiler)
        self.hint = self.hint and not self.tried.solved
        self.draw()

    def draw(self, instead=None):
        lines = show_list(self.folder, self.painter) if self.listing else self.show(instead)
        self.note += wrap(self.folder.take_warning() or "")
        lines += ["", *self.note] if self.note else []
        if self.listing:
            lines += ["", "l goes back to the lesson."]
        elif instead or not self.tried.solved:
            lines += ["", *wrap("Save your file, and it is compiled again.")]
        else:
            lines += ["", *what_next(self.folder, self.lesson, "; n goes on to it")]
        print("\x1b[2J\x1b[H" + "\n".join([*lines, "", *show_keys()]), flush=True)

    def show(self, instead):
        lines = show_lesson(self.folder, self.lesson, self.painter)
        lines += instead or show_attempt(self.tried, self.painter, self.whole, "w")
        return lines + (["", *show_hints(self.lesson)] if self.hint else [])

    def press(self, key):
        """Returns whether the session continues."""
        if key in ("q", END):
            return False
        if key not in "hwlrn" + REDRAW:
            return True
        if key == REDRAW:
            self.draw()
            return True
        self.note, self.listing = [], key == "l" and not self.listing
        if key == "r":
            return self.reset()
        if key == "n":
            return self.next()
        if key == "h":
            self.hint = not self.hint
        elif key == "w":
            self.whole = not self.whole
        self.draw()
        return True

    def reset(self):
        kept = self.folder.reset(self.lesson)
        self.open(self.lesson)
        self.note = wrap(f"The lesson is as it was. What you wrote is kept as {kept.name}." if kept else
                         "Your file is the lesson as it was; there was nothing to reset.")
        return True

    def next(self):
        if not self.folder.is_solved(self.lesson):
            self.note = wrap("This lesson is not solved yet. (scripts/lessons NN opens any lesson.)")
            self.draw()
            return True
        following = self.folder.following(self.lesson)
        if following is None:
            return False
        self.open(following)
        return True

    def watch(self, keyboard):
        going = True
        while going:
            if stamp(self.folder.file(self.lesson)) != self.seen:
                time.sleep(0.05)  # editors write in several steps
                self.check()
            for key in keyboard.read(POLL):
                going = going and self.press(key)

    def run(self):
        interrupted = False
        with Keyboard() as keyboard:
            try:
                self.watch(keyboard)
            except KeyboardInterrupt:
                interrupted = True
        print(("\n" if interrupted else "") + farewell(self.folder))
        return 130 if interrupted else 0 if self.folder.is_solved(self.lesson) else 1
