"""The parts of pages that scripts write, between two comments, and their tables."""


def count(number):
    return f"{number:,}"


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def with_block(page, script, name, text, blank="\n"):
    """The page with a new text of this name. blank: before and after it. raises ValueError if the page lacks the block"""
    begin, end = f"<!-- made by benchmarks/{script}: {name} -->\n", "<!-- end -->"
    if page.count(begin) != 1:
        raise ValueError(f"the page has {page.count(begin)} lines '{begin.strip()}'; expected one")
    before, rest = page.split(begin)
    return f"{before}{begin}{blank}{text}{blank}{end}{rest.split(end, 1)[1]}"
