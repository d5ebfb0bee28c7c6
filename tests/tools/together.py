#!/usr/bin/env python3
"""Joins several sources into one translation unit, each in a namespace of its own: most of the time of each goes into
the same headers and templates. Messages of compilers name each source and its lines.

A source's head, which is all up to its last #include, stands before the namespaces of all. `--reopened N`: the sources
reopen namespace N of their headers; each copy of it imports its names. Sources that choose their
devices (LOCUS_TEST_DEVICES) are refused beside others, which would be tested on those alone; so are sources that include
sources, whose cases bear other names than the file that the program is asked for.

usage: together.py [--devices-given] [--reopened NAMESPACE] OUTPUT SOURCE...     (given: by the compiler's command line)
"""

import argparse
import pathlib
import re
import sys

INCLUDE = re.compile(r"^[ \t]*#\s*include\b(?!.*\.inc>).*$", re.MULTILINE)
DEVICES = re.compile(r"^#\s*define LOCUS_TEST_DEVICES\b.*$", re.MULTILINE)


def lines_of_head(lines):
    """How many lines there are up to the last #include, and to the #endif of the condition that it stands in."""
    last = max((i for i, line in enumerate(lines) if INCLUDE.match(line)), default=-1)
    depth = 0
    for i, line in enumerate(lines):
        depth += bool(re.match(r"\s*#\s*if", line)) - bool(re.match(r"\s*#\s*endif", line))
        if i >= last and depth == 0:
            return i + 1 if last >= 0 else 0
    return len(lines)


def includes_sources(source):
    """Whether it has to be a translation unit of its own."""
    return bool(re.search(r"^#include .*\.cpp[>\"]", source.read_text(), re.MULTILINE))


def in_one_file(sources, devices_given=False, reopened=None):
    """The text of the translation unit. raises ValueError where the sources would disturb each other"""
    holders = [source.name for source in sources if includes_sources(source)]
    if holders and len(sources) > 1:
        raise ValueError(f"{', '.join(holders)}: includes sources, and has to be a translation unit of its own")
    choices = {tuple(DEVICES.findall(source.read_text())) for source in sources}
    if len(choices) > 1 and not devices_given:
        raise ValueError(f"{', '.join(source.name for source in sources)}: not all of them choose the same devices")
    heads, spaces = [], []
    for i, source in enumerate(sources):
        lines = source.read_text().splitlines()
        end = lines_of_head(lines)
        heads += [f'#line 1 "{source}"', *lines[:end]]
        seen = [f"namespace {reopened} {{ using namespace ::{reopened}; }}"] if reopened else []
        spaces += [f"namespace of_{i} {{", *seen, f'#line {end + 1} "{source}"', *lines[end:], "}"]
    return "\n".join([*heads, *spaces, ""])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--devices-given", action="store_true")
    parser.add_argument("--reopened", metavar="NAMESPACE")
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("sources", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    try:
        text = in_one_file([source.resolve() for source in options.sources], options.devices_given, options.reopened)
    except (OSError, ValueError) as error:
        sys.exit(f"together.py: {error}")
    options.output.write_text(text)
