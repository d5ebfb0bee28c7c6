"""The course of lessons: its files, the learner's folder, and what the compiler and the check say to an attempt."""

import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "tools"))
import common
import whole_file

SHIPPED = common.ROOT / "examples" / "lessons"
FOLDER = common.ROOT / "build" / "lessons"
BANNER = "INTENDED TO FAIL."
BRIEF = 12
PATIENCE = 20  # seconds until a check program is stopped
TITLE = re.compile(r"Lesson (\d+): (.*\S)")
EXPECT_OUTPUT = re.compile(r"^//\s*expect-output:\s*(.*\S)\s*$", re.MULTILINE)
HINT = "hint:"
ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|\x1b\]8;.*?(?:\x1b\\|\x07)")
ERROR = re.compile(r"\berror:(?!:)")
MARK = re.compile(r"^[ |]*[\^~][\^~ ]*$", re.MULTILINE)  # under a line of the source


class Trouble(Exception):
    """What the learner has to be told, in one line."""


# ---- the course as shipped

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


# ---- the learner's folder

@dataclass
class Progress:
    current: str = ""
    solved: dict = field(default_factory=dict)  # {name of a lesson: fingerprint of what passed}


def parse_progress(text):
    """raises ValueError where the text is not what Folder.update writes. A list of names, without fingerprints, is
    understood too: it counts as changed since, so each of them is checked again."""
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
    """path.bak, or path.bak2 and so on: backups do not overwrite backups."""
    names = [f"{path}.bak"] + [f"{path}.bak{i}" for i in range(2, 1000)]
    return pathlib.Path(next(name for name in names if not os.path.lexists(name)))


def shown(names):
    """Names that a file holds, for a message: some of them, printable, and not too long."""
    names = sorted(names)
    texts = [ascii(name)[1:-1] for name in names[:5]]
    texts = [text if len(text) <= 40 else text[:40] + "..." for text in texts]
    return ", ".join(texts) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


class Folder:
    """Where the learner's files are, and how far they got."""

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
        """What is recorded. A record that cannot be understood is kept under another name, with a warning."""
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
        """What has not been said yet, once."""
        warning, self.warning = self.warning, None
        return warning

    def guard(self, action):
        try:
            return action()
        except OSError as error:
            raise Trouble(f"cannot write in {self.path}: {error.strerror}; choose another folder with --dir DIR")

    def prepare(self):
        """Copies the exercises that are not there yet."""
        self.guard(lambda: self.path.mkdir(parents=True, exist_ok=True))
        for lesson in self.lessons:
            if not os.path.lexists(self.file(lesson)):
                self.guard(lambda: whole_file.write(self.file(lesson), lesson.exercise.read_bytes()))

    def file(self, lesson):
        return self.path / lesson.exercise.name

    def fingerprint(self, lesson):
        """Changes with the learner's file and with the check of the lesson; None where one cannot be read."""
        try:
            parts = [path.read_bytes() for path in (self.file(lesson), lesson.check)]
        except OSError:
            return None
        return hashlib.sha256(b"\0".join(parts)).hexdigest()

    def state(self, lesson):
        """'done', 'changed' where it passed, but what passed is not what is there now, or 'open'."""
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
        """The next open lesson, from the start again after the last; None where all are solved."""
        ahead = self.open_lessons()
        return next((other for other in ahead if other.number > lesson.number), ahead[0] if ahead else None)

    def ahead(self):
        """The lesson to go on with: the one last worked on, or where it is solved the next; None where all are."""
        current = self.current()
        return self.following(current) if self.is_solved(current) else current

    def go_to(self, lesson):
        self.update(lambda progress: setattr(progress, "current", lesson.name))

    def attempt(self, lesson, file, compiler):
        """The attempt at what is in the learner's file, recorded unless that was saved meanwhile. file: as it is to be
        named"""
        before = self.fingerprint(lesson)
        tried = attempt(lesson, file, compiler)
        passed = self.progress.solved.get(lesson.name)
        if before is not None and before == self.fingerprint(lesson):
            if tried.solved and passed != before:
                self.update(lambda progress: progress.solved.update({lesson.name: before}))
            elif not tried.solved and passed == before:  # with another compiler, or another Locus
                self.forget(lesson)
        return tried

    def forget(self, lesson):
        self.update(lambda progress: progress.solved.pop(lesson.name, None))

    def reset(self, lesson):
        """The exercise as shipped; what the learner wrote is kept under the name that is returned (None: nothing)."""
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
        """Changes what is recorded now, which another terminal or an editor may have added to."""
        self.progress = self.load()
        change(self.progress)
        data = json.dumps({"current": self.progress.current, "solved": self.progress.solved}, indent=2) + "\n"
        self.guard(lambda: whole_file.write(self.record, data))


# ---- an attempt

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
    return [*compiler, *common.CXX, "-Wall", "-Wextra", *common.INCLUDES]


def syntax_command(compiler, file):
    return [*base(compiler), "-fsyntax-only", file]


def check_command(compiler, lesson, file, program):
    return [*base(compiler), f'-DLESSON="{file.absolute()}"', lesson.check, "-o", program]


@dataclass
class Attempt:
    solved: bool
    verdict: str
    brief: list = field(default_factory=list)  # lines to show at once
    whole: str = ""
    ran: bool = False  # the check, that is
    seconds: float = 0  # of processor time, to compile

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
        status, output = run_check(program)
    if status:
        verdict = "It compiles, but its check fails when it runs:"
        return Attempt(False, verdict, output.splitlines()[:BRIEF], output, ran=True, seconds=seconds)
    return Attempt(True, "Solved: it compiles, and the check of the lesson passes.", seconds=seconds)


def run_check(program):
    """(exit status, what the program printed and how it ended)"""
    try:
        status, output = common.run([program], timeout=PATIENCE, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return 1, f"still running after {PATIENCE} s, and stopped\n"
    if status < 0:
        return status, output + f"ended by {signal.Signals(-status).name}\n"
    return status, output or (f"ended with status {status}\n" if status else "")


def first_error(output, file):
    """The first error line and its snippet; where it points elsewhere, also the first line about the learner's file."""
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
