#!/usr/bin/env python3
"""Comments, docstrings and pages are plain: per 1,000 words of a folder or page, at most two relative "what"
(questions do not count), and at most one "that of" or "those of" per 2,000 words.

usage: words.py [--list PATH...]

--list prints the lines that are counted, of all or of files under these paths.
"""

import argparse
import ast
import io
import pathlib
import re
import sys
import tokenize

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import common  # noqa: E402

MOST = {"what": 2, "that of": 0.5}  # per 1,000 words
FEW = 2  # of these in a small folder are no habit
WORD = re.compile(r"[A-Za-z']+")
COUNTED = {"what": re.compile(r"\bwhat\b", re.IGNORECASE), "that of": re.compile(r"\b(?:that|those) of\b", re.IGNORECASE)}
# Literals come first, so that // within them is none.
COMMENT = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|//(?P<text>[^\n]*)', re.DOTALL)
# Of a shell script or a build file: at the beginning of a line, or between spaces.
HASH = re.compile(r"^(?:.*\s)?#+\s(?P<text>.*)", re.MULTILINE)
QUESTION = re.compile(r"[^.!?:|]*\?")
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
CODE = ("include", "cuda_kernels", "compiled", "tests", "examples", "benchmarks", "python")
SCRIPTS = ("scripts", "tests", "examples", "benchmarks", "cmake", ".ci", "python")
BUILD_FILES = {"meson.build", "meson_options.txt", "CMakeLists.txt"}
# Written from sources that are counted: the reference from headers, the pages of mistakes from tests.
MADE = {"reference.md", "compile-errors.md", "mistakes.md"}


def is_python(path):
    return path.suffix == ".py" or not path.suffix and path.read_text().startswith("#!/usr/bin/env python3")


def is_script(path):
    """Whether `#` begins a comment of the file."""
    return path.suffix in (".py", ".sh", ".cmake", ".in") or path.name in BUILD_FILES or \
        not path.suffix and path.read_bytes().startswith(b"#!")


def of_python(text):
    """[(line number, text)] of the comments and docstrings of a Python file."""
    found = [(token.start[0], token.string.lstrip("# ")) for token in tokenize.generate_tokens(io.StringIO(text).readline)
             if token.type == tokenize.COMMENT and not token.string.startswith("#!")]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            first = node.body[0]
            found += enumerate(first.value.value.splitlines(), first.lineno)
    return sorted(found)


def prose(path):
    """[(line number, text)]: the comments of a source, the comments and docstrings of a script, the text of a page."""
    text = path.read_text()
    if path.suffix == ".md":
        text = FENCED.sub(lambda found: "\n" * found[0].count("\n"), text)
        return list(enumerate(re.sub(r"`[^`\n]*`", "", text).splitlines(), 1))
    if is_python(path):
        return of_python(text)
    pattern = HASH if is_script(path) else COMMENT
    return [(text.count("\n", 0, found.start()) + 1, found["text"].lstrip("/!< ")) for found in pattern.finditer(text)
            if found["text"] is not None]


def place(name):
    """The place that a file is counted with: its folder; itself, if it is a page or stands at the root."""
    parts = name.split("/")
    folder = "/".join(parts[:min(3 if parts[0] == "include" else 2, len(parts) - 1)])
    return name if name.endswith(".md") else folder or name


def files():
    pages = [*sorted((common.ROOT / "docs").glob("*.md")), common.ROOT / "README.md", common.ROOT / "CONTRIBUTING.md"]
    scripts = [path for folder in SCRIPTS for path in sorted((common.ROOT / folder).rglob("*"))
               if path.is_file() and is_script(path)]
    scripts += [common.ROOT / name for name in sorted(BUILD_FILES)]
    scripts += [common.ROOT / folder / "meson.build" for folder in ("compiled", "cuda_kernels")]
    for path in [*common.sources(*CODE), *scripts, *pages]:
        name = path.relative_to(common.ROOT).as_posix()
        if path.name not in MADE:
            yield name, path


def counts():
    """{place: {"words" or a key of COUNTED: number}}"""
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
