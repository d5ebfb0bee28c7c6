"""Markdown as GitHub reads it, rewritten for Python-Markdown."""

import re

FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(`[^`\n]*`)")
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MESSAGE = re.compile(r"^(?:g\+\+|clang|nvcc) \d+:|\berror:", re.MULTILINE)
ANCHORED = re.compile(r'^<a id="([^"]+)"></a>\n\n(#{2,6} .+)$', re.MULTILINE)
PAIR = re.compile(r"<table>\n<tr><th>(.*?)</th><th>(.*?)</th></tr>\n<tr><td>\n(.*?)\n</td><td>\n(.*?)\n</td></tr>\n</table>", re.DOTALL)


def outside_code(text, change):
    """The text, changed outside of its fenced blocks."""
    parts, at = [], 0
    for block in FENCED.finditer(text):
        parts += [change(text[at:block.start()]), block[0]]
        at = block.end()
    return "".join([*parts, change(text[at:])])


def outside_spans(text, change):
    """The text without fenced blocks, changed outside of its code spans."""
    return "".join(part if part.startswith("`") else change(part) for part in CODE.split(text))


def with_classes(text):
    """Messages of compilers are long lines, which the site wraps."""
    return FENCE.sub(lambda block: f"``` {{ .text .message }}\n{block[2]}```" if block[1] == "text" and MESSAGE.search(block[2])
                     else block[0], text)


def prose(text):
    """Text without fenced blocks: a pipe in the code of a table needs no backslash, the text inside of <details> is Markdown,
    and the capture of a lambda is no link."""
    text = outside_spans(text, lambda words: words.replace("[](", "\\[](").replace("[&](", "\\[&]("))
    text = re.sub(r"^\|.*$", lambda row: CODE.sub(lambda span: span[0].replace("\\|", "|"), row[0]), text, flags=re.MULTILINE)
    return text.replace("<details>", '<details markdown="1">')


def beside(text):
    """Two programs in a table become two columns, which a narrow screen shows one below the other."""
    return PAIR.sub(lambda pair: f'<div class="beside" markdown="1">\n<div markdown="1">\n**{pair[1]}**\n{pair[3]}\n</div>\n'
                                 f'<div markdown="1">\n**{pair[2]}**\n{pair[4]}\n</div>\n</div>', text)


def with_anchors(text):
    """The explicit anchor before a heading becomes the heading's own."""
    return ANCHORED.sub(r"\2 { #\1 }", text)


def adapted(text):
    return with_classes(outside_code(with_anchors(beside(text)), prose))


def slug(heading, _=None):
    """GitHub's anchor of a heading."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def section(text, heading):
    """The text below a heading of the second level. raises KeyError"""
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if not found:
        raise KeyError(f"no section '{heading}'")
    return found[1].strip()
