#!/usr/bin/env python3
"""Writes a page of links that open the rules of docs/placement.md and the lessons in Compiler Explorer.

A link holds its program, as Compiler Explorer's API.md describes under clientstate. The program includes the single
header of Locus by its address. Without --address, links for an address of the test are made, decoded and compared with
their programs.

usage: explorer_page.py [--address URL (--out PAGE | --link FILE)]
  --address   the folder that serves the headers of scripts/single_header
  --out       writes the page
  --link      prints the link of a program of your own
"""

import argparse
import base64
import json
import pathlib
import re
import sys
import textwrap
import zlib

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / folder) for folder in ("scripts/lib", "tests/tools")]
import common  # noqa: E402
import compile_errors_page  # noqa: E402
import compile_fail  # noqa: E402
from lessons import course  # noqa: E402

OF_TESTS = "https://locus.example/single"  # .example is reserved for such addresses (RFC 2606)
HEADER, OF_RANKS = "locus.hpp", "locus_ranks.hpp"
HEADERS = {HEADER: ["locus/locus.hpp"],
           OF_RANKS: ["locus/locus.hpp", "locus/distributed/distributed.hpp", "locus/distributed/spread.hpp"]}
COMPILERS = {"clang1910": "-std=c++20 -pthread", "g142": "-std=c++20 -pthread"}  # names of Compiler Explorer
LONGEST = 4_000  # characters of a link; servers refuse from 8,000 on
ROOT_OF_LINKS = "https://godbolt.org/clientstate/"
OURS = re.compile(r"#include <locus/(.*)>\n")
LINK = re.compile(r"^\[([\w-]+)\]: (\S+)$", re.MULTILINE)


def link(source):
    compilers = [{"id": name, "options": options} for name, options in COMPILERS.items()]
    state = {"sessions": [{"id": 1, "language": "c++", "source": source, "compilers": compilers}]}
    packed = zlib.compress(json.dumps(state, separators=(",", ":")).encode(), 9)
    return ROOT_OF_LINKS + base64.b64encode(packed).decode()


def source_of(address):
    """The program in a link."""
    state = json.loads(zlib.decompress(base64.b64decode(address.removeprefix(ROOT_OF_LINKS), validate=True)))
    return state["sessions"][0]["source"]


def with_single_header(text, address):
    """A program with the single header instead of headers of Locus."""
    if not OURS.search(text):
        raise ValueError("the program includes no header of Locus, as in #include <locus/locus.hpp>")
    of_ranks = any(name.startswith("distributed/") for name in OURS.findall(text))
    include = f"#include <{address}/{OF_RANKS if of_ranks else HEADER}>\n"
    first = OURS.search(text).start()
    return text[:first] + include + OURS.sub("", text[first:])


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


def opening(address):
    return textwrap.dedent(f"""\
        # Compiler Explorer

        [Compiler Explorer](https://godbolt.org) compiles a program in the browser. Each link opens one mistake there, with
        the messages of clang 19 and g++ 14. Mend the line that the message points to: the program is compiled again as you
        type.

        The programs include the [single header](single-header.md#compiler-explorer) by its address, `{address}/`.

        ## Rules of placement

        | rule | wrong line | try it |
        |---|---|---|
        """)


def render(address):
    found_rules, found_lessons = rules(address), lessons(address)
    parts = [opening(address)]
    for section, name, wrong, _ in found_rules:
        anchor = compile_errors_page.slug(section)
        code, _, places = wrong.partition(";  ")
        places = f"<br>{compile_errors_page.in_cell(places)}" if places else ""
        parts.append(f"| [{section}](placement.md#{anchor}) | `{compile_errors_page.in_code(code.rstrip(';'))};`{places} | [open][{name}] |\n")
    parts.append("\n## Lessons\n\nThe exercises of [the course](../examples/lessons/README.md). The terminal has hints, and checks of "
                 "the solutions.\n\n| lesson | try it |\n|---|---|\n")
    parts += [f"| {int(name[:2])}: {title} | [open][{name}] |\n" for name, title, _ in found_lessons]
    programs = [(name, program) for _, name, _, program in found_rules] + [(name, program) for name, _, program in found_lessons]
    parts += ["\n", *(f"[{name}]: {link(program)}\n" for name, program in programs)]
    return "".join(parts)


def programs_of(address):
    """{name: program} of all links."""
    return {name: program for _, name, _, program in rules(address)} | {name: program for name, _, program in lessons(address)}


def options_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--address")
    parser.add_argument("--out", type=pathlib.Path, metavar="PAGE")
    parser.add_argument("--link", type=pathlib.Path, metavar="FILE")
    options = parser.parse_args(arguments)
    if bool(options.address) != bool(options.out or options.link):
        parser.error("--address URL goes with --out PAGE or --link FILE")
    if options.address and not re.fullmatch(r"https?://[^\s<>\"]+", options.address):
        parser.error(f"--address {options.address}; expected one like {OF_TESTS}")
    return options


def write(options):
    address = options.address.rstrip("/")
    try:
        if options.link:
            print(link(with_single_header(options.link.read_text(), address)))
        if options.out:
            options.out.write_text(render(address))
    except (OSError, ValueError) as error:
        sys.exit(f"explorer_page.py: {error}")


def check(report):
    links, programs = dict(LINK.findall(render(OF_TESTS))), programs_of(OF_TESTS)
    report.add("links", None if set(links) == set(programs) else f"of some programs only: {sorted({*links} ^ {*programs})}")
    for name, program in programs.items():
        given = links.get(name, "")
        report.add(f"link {name}", None if given and source_of(given) == program else "holds another program")
        report.add(f"link {name}: its length", None if len(given) <= LONGEST else f"{len(given)} characters")


if __name__ == "__main__":
    chosen = options_of(sys.argv[1:])
    if chosen.address:
        write(chosen)
    else:
        common.main(check)
