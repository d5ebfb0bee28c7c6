"""Called by MkDocs: which pages there are, and how their text is adapted."""

import json
import pathlib
import sys

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from website import ROOT, course, github, links, navigation, pages, reference, sources  # noqa: E402

SOURCE_OF = {place: path for path, place in pages.places().items()}


def on_config(config):
    config.mdx_configs["toc"]["slugify"] = github.slug
    config.theme.static_templates.discard("404.html")  # it has absolute links, which a folder cannot follow
    config.nav = navigation.with_families(config.nav, course.places())
    problems = navigation.problems(config.nav, [*SOURCE_OF, *course.places()])
    if problems:
        raise PluginError("\n".join(problems))
    return config


def on_files(files, config):
    for path, place in pages.ELSEWHERE.items():
        found = files.get_file_from_path(path.removeprefix("docs/"))
        if found and path.startswith("docs/"):
            files.remove(found)
        files.append(File.generated(config, place, content=pages.text_of(path)))
    for place, text in course.pages():
        files.append(File.generated(config, place, content=text))
    for path, content in linked_sources():
        files.append(File.generated(config, f"source/{path}.html", content=content))
    return files


def linked_sources():
    """[(path, page)] of the files and folders outside of docs that pages link to."""
    places = pages.places()
    found = {links.in_repository(path, target) for path in places for target in links.targets(pages.text_of(path))}
    shown = {path for path in found if links.place_of(path, places).startswith("source/")}
    return [(path, sources.page_of(path, shown)) for path in sorted(shown)]


def on_page_markdown(markdown, page, config, files):
    place = page.file.src_uri
    source = SOURCE_OF.get(place)
    if source is None:  # a lesson, whose text is made for the site
        return markdown
    if place.startswith("reference/"):
        markdown = reference.adapted(markdown)
    markdown = github.adapted(links.rewritten(markdown, source, place, pages.places()))
    return course.with_contents(markdown) if place == "course/index.md" else markdown


def on_post_build(config):
    """A function's name leads to the function first."""
    path = pathlib.Path(config.site_dir) / "search" / "search_index.json"
    index = json.loads(path.read_text())
    names = reference.indexed((ROOT / "docs" / "reference.md").read_text())
    for entry in index["docs"]:
        if entry["location"] in names:
            entry["boost"] = reference.boost(names[entry["location"]])
    path.write_text(json.dumps(index, separators=(",", ":")))
