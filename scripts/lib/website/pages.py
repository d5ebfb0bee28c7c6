"""The files of the repository that become pages, and the front page."""

import re

from . import ROOT, github

# Pages that do not stand in docs, and their places. docs/README.md lists all pages.
ELSEWHERE = {
    "docs/README.md": "pages.md",
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "benchmarks/README.md": "benchmarks.md",
    "examples/lessons/README.md": "course/index.md",
}
FRONT = ROOT / "scripts" / "lib" / "website" / "front.md"
SECTION = re.compile(r"^\{\{ ([^|]+?)(?: \| (\w+))? \}\}$", re.MULTILINE)


def places():
    """{path of a Markdown file: its place in the site}"""
    of_docs = (path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").rglob("*.md")))
    return {path: path.removeprefix("docs/") for path in of_docs} | ELSEWHERE


def part_of(text, part):
    """A section of README.md: the whole of it, its first program, or the message that the compiler prints below."""
    if part == "program":
        return re.search(r"^```cpp\n.*?^```$", text, re.MULTILINE | re.DOTALL)[0]
    if part == "message":
        return re.search(r"^.*\berror:.*$", text, re.MULTILINE)[0]
    return text


def front():
    """The front page: its own text, and the sections of README.md that its lines {{ HEADING }} name."""
    readme = (ROOT / "README.md").read_text()
    return SECTION.sub(lambda found: part_of(github.section(readme, found[1]), found[2]), FRONT.read_text())


def text_of(path):
    return front() if path == "README.md" else (ROOT / path).read_text()
