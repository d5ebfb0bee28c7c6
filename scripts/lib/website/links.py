"""Links that are relative to a file of the repository, rewritten for the site."""

import os
import posixpath
import re

from . import ROOT, github

LINK = re.compile(r"\]\((?![a-z]+:)([^)#\s]*)(#[^)\s]*)?\)")


def targets(text):
    """The targets of the relative links of a page, without their anchors."""
    return {found[1] for found in LINK.finditer(github.CODE.sub("", github.FENCED.sub("", text))) if found[1]}


def in_repository(source, target):
    """The path in the repository that a page links to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), target))


def place_of(path, places):
    """The place in the site of a path of the repository: of a page, a picture of docs, or the page of a source.
    places: {path of a Markdown file: page}"""
    if path in places:
        return places[path]
    if path.startswith("docs/") and (ROOT / path).is_file():
        return path.removeprefix("docs/")
    return f"source/{path}.html"


def rewritten(text, source, page, places):
    """The text of a page whose links are relative to `source` in the repository, for the place `page` of the site."""
    def place(link):
        if not link[1]:
            return link[0]
        to = place_of(in_repository(source, link[1]), places)
        return f"]({os.path.relpath(to, posixpath.dirname(page) or '.')}{link[2] or ''})"

    return github.outside_code(text, lambda part: github.outside_spans(part, lambda words: LINK.sub(place, words)))
