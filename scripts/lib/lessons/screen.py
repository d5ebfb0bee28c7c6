"""The learner's screen: a lesson, compiler output and the list, all wrapped to the terminal."""

import os
import pathlib
import re
import shutil
import sys
import textwrap

from .attempts import MARK

WHY = re.compile(r"why =\s[^;\]]+")  # in an error of g++; wrapped over several lines in a narrow terminal
KIND = re.compile(r"(?<=\d: )(?:fatal )?error:|(?<=\d: )(?:note|warning):", re.M)
KEYS = ["h hint", "w whole error", "n next", "l list", "r reset this lesson", "q quit"]
READ_ON = ("Read on: docs/placement.md has the rules of placement on one page, and examples/mnist.cpp trains a network"
           " on the device that is named when it runs; scripts/demo runs it.")


class Painter:
    """Text for the terminal, coloured unless NO_COLOR is set or the output is no terminal."""

    def __init__(self, coloured):
        self.coloured = coloured

    def paint(self, code, text):
        return f"\x1b[{code}m{text}\x1b[0m" if self.coloured else text

    def bold(self, text):
        return self.paint("1", text)

    def good(self, text):
        return self.paint("1;32", text)

    def bad(self, text):
        return self.paint("1;31", text)

    def compiler(self, lines):
        """Colours compiler output: the kind of message, the mark under the mistake, and the explanation that g++
        prints."""
        if not self.coloured:
            return lines
        text = "\n".join(lines)
        for regex, paint in ((KIND, self.bad), (MARK, self.bad), (WHY, self.bold)):
            text = regex.sub(lambda found: "\n".join(paint(line) for line in found[0].split("\n")), text)
        return text.split("\n") if lines else []


def columns():
    return shutil.get_terminal_size().columns or 80  # some terminals report a width of 0


def wrap(text):
    return textwrap.wrap(text, min(columns(), 100), break_long_words=False, break_on_hyphens=False)


def cut(source, mark, width):
    """A source line and the mark under it, both cut to the width around the mark."""
    margin = mark.find("|") + 2 if "|" in mark else 0  # older versions of clang print no margin
    room = max(width - margin, 1)
    at = len(mark) - len(mark.lstrip(" |")) - margin
    begin = max(0, min(at - room // 2, len(source) - margin - room))
    return [line[:margin] + line[margin + begin:margin + begin + room] for line in (source, mark)]


def fit(lines, width):
    """Wraps compiler output between words; source lines are cut instead."""
    done, rest = [], list(lines)
    while rest:
        line = rest.pop(0)
        if rest and MARK.fullmatch(rest[0]):
            done += cut(line, rest.pop(0), width)
        else:
            done += textwrap.wrap(line, width, subsequent_indent="    ", break_long_words=False,
                                  break_on_hyphens=False) or [""]
    return done


def show_keys():
    """The keys, wrapped between two of them only."""
    return [line.replace("\xa0", " ") for line in wrap("   ".join(key.replace(" ", "\xa0") for key in KEYS))]


def flow(lines):
    """A paragraph, wrapped to the terminal; indented lines stay as they are."""
    done, words = [], []
    for line in [*lines, " "]:
        if not line.startswith(" "):
            words.append(line)
            continue
        done += wrap(" ".join(words))
        done += [line] if line.strip() else []
        words = []
    return done


def shown_path(path):
    """Relative where the file is below the current folder."""
    relative = os.path.relpath(path)
    return pathlib.Path(path if relative.startswith("..") else relative)


def show_lesson(folder, lesson, painter):
    place = f"Lesson {lesson.number} of {len(folder.lessons)}: {lesson.title}"
    solved = len(folder.lessons) - len(folder.open_lessons())
    lines = [f"{painter.bold(place)}   ({solved} solved)", ""]
    for paragraph in lesson.story():
        lines += [*flow(paragraph), ""]
    return [*lines, f"Your file: {painter.bold(shown_path(folder.file(lesson)))}", ""]


def show_attempt(tried, painter, whole, remedy):
    lines = [painter.good(line) if tried.solved else painter.bad(line) for line in wrap(tried.verdict)]
    said = tried.whole.splitlines() if whole else tried.brief
    lines += painter.compiler(fit(said, columns()) if sys.stdout.isatty() else said)
    if tried.left_out() > 0 and not whole:
        lines.append(f"({tried.left_out()} more lines; {remedy} shows them all)")
    return lines


def what_next(folder, lesson, key=""):
    """The next lesson after a solved one, and the open lessons before it; after the last lesson, further reading."""
    following = folder.following(lesson)
    if following is None:
        return finale(folder)
    text = f"Next comes lesson {following.number}: {following.title}{key}."
    earlier = [other for other in folder.open_lessons() if other.number < lesson.number and other is not following]
    if earlier:
        changed = {"changed": " (changed since it passed)"}
        numbers = [f"{other.number}{changed.get(folder.state(other), '')}" for other in earlier]
        text += f" Still open before it: {', '.join(numbers)}."
    return wrap(text)


def show_hints(lesson):
    return [line for hint in lesson.hints() for line in wrap(f"Hint: {hint}")] or ["This lesson has no hint."]


def show_list(folder, painter):
    ahead, rows = folder.ahead(), []
    for lesson in folder.lessons:
        state = folder.state(lesson)
        mark = "current" if lesson is ahead and state == "open" else state
        row = f"{lesson.number:>3}  {mark:<8} {lesson.title}"
        rows.append(painter.good(row) if mark == "done" else painter.bold(row) if lesson is ahead else row)
    if any(folder.state(lesson) == "changed" for lesson in folder.lessons):
        rows += ["", *wrap("changed: it passed, but the file or its check is another now. It counts again once it is"
                           " opened and passes.")]
    return rows


def finale(folder):
    return [*wrap(f"All {len(folder.lessons)} lessons are solved. scripts/lessons NN opens one of them again."),
            *wrap(READ_ON)]


def farewell(folder):
    """One line for a learner who quits."""
    ahead, solved = folder.ahead(), len(folder.lessons) - len(folder.open_lessons())
    if ahead is None:
        return f"Goodbye. All {solved} lessons are solved."
    return f"Goodbye. {solved} of {len(folder.lessons)} solved; next time it goes on with lesson {ahead.number}."
