"""The pages of the reference with a heading for each function, so that the search and the table of contents find it.

tests/docs/reference_page.py writes them for GitHub, where a function is a line with an anchor:

    <a id="clamp"></a>**`clamp(x, low, high)`**         and the description below
    <a id="exp"></a><a id="log"></a>`exp(x)`, `log(x)`. without a description
"""

import re

MARKS = r'(?:<a id="[^"]+"></a>)'
MARK = re.compile(r'<a id="([^"]+)"></a>')
DESCRIBED = re.compile(rf"^({MARKS}?)((?:\*\*`.*`\*\*(?:  \n)?)+)$", re.MULTILINE)
BRIEF = re.compile(rf"^({MARKS}+)(And |Classes: |)(`.*`)\.$", re.MULTILINE)
HEADER = re.compile(r"^In \[`locus/(.*?)`\]\((.*?)\): ?(.*)$", re.MULTILINE)
INDEXED = re.compile(r"^\| \[`([^`]+)`\]\((reference/[\w-]+)\.md#([\w-]+)\)", re.MULTILINE)
PART = re.compile(rf"^(?=In \[`locus/|{MARKS}\n\n### |### )", re.MULTILINE)  # a header, or a class in it


def name_of(anchor):
    """`nn::Linear` of nn-Linear: anchors are made of qualified names."""
    return anchor.replace("-", "::")


def signature_name(call):
    """`min` of `min(left, right)` and `gelu` of `gelu<form>(x)`; the last part of a qualified name."""
    return re.split(r"[<(]", call)[0].rpartition("::")[2]


def described(found, level, header, shown):
    """A heading with the name, the signatures below. Overloads without an anchor of their own belong to the heading before; in
    another header than the first of their name, they get one that ends with the header's name. shown: names with a heading"""
    calls = re.findall(r"\*\*`(.*?)`\*\*", found[2])
    listing = "``` { .cpp .signature }\n" + "\n".join(calls) + "\n```"
    mark = MARK.match(found[1])
    if not mark and (level == "####" or signature_name(calls[0]) in shown):
        return listing
    shown.add(signature_name(calls[0]))
    name = name_of(mark[1]) if mark else re.split(r"[<(]", calls[0])[0]
    anchor = mark[1] if mark else f"{name.replace('::', '-')}-{header}"
    return f"{level} `{name}` {{ #{anchor} }}\n\n{listing}"


def brief(found, level):
    """A heading for each function or class without a description; overloads of one name share it."""
    level = "###" if found[2].startswith("Classes") else level
    left = dict.fromkeys(re.split(r"(?<=`), (?=`)", found[3]))
    rows = []
    for anchor in MARK.findall(found[1]):
        name = name_of(anchor)
        own = [call for call in left if signature_name(call.strip("`")) == name.rpartition("::")[2]]
        for call in own:
            del left[call]
        rows.append(f'{level} {" ".join(own) or f"`{name}`"} {{ #{anchor} .brief data-toc-label="{name}" }}')
    return "\n\n".join([*rows, *([", ".join(left) + "."] if left else [])])


def header(found):
    name = found[1].rpartition("/")[2]
    return f'## `{found[1]}` {{ data-toc-label="{name}" }}\n\n{found[3]} [The header]({found[2]}){{ .header }}'


def adapted_part(text, of):
    """A part of a page: a header with its functions, or a class. of: the name of the header"""
    level, shown = "###" if text.startswith("In [") else "####", set()
    text = DESCRIBED.sub(lambda found: described(found, level, of, shown), text)
    return BRIEF.sub(lambda found: brief(found, level), HEADER.sub(header, text))


def adapted(text):
    parts, of = [], ""
    for part in PART.split(text):
        found = HEADER.match(part)
        of = re.split(r"[/.]", found[1])[-2] if found else of
        parts.append(adapted_part(part, of))
    return "".join(parts)


def indexed(text):
    """{place in the site: name} of the functions and classes in the index of docs/reference.md."""
    return {f"{page}.html#{anchor}": name for name, page, anchor in INDEXED.findall(text)}


def boost(name):
    """How much more a name of the index counts in the search than other text, functions a little more than classes. A search for
    `exp` also finds names that begin so; the shorter they are, the closer."""
    last = name.rpartition("::")[2]
    return (3 if last[0].isupper() else 4) * (1 + 8 / len(last))
