#!/usr/bin/env python3
"""The tables of tests that tests/meson.build builds, from the first line of each test:

    // Runs on: host, cuda (rows), reference; loops, alone.

Before the semicolon stand the devices: PLACES, or a device program of CUDA_PROGRAMS in parentheses; after it PROPERTIES.

usage: test_tables.py [FILE]     prints a line for each place and property, and writes the lines to FILE
"""

import pathlib
import re
import sys

import together

TESTS = pathlib.Path(__file__).resolve().parents[1]
PLACES = {
    "host": "compiled by the C++ compiler: everything a machine without a GPU can run",
    "reference": "stamped for the reference device",
    "cudnn": "compiled with cuDNN, in a program that tests/meson.build names",
}
# Sources of a device program are one translation unit, which takes nvcc half the time of as many: see together.py.
CUDA_PROGRAMS = ("verbs", "backward", "expressions", "rows", "products", "windows", "sorting", "ranks", "data", "training", "linalg", "spectra",
                 "optimizers", "layers", "operations", "tensors", "graph", "models")
PROPERTIES = {
    "loops": "compiled for any x86-64, and run on each instruction set between which its loops choose",
    "alone": "a program of its own: specializes templates of Locus, reuses one of its names, replaces malloc, or chooses "
             "devices as no other test of its folder does",
    "counting": "stamped for the device Counting alone, in one program with the others of its folder",
    "busy": "computes for a minute at -O0, so it is compiled at -O1, alone",
    "race": "repeated under ThreadSanitizer",
}
FIRST_LINE = re.compile(r"// Runs on: ([^;.]+)(?:; ([^;.]+))?\.")
ALLOWED_PLACES = [*PLACES, *(f"cuda ({name})" for name in CUDA_PROGRAMS)]


def words_of(name, line):
    """The places and properties that the first line of test `name` lists. raises ValueError if it is not of that form"""
    found = FIRST_LINE.fullmatch(line)
    if not found:
        raise ValueError(f"{name}: the first line is {line!r}; expected one like '// Runs on: host, cuda (rows); alone.'")
    places, properties = found[1].split(", "), found[2].split(", ") if found[2] else []
    for words, allowed in ((places, ALLOWED_PLACES), (properties, list(PROPERTIES))):
        for word in words:
            if word not in allowed:
                raise ValueError(f"{name}: unknown word {word!r} in the first line; allowed: {', '.join(allowed)}")
            if words.count(word) > 1:
                raise ValueError(f"{name}: {word!r} stands twice in the first line")
    if properties and "host" not in places:
        raise ValueError(f"{name}: {properties[0]!r} in the first line is for tests that run on: host")
    return places, properties


def tables(tests=TESTS):
    """{place or property: [FOLDER/NAME]}, sorted. raises ValueError that names the file and the wrong word, or a file that
    chooses other devices than those of its folder that are compiled with it"""
    table = {word: [] for word in [*ALLOWED_PLACES, *PROPERTIES]}
    choices = {}  # (folder, loops or not, counting or not): (test, devices that it chooses)
    for path in sorted(tests.rglob("*_test.cpp"), key=lambda path: (path.parent, path.stem.removesuffix("_test"))):
        source = path.relative_to(tests)
        with path.open() as file:
            places, properties = words_of(f"tests/{source.as_posix()}", file.readline().rstrip("\n"))
            devices = together.DEVICES.findall(file.read())
        if "host" in places and not {"alone", "busy"} & set(properties):
            group = (source.parent, "loops" in properties, "counting" in properties)
            first, its_devices = choices.setdefault(group, (source, devices))
            if devices != its_devices:
                raise ValueError(f"tests/{source.as_posix()}: does not choose the devices of tests/{first.as_posix()} "
                                 "(LOCUS_TEST_DEVICES), with which it is compiled; add 'alone' to one's first line")
        for word in places + properties:
            table[word].append(source.as_posix().removesuffix("_test.cpp"))
    return table


def text_of(table):
    """A line for each word: `cuda_rows: ops/softmax ...`."""
    return "".join(f"{word.replace(' (', '_').rstrip(')')}: {' '.join(sources)}\n" for word, sources in table.items())


def stale(configured, tests=TESTS):
    """Why the build folder that has the tables `configured` is to be configured anew, in a sentence, or None."""
    if configured.exists() and configured.read_text() == text_of(tables(tests)):
        return None
    folder = configured.parent.parent
    return f"tests or their first lines have changed since {folder} was configured; run meson setup --reconfigure {folder}"


if __name__ == "__main__":
    try:
        text = text_of(tables())
        sys.stdout.write(text)
        if sys.argv[1:]:
            pathlib.Path(sys.argv[1]).write_text(text)
    except ValueError as error:
        sys.exit(f"test_tables.py: {error}")
