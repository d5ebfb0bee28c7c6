"""A page for each lesson of the course: its text, its program, the messages of the compilers, hints and solution folded."""

import functools
import html
import json
import os
import re
import textwrap

import explorer
from lessons import course, form, messages

from . import ROOT

EXPLORER = "compiler-explorer.md"
HEADERS = os.environ.get("LOCUS_SITE_HEADERS")  # the address of the single headers, if the site is built for one
# Names of code in the comment of a lesson: calls, types with arguments, qualified names and names with an underscore.
NAME = re.compile(r"(?<![\w`])(?:\.?\b[\w:]+(?:<[^<>\n]*>)+(?:\([^()\n]*\))?|\.?\b[\w:.]*\w\([^()\n]*\)|\b\w+::[\w:]+|\b\w*[a-z]_\w+)(?![\w`])")


@functools.cache
def lessons():
    return course.read_course(course.SHIPPED)


def place(lesson):
    return f"course/{lesson.name.replace('_', '-')}.md"


def places():
    return [place(lesson) for lesson in lessons()] + ([EXPLORER] if HEADERS else [])


def marked(text):
    """The plain text of a comment as Markdown: names of code as code, other characters as they are."""
    parts, at = [], 0
    for name in NAME.finditer(text):
        parts += [escaped(text[at:name.start()]), f"`{name[0]}`"]
        at = name.end()
    return "".join([*parts, escaped(text[at:])])


def escaped(text):
    return re.sub(r"([*_\[\]`\\])", r"\\\1", html.escape(text, quote=False))


def sentence(text):
    """A capital letter at the beginning, unless that is a name of code."""
    return text if NAME.match(text) else text[:1].upper() + text[1:]


def program_of(path):
    """The program below the comment at its head."""
    lines = course.read(path).splitlines()
    while lines and lines[0].startswith("//"):
        lines.pop(0)
    return "\n".join(lines).strip()


def listing(program, name):
    marks = [str(number) for number, line in enumerate(program.splitlines(), 1) if form.MEND in line]
    of_marks = f' hl_lines="{" ".join(marks)}"' if marks else ""
    return f'``` {{ .cpp title="{name}"{of_marks} }}\n{program}\n```'


def folded(kind, title, text):
    return f'??? {kind} "{title}"\n\n{textwrap.indent(text, "    ")}\n'


def said(lesson):
    """The recorded messages, a tab for each compiler."""
    recorded, versions = messages.read(lesson)
    if "check" in recorded:
        return ("## What the check prints\n\nThe program compiles. Its check fails when it runs:\n\n"
                "``` { .text .message }\n" + "\n".join(recorded["check"]) + "\n```\n")
    tabs = [f'=== "{versions[name]}"\n\n' + textwrap.indent("``` { .text .message }\n" + "\n".join(recorded[name]) + "\n```\n", "    ")
            for name in messages.NAMES if name in recorded]
    return "## What the compiler says\n\n" + "\n".join(tabs)


def page(lesson, addresses):
    """The Markdown of a lesson's page. addresses: {lesson: address of its program in an editor}"""
    goal, *rest = [" ".join(line.strip() for line in lines) for lines in lesson.story()]
    name, hints = lesson.exercise.name, lesson.hints()
    editor = f" [Compiler Explorer]({addresses[lesson.name]}) opens it in the browser, as [its page](../{EXPLORER}) explains." \
        if lesson.name in addresses else ""
    return "\n\n".join([
        f"---\ntitle: {json.dumps(f'{lesson.number}. {sentence(lesson.title)}')}\n---",
        f"# Lesson {lesson.number}: {marked(lesson.title)}",
        f'!!! abstract "Goal"\n\n    {marked(sentence(goal.removeprefix("Goal:").strip()))}',
        *map(marked, rest),
        "## The program\n\nThe marked line is the mistake.",
        listing(program_of(lesson.exercise), name),
        f"`scripts/lessons {lesson.number}` opens this lesson at the terminal, and compiles it whenever you save it.{editor}",
        said(lesson),
        "## Mend it",
        *[folded("tip", f"Hint {number}" if len(hints) > 1 else "Hint", marked(hint)) for number, hint in enumerate(hints, 1)],
        folded("success", "Solution", listing(program_of(lesson.solution), f"solutions/{name}")),
        folded("note", "The check that it has to pass", listing(program_of(lesson.check), f"checks/{name}")),
    ]) + "\n"


def with_contents(text):
    """The page of the course with the list of its lessons, before its part for maintainers. raises ValueError without one"""
    before, heading, after = text.partition("## For maintainers\n")
    if not heading:
        raise ValueError("examples/lessons/README.md has no section 'For maintainers', before which the lessons are listed")
    rows = [f"{lesson.number}. [{marked(sentence(lesson.title))}]({place(lesson).rpartition('/')[2]})" for lesson in lessons()]
    return before + "## The lessons\n\n" + "\n".join(rows) + f"\n\n{heading}{after}"


def pages():
    """[(place, Markdown)] of all lessons, and of the links for Compiler Explorer if the site has an address."""
    addresses = {name: explorer.link(program) for name, _, program in explorer.lessons(HEADERS)} if HEADERS else {}
    found = [(place(lesson), page(lesson, addresses)) for lesson in lessons()]
    of_name = {lesson.name: place(lesson) for lesson in lessons()}
    return found + ([(EXPLORER, explorer.page(HEADERS, of_name.get))] if HEADERS else [])
