"""The list of pages in mkdocs.yml."""

import re

from . import ROOT


def with_families(nav, lessons):
    """The list with its families of pages written out: 'reference/*' in the order of docs/reference.md, 'course/*' in the
    order of the lessons."""
    families = {
        "reference/*": re.findall(r"^- \[.*?\]\((reference/[\w-]+\.md)\)$", (ROOT / "docs" / "reference.md").read_text(), re.MULTILINE),
        "course/*": lessons,
    }
    if isinstance(nav, dict):
        return {title: with_families(entry, lessons) for title, entry in nav.items()}
    if isinstance(nav, list):
        return [page for entry in nav
                for page in (families[entry] if isinstance(entry, str) and entry in families else [with_families(entry, lessons)])]
    return nav


def listed(nav):
    """The pages of the list, in order."""
    if isinstance(nav, dict):
        return [page for entry in nav.values() for page in listed(entry)]
    if isinstance(nav, list):
        return [page for entry in nav for page in listed(entry)]
    return [nav]


def problems(nav, pages):
    """Each page stands in the list exactly once. pages: the places of all pages"""
    names = listed(nav)
    missing = [f"docs/{page} is not in the navigation; add it to nav in mkdocs.yml, below the task that it serves"
               for page in sorted(pages) if page not in names]
    twice = [f"{page} is twice in the navigation of mkdocs.yml" for page in sorted(set(names)) if names.count(page) > 1]
    gone = [f"{page} is in the navigation of mkdocs.yml, but there is no such page" for page in sorted(set(names) - set(pages))]
    return missing + twice + gone
