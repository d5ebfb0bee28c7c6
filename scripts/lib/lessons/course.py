"""The course as shipped: what stands in the files of its lessons."""

import pathlib
import re

import common

SHIPPED = common.ROOT / "examples" / "lessons"
BANNER = "INTENDED TO FAIL."
TITLE = re.compile(r"Lesson (\d+): (.*\S)")
EXPECT_OUTPUT = re.compile(r"^//\s*expect-output:\s*(.*\S)\s*$", re.MULTILINE)
HINT = "hint:"


class Trouble(Exception):
    """What the learner has to be told, in one line."""


def comment_paragraphs(text):
    """The comment that a file begins with: its paragraphs, each a list of lines without the slashes."""
    paragraphs = [[]]
    for line in text.splitlines():
        if not line.startswith("//"):
            break
        words = line[2:].rstrip()
        if words.strip():
            paragraphs[-1].append(words[1:] if words.startswith(" ") else words)
        else:
            paragraphs.append([])
    return [paragraph for paragraph in paragraphs if paragraph]


def split_hints(paragraphs):
    """(the paragraphs without hints, the hints: lines that begin with 'hint:' and what is indented below, joined)"""
    kept, hints = [], []
    for paragraph in paragraphs:
        others, hint = [], []
        for line in paragraph:
            if line.startswith(HINT) or (hint and line.startswith(" ")):
                hint.append((line[len(HINT):] if line.startswith(HINT) else line).strip())
            else:
                others.append(line)
        kept += [others] if others else []
        hints += [" ".join(hint)] if hint else []
    return kept, hints


class Lesson:
    def __init__(self, exercise):
        self.name, self.exercise = exercise.stem, exercise
        self.number = int(self.name.split("_")[0])
        self.solution = exercise.parent / "solutions" / exercise.name
        self.check = exercise.parent / "checks" / exercise.name
        self.paragraphs = comment_paragraphs(read(exercise))
        head = TITLE.fullmatch(self.paragraphs[0][0]) if self.paragraphs else None
        self.title = head.group(2) if head else self.name

    def story(self):
        """Goal and PyTorch: all but title and banner."""
        return [lines for lines in self.paragraphs[1:] if not lines[0].startswith(BANNER)]

    def hints(self):
        return split_hints(comment_paragraphs(read(self.solution)))[1]

    def expected_output(self):
        """What the check prints with the exercise as shipped, where that one compiles."""
        return EXPECT_OUTPUT.findall(read(self.check))


def read(path):
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise Trouble(f"cannot read {path}: {error.strerror}")


def read_course(folder):
    """The lessons in order."""
    lessons = [Lesson(path) for path in sorted(pathlib.Path(folder).glob("[0-9][0-9]_*.cpp"))]
    if not lessons:
        raise Trouble(f"no lessons in {folder}")
    return lessons


def find_lesson(lessons, text):
    """The lesson of a number ('3', '03') or name."""
    for lesson in lessons:
        if text == lesson.name or (text.isdecimal() and int(text) == lesson.number):
            return lesson
    raise Trouble(f"no lesson {text}; there are {lessons[0].number} to {lessons[-1].number}, see --list")
