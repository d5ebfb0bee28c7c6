"""scripts/site: the Markdown files of the repository as a site, built by MkDocs with its theme Material.

    hooks       called by MkDocs: which pages there are, and how their text is adapted
    pages       the files of the repository that become pages, and the front page
    navigation  the list of pages in mkdocs.yml
    github      Markdown as GitHub reads it, rewritten for Python-Markdown
    links       links that are relative to a file of the repository, rewritten for the site
    reference   a heading for each function of the reference
    course      a page for each lesson
    sources     the files of the repository that pages link to, as pages with highlighted code
    build       the environment with MkDocs, and its call
    check       the links, anchors and requests of a site that is built
    browser     the built pages in a headless Chromium
"""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / folder) for folder in ("scripts/lib", "tests/tools")]  # lessons; common and compile_fail
