"""Links that open the rules of docs/placement.md and the lessons in Compiler Explorer.

A link holds its program, as Compiler Explorer's API.md describes under clientstate. The program includes the single
header of Locus by the address that it is published at.
"""

import base64
import functools
import json
import pathlib
import re
import sys
import textwrap
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "tools"))
import compile_errors_page  # noqa: E402
import compile_fail  # noqa: E402
import single_header  # noqa: E402
import whole_file  # noqa: E402
from lessons import course  # noqa: E402

HEADER, OF_RANKS = "locus.hpp", "locus_ranks.hpp"
HEADERS = {HEADER: ["locus/locus.hpp"],
           OF_RANKS: ["locus/locus.hpp", "locus/distributed/distributed.hpp", "locus/distributed/spread.hpp"]}
COMPILERS = {"clang1910": "-std=c++20 -pthread", "g142": "-std=c++20 -pthread"}  # names of Compiler Explorer
ROOT_OF_LINKS = "https://godbolt.org/clientstate/"
OURS = re.compile(r"^[ \t]*#[ \t]*include[ \t]*<(locus/[^>\n]*)>[^\n]*\n?", re.MULTILINE)
ADDRESS = re.compile(r"https?://[^\s<>\"]+")


def write_headers(folder):
    """Writes the single headers that the links include."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, headers in HEADERS.items():
        whole_file.write(folder / name, single_header.single_header(headers))


def link(source):
    compilers = [{"id": name, "options": options} for name, options in COMPILERS.items()]
    state = {"sessions": [{"id": 1, "language": "c++", "source": source, "compilers": compilers}]}
    packed = zlib.compress(json.dumps(state, separators=(",", ":")).encode(), 9)
    return ROOT_OF_LINKS + base64.b64encode(packed).decode()


def source_of(address):
    """The program in a link."""
    state = json.loads(zlib.decompress(base64.b64decode(address.removeprefix(ROOT_OF_LINKS), validate=True)))
    return state["sessions"][0]["source"]


@functools.cache
def joined(name):
    """The headers of Locus in a single header."""
    joiner = single_header.Joiner()
    joiner.join(HEADERS[name])
    return joiner.done


def with_single_header(text, address):
    """A program with the single header instead of headers of Locus. raises ValueError for a header that it lacks"""
    used = OURS.findall(text)
    if not used:
        raise ValueError("the program includes no header of Locus, as in #include <locus/locus.hpp>")
    name = OF_RANKS if any(header.startswith("locus/distributed/") for header in used) else HEADER
    missing = sorted(set(used) - joined(name))
    if missing:
        raise ValueError(f"{name} does not hold <{missing[0]}>, which the program includes")
    first = OURS.search(text).start()
    return f"{text[:first]}#include <{address}/{name}>\n{OURS.sub('', text[first:])}"


def program_of(case):
    """A case of tests/compile_fail with its mistake; the remedy is a comment."""
    text = case.read_text()
    kept = "".join(line for line in text.splitlines(keepends=True) if not compile_fail.DIRECTIVE.match(line.rstrip()))
    wrong, right = compile_errors_page.branches(text)
    remedy = "".join(f"{' ' * (len(line) - len(line.lstrip()))}// {line.lstrip()}" for line in right.splitlines(keepends=True))
    indent = re.match(r" *", right)[0]
    begin, end = re.search(r"^#ifn?def LOCUS_MUST_FAIL", kept, re.MULTILINE).start(), kept.index("#endif\n") + len("#endif\n")
    return f"{kept[:begin]}{wrong}{indent}// Instead:\n{remedy}{kept[end:]}"


def rules(address):
    """[(section of the page, name, wrong line, program)] of the examples of docs/placement.md."""
    found = []
    for section, example in compile_errors_page.examples(compile_errors_page.RULES_PAGE.read_text()):
        case = compile_errors_page.case_of(example, compile_fail.FOLDER)
        wrong = next(line[3:] for line in example.splitlines() if line.startswith("// "))
        found.append((section, case.stem, wrong, with_single_header(program_of(case), address)))
    return found


def lessons(address):
    """[(name, title, program)] of the course."""
    return [(lesson.name, lesson.title, with_single_header(lesson.exercise.read_text(), address))
            for lesson in course.read_course(course.SHIPPED)]


def page(address, place_of_lesson):
    """The Markdown of a page of the site, beside docs, with all links. place_of_lesson(name): a lesson's page"""
    parts = [textwrap.dedent(f"""\
        # On Compiler Explorer

        [Compiler Explorer](https://godbolt.org) compiles a program in the browser. Each link opens one mistake there, with
        the messages of clang 19 and g++ 14. Mend the line that the message points to: the program is compiled again as you
        type. The programs include the [single header](single-header.md#compiler-explorer) from `{address}/`.

        ## Rules of placement

        | rule | wrong line | try it |
        |---|---|---|
        """)]
    for section, _, wrong, program in rules(address):
        code, _, places = wrong.partition(";  ")
        places = f"<br>{compile_errors_page.in_cell(places)}" if places else ""
        parts.append(f"| [{section}](placement.md#{compile_errors_page.slug(section)}) | `{compile_errors_page.in_code(code.rstrip(';'))};`{places} "
                     f"| [open]({link(program)}) |\n")
    parts.append("\n## Lessons\n\n| lesson | try it |\n|---|---|\n")
    parts += [f"| [{int(name[:2])}: {title}]({place_of_lesson(name)}) | [open]({link(program)}) |\n" for name, title, program in lessons(address)]
    return "".join(parts)


def programs_of(address):
    """{name: program} of all links."""
    return {name: program for _, name, _, program in rules(address)} | {name: program for name, _, program in lessons(address)}
