"""docs/mistakes.md, generated from tests/compile_fail/usage: code, the compiler's message, the fix.
"""

import re

import common
import compile_errors_page

PAGE = common.ROOT / "docs" / "mistakes.md"
COMPILER = "clang"

HEAD = """# Common mistakes

Programs written by habit from PyTorch, NumPy or Eigen. The compiler answers each mistake in at most twelve lines; the first
is about your file. Below is the first line of clang 14; g++ and nvcc say the same as the name of a type, such as
`error::not_possible<error::no_such_option_or_argument, error::the_options_are_lr_momentum_dampening_weight_decay_nesterov_maximize>`.
Mistakes of place are in [the catalogue of compile errors](compile-errors.md).

This page is made of [`tests/compile_fail/usage`](../tests/compile_fail/usage) by
`tests/tools/compile_fail.py --dir tests/compile_fail/usage --write-page`; the test suite compares it with the compiler.
"""


def render(folder, first_lines):
    """The page; first_lines: {name of the test: the compiler's first error line}."""
    groups = {}
    for path in sorted(folder.glob("*.cpp")):
        text = path.read_text()
        groups.setdefault(re.search(r"^// group: (.*)$", text, re.MULTILINE)[1], []).append((path.stem, text))
    parts = [HEAD]
    for group in sorted(groups):
        parts.append(f"\n## {group}\n\n| wrong | clang 14 says | instead |\n|---|---|---|\n")
        parts += [row(text, compile_errors_page.message(first_lines[name])) for name, text in groups[group]]
    return "".join(parts)


def row(text, said):
    """If the branches differ in their includes or in a class, the title describes the mistake."""
    if re.search(r"^#ifndef LOCUS_MUST_FAIL", text, re.MULTILINE):
        title = re.match(r"// (.*)", text)[1].rstrip(".")
        include = re.search(r"#include <[^>]*>", said)
        instead = f"`{include[0]}`" if include else re.search(r"^// because: (.*)$", text, re.MULTILINE)[1]
        return f"| {title} | {compile_errors_page.in_cell(said)} | {instead} |\n"
    return compile_errors_page.row(text, said)


def problem(folder, first_lines):
    """The problem of the page, or None."""
    if not PAGE.exists() or PAGE.read_text() != render(folder, first_lines):
        return (f"{PAGE.name} is not what the compiler says now: run tests/tools/compile_fail.py "
                "--dir tests/compile_fail/usage --write-page")
    return None
