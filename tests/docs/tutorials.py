#!/usr/bin/env python3
"""Checks docs/tutorials.md: each item of the tutorials has an answer and a link that leads somewhere, and names in the
column "in Locus" exist in headers, examples or scripts. Checks docs/training-on-a-gpu.md: each question of its quiz is a
case of docs/compile-errors.md, with the same code and message.

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
ALIASES = {"nn::cross_entropy", "data::FakeData"}  # using-declarations, which the reference has by their other name
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
        missing += [name for pair in CALLED.findall(code) for name in pair if name and name not in words | PLACES]
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


def problem_of_row(cells, words, page=PAGE, root=common.ROOT):
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
    missing = missing_names(cells[1], words, root)
    return f"not in headers, examples or scripts: {', '.join(missing)}" if missing else None


def problem_of_question(anchor, code, message, cases):
    """Of a question whose answer is the case with this anchor on the page of compile errors."""
    _, found, case = cases.partition(f'<a id="{anchor}">')
    case = case.partition("<a id=")[0]
    if not found:
        return f"no case {anchor}"
    return None if f"```cpp\n{code}```" in case and f"\n{message}\n" in case else f"the case {anchor} has other code, or another message"


def questions(text):
    """[(anchor, code, message)] of the quiz."""
    return re.findall(r"\(compile-errors\.md#(\w+)\)\n\n```cpp\n(.*?)```\n\n```text\n(.*?)\n```", readme.section(text, "Quiz"), re.DOTALL)


def check(report):
    quiz, cases = questions(LESSON.read_text()), CASES.read_text()
    report.add("questions of the quiz", None if len(quiz) == QUESTIONS else f"{len(quiz)} questions; expected {QUESTIONS}")
    for question in quiz:
        report.add(f"quiz: {question[0]}", problem_of_question(*question, cases))
    items, words = rows(PAGE.read_text()), vocabulary()
    report.add("items of the tutorials", None if len(items) >= ITEMS else f"{len(items)} items; expected {ITEMS} or more")
    for cells in items:
        report.add(f"tutorials: {cells[0]}", problem_of_row(cells, words))


if __name__ == "__main__":
    common.main(check)
