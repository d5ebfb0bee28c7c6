#!/usr/bin/env python3
"""The site of scripts/site: it is built without warnings, its links and anchors lead somewhere, it loads nothing from
elsewhere, each page of docs is in its navigation once, and each name of the reference is a heading that the search finds.

usage: site_test.py [BUILD FOLDER]

MkDocs is installed from PyPI into the build folder, once; without it and without the network, the built site is skipped.
LOCUS_SITE_BROWSER=1 also opens every page in Chromium, with playwright from PyPI, which takes minutes.
"""

import json
import os
import pathlib
import re
import shutil
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / folder) for folder in ("scripts/lib", "tests/tools")]
import common  # noqa: E402
import explorer  # noqa: E402
from website import ROOT, build, check, course, github, links, navigation, pages, reference  # noqa: E402

FOLDER = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build").resolve()

OVERLOADED = """In [`locus/a/b.hpp`](../b.hpp): Of b.

<a id="f"></a>**`f(x)`**

One.

**`f(x, y)`**

Two.
"""
HEADINGS = """## `a/b.hpp` { data-toc-label="b.hpp" }

Of b. [The header](../b.hpp){ .header }

### `f` { #f }

``` { .cpp .signature }
f(x)
```

One.

``` { .cpp .signature }
f(x, y)
```

Two.
"""


def check_rewriting(report):
    """The rewriting of Markdown, which is visible nowhere else."""
    cases = {
        "a pipe in a table's code": (github.adapted("| `a \\|\\| b` | c |\n"), "| `a || b` | c |\n"),
        "a pipe in other code": (github.adapted("`a \\| b`\n"), "`a \\| b`\n"),
        "a lambda is no link": (github.adapted("write [](const auto& x)\n"), "write \\[](const auto& x)\n"),
        "an anchor before a heading": (github.adapted('<a id="x"></a>\n\n### A title\n'), "### A title { #x }\n"),
        "a message": (github.adapted("```text\nclang 14: no\n```\n"), "``` { .text .message }\nclang 14: no\n```\n"),
        "an output": (github.adapted("```text\n[1. 2.]\n```\n"), "```text\n[1. 2.]\n```\n"),
        "GitHub's anchor": (github.slug("Walk 1: the life of relu(a * b + c)"), "walk-1-the-life-of-relua--b--c"),
        "a link to a page": (rewritten("[a](placement.md#x)"), "[a](../placement.md#x)"),
        "a link to a source": (rewritten("[a](../include/locus/fwd.hpp)"), "[a](../source/include/locus/fwd.hpp.html)"),
        "a link to a file of the root": (rewritten("[a](../CONTRIBUTING.md)"), "[a](../contributing.md)"),
        "an overload stands below its function": (reference.adapted(OVERLOADED), HEADINGS),
        "functions without a description": (reference.adapted('<a id="exp"></a><a id="log"></a>`exp(x)`, `log(x)`.\n'),
                                            '#### `exp(x)` { #exp .brief data-toc-label="exp" }\n\n'
                                            '#### `log(x)` { #log .brief data-toc-label="log" }\n'),
        "a lesson's editor": ("[Compiler Explorer](https://b.org/x)" in lesson_page({"01_a_tensor_has_a_place": "https://b.org/x"}), True),
        "a lesson without an editor": ("Compiler Explorer" in lesson_page({}), False),
        "code in a lesson's text": (course.marked("on_the_gpu() means .to<Cuda>(), nn::Linear or a * b"),
                                    "`on_the_gpu()` means `.to<Cuda>()`, `nn::Linear` or a \\* b"),
        "the list of lessons": ("1. [A tensor has a place](01-a-tensor-has-a-place.md)\n" in contents_of("## For maintainers\n"), True),
        "a course without the place of the list": (contents_of("## For teachers\n"), "no section 'For maintainers'"),
        "a link in code": (rewritten("`[a](b.md)`\n```\n[a](b.md)\n```\n"), "`[a](b.md)`\n```\n[a](b.md)\n```\n"),
        "a link to another site": (rewritten("[a](https://b.org/c.md)"), "[a](https://b.org/c.md)"),
    }
    for name, (given, expected) in cases.items():
        report.add(name, None if given == expected else f"gives\n{given}\nexpected\n{expected}")


def rewritten(text):
    """A text of docs/errors.md, as if its place were below reference/."""
    return links.rewritten(text, "docs/errors.md", "reference/errors.md", pages.places())


def contents_of(text):
    """The page of the course, or what is wrong with it."""
    try:
        return course.with_contents(text)
    except ValueError as error:
        return re.search(r"no section '.*?'", str(error))[0]


def lesson_page(addresses):
    return course.page(course.lessons()[0], addresses)


