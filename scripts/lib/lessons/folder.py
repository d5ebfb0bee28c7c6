"""The learner's folder: the exercises, and which of them are solved."""

import hashlib
import json
import os
import pathlib
from dataclasses import dataclass, field

import common
import whole_file

from . import attempts
from .course import Trouble

DEFAULT = common.ROOT / "build" / "lessons"


@dataclass
class Progress:
    current: str = ""
    solved: dict = field(default_factory=dict)  # {name of a lesson: fingerprint of the version that passed}


def parse_progress(text):
    """raises ValueError unless Folder.update wrote the text. A list of names without fingerprints is accepted: its
    lessons count as changed, so each is checked again."""
    data = json.loads(text)
    if not isinstance(data, dict):
        raise ValueError("not an object")
    current, solved = data.get("current"), data.get("solved")
    if isinstance(solved, list) and all(isinstance(name, str) for name in solved):
        solved = dict.fromkeys(solved, "")
    texts = [current, *solved.values()] if isinstance(solved, dict) else [None]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("expected a text 'current', and 'solved' with a text for each lesson")
    return Progress(current, solved)


def unused(path):
    """path.bak, or path.bak2 and so on: never overwrites an earlier backup."""
    names = [f"{path}.bak"] + [f"{path}.bak{i}" for i in range(2, 1000)]
    return pathlib.Path(next(name for name in names if not os.path.lexists(name)))


def shown(names):
    """Formats names from a file for a message: at most five, printable, truncated."""
    names = sorted(names)
    texts = [ascii(name)[1:-1] for name in names[:5]]
    texts = [text if len(text) <= 40 else text[:40] + "..." for text in texts]
    return ", ".join(texts) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


class Folder:
    """The learner's files and progress."""

    def __init__(self, path, lessons):
        self.path, self.lessons = pathlib.Path(path).expanduser().absolute(), lessons
        self.record = self.path / "progress.json"
        self.warning = None
        self.progress = self.load()
        unknown = {self.progress.current, *self.progress.solved} - {"", *(lesson.name for lesson in lessons)}
        if unknown:
            self.warning = (f"{self.record} names {shown(unknown)}, which this course does not have. That"
                            " is kept until --reset all.")

    def load(self):
        """The recorded progress. An unreadable record is kept under another name, with a warning."""
        try:
            return parse_progress(self.record.read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as error:
            raise Trouble(f"cannot read {self.record}: {error.strerror}")
        except (ValueError, RecursionError) as error:
            kept = unused(self.record)
            self.guard(lambda: os.replace(self.record, kept))
            self.warning = (f"{self.record} could not be understood ({error}) and was kept as {kept.name}. Your lessons"
                            " are untouched; one that was solved counts again once it is checked.")
        return Progress()

    def take_warning(self):
        """The pending warning, once."""
        warning, self.warning = self.warning, None
        return warning

    def guard(self, action):
        try:
            return action()
        except OSError as error:
            raise Trouble(f"cannot write in {self.path}: {error.strerror}; choose another folder with --dir DIR")

    def prepare(self):
        """Copies the missing exercises."""
        self.guard(lambda: self.path.mkdir(parents=True, exist_ok=True))
        for lesson in self.lessons:
            if not os.path.lexists(self.file(lesson)):
                self.guard(lambda: whole_file.write(self.file(lesson), lesson.exercise.read_bytes()))

    def file(self, lesson):
        return self.path / lesson.exercise.name

    def fingerprint(self, lesson):
        """Changes with the learner's file and with the check of the lesson; None if one cannot be read."""
        try:
            parts = [path.read_bytes() for path in (self.file(lesson), lesson.check)]
        except OSError:
            return None
        return hashlib.sha256(b"\0".join(parts)).hexdigest()

    def state(self, lesson):
        """'done'; 'changed' if an earlier version passed; or 'open'."""
        passed = self.progress.solved.get(lesson.name)
        if passed is None:
            return "open"
        return "done" if passed == self.fingerprint(lesson) else "changed"

    def is_solved(self, lesson):
        return self.state(lesson) == "done"

    def open_lessons(self):
        return [lesson for lesson in self.lessons if not self.is_solved(lesson)]

    def current(self):
        """The lesson last worked on, else the first."""
        return next((lesson for lesson in self.lessons if lesson.name == self.progress.current), self.lessons[0])

    def following(self, lesson):
        """The next open lesson, wrapping around after the last; None if all are solved."""
        ahead = self.open_lessons()
        return next((other for other in ahead if other.number > lesson.number), ahead[0] if ahead else None)

    def ahead(self):
        """The lesson to continue with: the one last worked on, or the next open one if it is solved; None if all
        are."""
        current = self.current()
        return self.following(current) if self.is_solved(current) else current

    def go_to(self, lesson):
        self.update(lambda progress: setattr(progress, "current", lesson.name))

    def attempt(self, lesson, file, compiler):
        """Attempts the lesson with the learner's file, and records the result unless the file was saved meanwhile.
        file: the path shown in messages"""
        before = self.fingerprint(lesson)
        tried = attempts.attempt(lesson, file, compiler)
        passed = self.progress.solved.get(lesson.name)
        if before is not None and before == self.fingerprint(lesson):
            if tried.solved and passed != before:
                self.update(lambda progress: progress.solved.update({lesson.name: before}))
            elif not tried.solved and passed == before:  # possible with another compiler, or another version of Locus
                self.forget(lesson)
        return tried

    def forget(self, lesson):
        self.update(lambda progress: progress.solved.pop(lesson.name, None))

    def reset(self, lesson):
        """Restores the exercise as shipped. Returns the name of the backup of the learner's version (None: no
        backup)."""
        file, kept = self.file(lesson), None
        shipped = lesson.exercise.read_bytes()

        def replace():
            nonlocal kept
            self.path.mkdir(parents=True, exist_ok=True)
            if os.path.lexists(file) and (not file.is_file() or file.read_bytes() != shipped):
                kept = unused(file)
                os.replace(file, kept)
            whole_file.write(file, shipped)

        self.guard(replace)
        if lesson.name in self.progress.solved:
            self.forget(lesson)
        return kept

    def begin_again(self):
        def clear(progress):
            progress.current, progress.solved = "", {}

        self.update(clear)

    def update(self, change):
        """Applies a change to the record, read anew because another terminal or an editor may have changed it."""
        self.progress = self.load()
        change(self.progress)
        data = json.dumps({"current": self.progress.current, "solved": self.progress.solved}, indent=2) + "\n"
        self.guard(lambda: whole_file.write(self.record, data))
