"""The course as shipped: the content of the lessons' files."""

import pathlib
import re

import common

SHIPPED = common.ROOT / "examples" / "lessons"
BANNER = "INTENDED TO FAIL."
TITLE = re.compile(r"Lesson (\d+): (.*\S)")
EXPECT_OUTPUT = re.compile(r"^//\s*expect-output:\s*(.*\S)\s*$", re.MULTILINE)
HINT = "hint:"


class Trouble(Exception):
    """A one-line message for the learner."""


def comment_paragraphs(text):
    """The paragraphs of the comment at the head of a file, each a list of lines without the slashes."""
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
    """(the paragraphs without hints, the hints). A hint is a line that begins with 'hint:', joined with the indented
    lines below."""
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
        """Goal and PyTorch: all paragraphs but title and banner."""
        return [lines for lines in self.paragraphs[1:] if not lines[0].startswith(BANNER)]

    def hints(self):
        return split_hints(comment_paragraphs(read(self.solution)))[1]

    def expected_output(self):
        """The expected output of the check with the exercise as shipped, if the exercise compiles."""
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
    """The lesson with this number ('3', '03') or name."""
    for lesson in lessons:
        if text == lesson.name or (text.isdecimal() and int(text) == lesson.number):
            return lesson
    raise Trouble(f"no lesson {text}; there are {lessons[0].number} to {lessons[-1].number}, see --list")