def check_navigation(report):
    """Faults of the list of pages are found."""
    for name, nav, expected in [
        ("a page that is missing", ["a.md"], "docs/b.md is not in the navigation"),
        ("a page that is there twice", [{"A": ["a.md", "b.md"]}, "a.md"], "a.md is twice in the navigation"),
        ("a page that does not exist", ["a.md", {"B": "b.md"}, {"C": "c.md"}], "there is no such page"),
    ]:
        found = navigation.problems(nav, ["a.md", "b.md"])
        report.add(name, None if len(found) == 1 and expected in found[0] else f"{found}, expected '{expected}'")


def check_faults(report):
    """Each kind of fault in a page is found."""
    with tempfile.TemporaryDirectory() as scratch:
        site = pathlib.Path(scratch)
        (site / "other.html").write_text('<p id="there"></p>')
        (site / "a.css").write_text("p { background: url(https://b.org/c.png) }")
        for text, expected in [
            ('<a href="other.html#there">', None),
            ('<a href="https://b.org">', None),
            ('<a href="other.html#gone">', "no such anchor"),
            ('<a href="gone.html">', "leads nowhere"),
            ('<img src="gone.png">', "leads nowhere"),
            ('<p id="a"><p id="a">', "2 times"),
            ('<script src="https://b.org/c.js">', "loads https"),
            ('<link rel="stylesheet" href="//b.org/c.css">', "loads //"),
        ]:
            (site / "page.html").write_text(text)
            found = check.problems(site)["page.html"]
            right = expected in found[0] if expected and len(found) == 1 else not found and not expected
            report.add(f"a page with {text}", None if right else f"{found}, expected {expected}")
        report.add("a style sheet that loads a picture", None if check.problems(site)["a.css"] else "not found")


def check_other_files(report):
    """A folder of other files is left as it is, so is a site in a repository."""
    for name, files in {"other files": ["letter.txt"], "a site's repository": ["search/search_index.json", ".git/HEAD"]}.items():
        with tempfile.TemporaryDirectory() as scratch:
            paths = [pathlib.Path(scratch, file) for file in files]
            for path in paths:
                path.parent.mkdir(exist_ok=True)
                path.write_text("Dear")
            try:
                build.build("python3", pathlib.Path(scratch))
                report.fail(f"a folder of {name}", "was built into")
            except build.Trouble as trouble:
                kept = all(path.exists() for path in paths)
                report.add(f"a folder of {name}", None if "holds other files" in str(trouble) and kept else trouble)


def check_site(report, site):
    front = (site / "index.html").read_text()
    for text in ('class="beside"', "left operand is on Cpu", f"{len(course.lessons())} mistakes"):
        report.add(f"the front page: {text}", None if text in front else "is not in it")
    for page, problems in check.problems(site).items():
        report.add(f"page {page}", "\n".join(problems))
    headings = {entry["location"]: re.sub(r"<[^>]*>", "", entry["title"])
                for entry in json.loads((site / "search" / "search_index.json").read_text())["docs"]}
    for place, name in reference.indexed((ROOT / "docs" / "reference.md").read_text()).items():
        title = headings.get(place)
        named = title and re.match(rf"(?:[\w:]+::)?{re.escape(name.rpartition('::')[2])}\b", title)
        report.add(f"search for {name}", None if named else f"{place} has the heading {title}")


def check_browser(report, python, site):
    if not os.environ.get("LOCUS_SITE_BROWSER"):
        return report.skip("site in a browser", "LOCUS_SITE_BROWSER is not set")
    if not shutil.which("chromium"):
        return report.skip("site in a browser", "no chromium here")
    status, output = common.run([python, "-m", "pip", "install", "--quiet", "playwright"])
    if status:
        return report.skip("site in a browser", f"playwright cannot be installed: {output}")
    status, output = common.run([python, ROOT / "scripts" / "lib" / "website" / "browser.py", site])
    report.add("site in a browser", (output or f"exit status {status}") if status else None)


def check_all(report):
    check_rewriting(report)
    check_navigation(report)
    check_faults(report)
    check_other_files(report)
    try:
        python = build.environment(FOLDER / "site-environment")
    except build.Trouble as trouble:
        return report.skip("the built site", trouble)
    with tempfile.TemporaryDirectory() as scratch:
        site = pathlib.Path(scratch, "site")
        try:
            build.build(python, site, "https://locus.example")
        except build.Trouble as trouble:
            return report.fail("the built site", trouble)
        published = [f"single/{name}" for name in explorer.HEADERS if not (site / "single" / name).exists()]
        report.add("single headers of a site with an address", f"missing: {published}" if published else None)
        check_site(report, site)
        check_browser(report, python, site)


if __name__ == "__main__":
    common.main(check_all)
