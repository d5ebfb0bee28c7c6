#!/usr/bin/env python3
"""Checks docs/tutorials.md: each item of the tutorials has an answer and a link that leads somewhere, and names in the
column "in Locus" exist in headers, examples or scripts. Checks docs/training-on-a-gpu.md: each question of its quiz is a
case of docs/compile-errors.md, with the same code and message. Checks docs/tutorial-programs.md: its excerpts are lines
of the examples, and each counterpart in PyTorch has one, beside one of the program in Locus.

usage: tutorials.py
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import common  # noqa: E402
import readme  # noqa: E402

PAGE = common.ROOT / "docs" / "tutorials.md"
LESSON = common.ROOT / "docs" / "training-on-a-gpu.md"
PROGRAMS = common.ROOT / "docs" / "tutorial-programs.md"
CASES = common.ROOT / "docs" / "compile-errors.md"
QUESTIONS = 10  # of the quiz
ITEMS = 113  # of the tutorials, at least
HEAD = "| the tutorial says | in Locus | where |"
CODE = re.compile(r"`([^`]+)`")
NAME = re.compile(r"[A-Za-z_]\w*")
LITERAL = re.compile(r'"[^"]*"|--?[a-z][\w-]*')  # texts, options of programs
FILE = re.compile(r"[\w.-]+(?:/[\w.-]+)+")
OTHERS = {"torchrun", "nvidia", "smi", "sbatch"}  # programs that are not of this repository
CALLED = re.compile(r"(?<![\w:])([a-z_]\w*)(?:<[^()]*>)?\(|\.([a-z_]\w*)\b")  # a function or a member
QUALIFIED = re.compile(r"(?:[a-z_]\w*::)+[A-Za-z_]\w*")
# By the reference's other name: using-declarations, and a member that only Stream<Cuda> has.
ALIASES = {"nn::cross_entropy", "data::FakeData", "synchronize"}
PLACES = {"f", "n", "x", "s", "t", "two", "FILE", "batches", "digits"}  # arguments that an item leaves open


def rows(text):
    """[cells] of the tables of items."""
    found, within = [], False
    for line in text.splitlines():
        within = line == HEAD or within and line.startswith("|")
        if within and line != HEAD and not line.startswith("|---"):
            found.append([cell.strip() for cell in line.strip().strip("|").split("|")])
    return found


def vocabulary(root=common.ROOT):
    """The words of public headers, examples and scripts."""
    words = set()
    for folder in ("include", "cuda_kernels", "examples", "scripts"):
        for path in (root / folder).rglob("*"):
            if path.is_file() and path.suffix in (".hpp", ".cuh", ".inc", ".cpp", ".py", ""):
                words.update(NAME.findall(path.read_text(errors="ignore")))
    return words


def documented(root=common.ROOT):
    """(qualified names of the index, words of code) of the reference, and the ends of the names."""
    names = set(re.findall(r"^\| \[?`([^`]+)`", (root / "docs" / "reference.md").read_text(), re.MULTILINE))
    words = {name.rpartition("::")[2] for name in names}
    for page in (root / "docs" / "reference").glob("*.md"):
        for code in re.findall(r"`([^`\n]+)`", page.read_text()):
            words.update(NAME.findall(code))
    return names, words


def undocumented(cell, reference):
    """Qualified names, functions and members of the column "in Locus" that the reference does not have."""
    names, words = reference
    missing = []
    for code in CODE.findall(cell):
        code = FILE.sub(" ", LITERAL.sub(" ", code))
        missing += [name for name in QUALIFIED.findall(code) if not name.startswith("std::") and name not in names | ALIASES]
        missing += [name for pair in CALLED.findall(code) for name in pair if name and name not in words | PLACES | ALIASES]
    return missing


def missing_names(cell, words, root=common.ROOT):
    """Names and files of the column "in Locus" that do not exist."""
    missing = []
    for code in CODE.findall(cell):
        code = LITERAL.sub(" ", code)
        for name in FILE.findall(code):
            code = code.replace(name, " ")
            if not name.startswith("./") and not (root / name).exists():
                missing.append(name)
        missing += [name for name in NAME.findall(code) if name not in words | OTHERS | PLACES and name not in missing]
    return missing


def problem_of_row(cells, words, reference, page=PAGE, root=common.ROOT):
    if len(cells) != 3:
        return f"{len(cells)} cells; expected the tutorial's words, the answer, and where it stands"
    if not all(cells):
        return "a cell is empty"
    links = readme.LINK.findall(readme.INLINE_CODE.sub("", cells[2]))
    if not links:
        return "the last cell has no link"
    for target, anchor in links:
        if problem := readme.problem_of_link(page, target, anchor):
            return f"link to {target}#{anchor}: {problem}"
    if missing := missing_names(cells[1], words, root):
        return f"not in headers, examples or scripts: {', '.join(missing)}"
    missing = undocumented(cells[1], reference)
    return f"not in the reference: {', '.join(missing)}" if missing else None


def problem_of_question(anchor, code, message, cases):
    """Of a question whose answer is the case with this anchor on the page of compile errors."""
    _, found, case = cases.partition(f'<a id="{anchor}">')
    case = case.partition("<a id=")[0]
    if not found:
        return f"no case {anchor}"
    return None if f"```cpp\n{code}```" in case and f"\n{message}\n" in case else f"the case {anchor} has other code, or another message"


def questions(text):
    """[(anchor, code, message)] of the quiz."""
    found = re.findall(r"```cpp\n(.*?)```\n\n<details>\n<summary>Answer</summary>\n\n```text\n(.*?)\n```\n\n\[.*?\]\(compile-errors\.md#(\w+)\)",
                       readme.section(text, "Quiz"), re.DOTALL)
    return [(anchor, code, message) for code, message, anchor in found]


def excerpts(text):
    """[(file, code)] of the blocks whose first line is a comment that names a file of examples."""
    return re.findall(r"^```(?:cpp|python)\n(?://|#) (examples/\S+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def is_within(code, source):
    """Whether the lines of `code` stand in `source` one after another, all of them indented by as much."""
    wanted, lines = code.splitlines(), source.splitlines()
    for at in range(len(lines) - len(wanted) + 1):
        indent = lines[at][:len(lines[at]) - len(wanted[0])]
        if not indent.strip() and lines[at:at + len(wanted)] == [line and indent + line for line in wanted]:
            return True
    return False


def check_programs(report, text, root=common.ROOT):
    shown = set()
    for name, code in excerpts(text):
        # A line of three points stands for lines that are left out.
        parts = re.split(r"^ *(?:// )?\.\.\.\n", code, flags=re.MULTILINE)
        source = (root / name).read_text() if (root / name).exists() else ""
        report.add(f"excerpt of {name}", None if all(is_within(part, source) for part in parts) else f"not lines of {name}:\n{code}")
        shown.add(name)
    for path in sorted((root / "examples" / "pytorch").glob("*.py")):
        pair = {f"examples/pytorch/{path.name}", f"examples/{path.stem}.cpp"}
        report.add(f"{path.stem} side by side", None if pair <= shown else f"no excerpt of {', '.join(sorted(pair - shown))}")


def check(report):
    check_programs(report, PROGRAMS.read_text())
    quiz, cases = questions(LESSON.read_text()), CASES.read_text()
    report.add("questions of the quiz", None if len(quiz) == QUESTIONS else f"{len(quiz)} questions; expected {QUESTIONS}")
    for question in quiz:
        report.add(f"quiz: {question[0]}", problem_of_question(*question, cases))
    items, words, reference = rows(PAGE.read_text()), vocabulary(), documented()
    report.add("items of the tutorials", None if len(items) >= ITEMS else f"{len(items)} items; expected {ITEMS} or more")
    for cells in items:
        report.add(f"tutorials: {cells[0]}", problem_of_row(cells, words, reference))


if __name__ == "__main__":
    common.main(check)
