"""The files of the repository that pages link to, as pages with highlighted code. The site works without a repository on
the web."""

import html
import os
import posixpath

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

from . import ROOT

LEXERS = {".hpp": "cpp", ".inc": "cpp", ".cpp": "cpp", ".cuh": "cuda", ".py": "python", ".sh": "bash", ".sbatch": "bash",
          ".json": "json"}
LONGEST = 400_000  # bytes of a file that is shown
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{name}</title>
<link rel="stylesheet" href="{root}assets/source.css">
</head>
<body>
<header><a href="{root}index.html">Locus</a> <span>{trail}</span></header>
<main>{content}</main>
</body>
</html>
"""


def of_file(path):
    """The lines of a file, numbered, with anchors such as #line-7."""
    data = (ROOT / path).read_bytes()
    if len(data) > LONGEST:
        return f"<p>{len(data):,} bytes; see <code>{html.escape(path)}</code> in the repository.</p>"
    text = data.decode(errors="replace")
    first = text.partition("\n")[0]
    shell = "bash" if first.startswith("#!") and "bash" in first else "python" if first.startswith("#!") else "text"
    lexer = get_lexer_by_name(LEXERS.get(posixpath.splitext(path)[1], shell))
    return highlight(text, lexer, HtmlFormatter(linenos="inline", lineanchors="line", anchorlinenos=True))


def of_folder(path, shown):
    """The names of a folder's files; those that have a page are links."""
    names = sorted(entry.name + ("/" if entry.is_dir() else "") for entry in (ROOT / path).iterdir()
                   if not entry.name.startswith((".", "__")))
    rows = []
    for name in names:
        page = f"{path}/{name}".rstrip("/")
        text = html.escape(name)
        link = os.path.relpath(f"{page}.html", posixpath.dirname(path) or ".")
        rows.append(f'<li><a href="{link}">{text}</a></li>' if page in shown else f"<li>{text}</li>")
    return f"<ul>{''.join(rows)}</ul>"


def page_of(path, shown):
    """The page of a file or folder of the repository. shown: the paths that have such a page"""
    content = of_folder(path, shown) if (ROOT / path).is_dir() else of_file(path)
    return PAGE.format(name=html.escape(posixpath.basename(path)), trail=html.escape(path), content=content,
                       root="../" * (path.count("/") + 1))
