#!/usr/bin/env python3
"""Comments and pages are plain: per 1,000 words of each folder and page, at most two "what" outside of questions, and at most
one "that of" or "those of" in two thousand.

usage: words.py [--list PATH...]

--list prints the lines that are counted, of all or of files under these paths.
"""

import argparse
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import common  # noqa: E402

MOST = {"what": 2, "that of": 0.5}  # per 1,000 words
FEW = 2  # of these in a small folder are no habit
WORD = re.compile(r"[A-Za-z']+")
COUNTED = {"what": re.compile(r"\bwhat\b", re.IGNORECASE), "that of": re.compile(r"\b(?:that|those) of\b", re.IGNORECASE)}
# Literals come first, so that // within them is none.
COMMENT = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|//(?P<text>[^\n]*)', re.DOTALL)
QUESTION = re.compile(r"[^.!?:|]*\?")
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
CODE = ("include", "cuda_kernels", "compiled", "tests", "examples", "benchmarks")
# Written from sources that are counted: the reference from headers, the pages of mistakes from tests.
MADE = {"reference.md", "compile-errors.md", "mistakes.md"}
# A learner reads these beside a compiler's words; the first lines of a case stand in the pages above.
LEFT_OUT = ("examples/lessons/", "tests/compile_fail/")


def prose(path):
    """[(line number, text)]: comments of a source; of a page, all but code."""
    text = path.read_text()
    if path.suffix == ".md":
        text = FENCED.sub(lambda found: "\n" * found[0].count("\n"), text)
        return list(enumerate(re.sub(r"`[^`\n]*`", "", text).splitlines(), 1))
    return [(text.count("\n", 0, found.start()) + 1, found["text"].lstrip("/!< ")) for found in COMMENT.finditer(text)
            if found["text"] is not None]


def place(name):
    """What a file is counted with: its folder, or itself where it is a page."""
    parts = name.split("/")
    return name if name.endswith(".md") else "/".join(parts[:min(3 if parts[0] == "include" else 2, len(parts) - 1)])


def files():
    pages = [*sorted((common.ROOT / "docs").glob("*.md")), common.ROOT / "README.md", common.ROOT / "CONTRIBUTING.md"]
    for path in [*common.sources(*CODE), *pages]:
        name = path.relative_to(common.ROOT).as_posix()
        if path.name not in MADE and not name.startswith(LEFT_OUT):
            yield name, path


def counts():
    """{place: {"words": n, "what": n, "that of": n}}"""
    found = {}
    for name, path in files():
        here = found.setdefault(place(name), dict.fromkeys(["words", *COUNTED], 0))
        text = "\n".join(line for _, line in prose(path))
        here["words"] += len(WORD.findall(text))
        text = QUESTION.sub("", text)
        for word, pattern in COUNTED.items():
            here[word] += len(pattern.findall(text))
    return found


def check(report):
    for where, here in counts().items():
        too_many = [f'{here[word]} "{word}" in {here["words"]} words; at most {most} in 1,000'
                    for word, most in MOST.items() if here[word] > max(FEW, most * here["words"] / 1000)]
        report.add(f"words of {where}", "\n".join([*too_many, "style: name the thing; tests/docs/words.py --list " + where] if too_many else []))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", nargs="*", metavar="PATH")
    options = parser.parse_args()
    if options.list is None:
        common.main(check)
    for name, path in files():
        if not options.list or name.startswith(tuple(options.list)):
            for number, line in prose(path):
                for word, pattern in COUNTED.items():
                    if pattern.search(line):
                        print(f"{name}:{number}: {line.strip()}")
