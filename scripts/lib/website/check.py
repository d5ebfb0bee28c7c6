"""The links, anchors and requests of a site that is built: every link leads somewhere in the site or is spelled out as
another site's, every anchor exists once, and no page loads anything from elsewhere."""

import html.parser
import os
import pathlib
import re
import urllib.parse

LOADS = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src"), ("object", "data")}
OF_LINK = {"canonical", "next", "prev"}  # links that load nothing
CSS_ADDRESS = re.compile(r"url\(\s*['\"]?(?!data:|#)([^)'\"]+)|@import\s+['\"]([^'\"]+)")
ELSEWHERE = re.compile(r"(?:[a-z]+:)?//|[a-z]+:", re.IGNORECASE)


class Page(html.parser.HTMLParser):
    """The anchors, links and loaded files of a page."""

    def __init__(self, path, is_source):
        """is_source: whether it is the page of a source, whose lines have anchors and no links."""
        super().__init__()
        text, _, lines = path.read_text().partition("<pre>") if is_source else (path.read_text(), "", "")
        self.ids, self.links, self.loads = re.findall(r'<a id="([^"]+)"', lines), [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids += [given["id"]] if given.get("id") else []
        if tag == "a" and given.get("href") is not None:
            self.links.append(given["href"])
        for of, name in LOADS:
            if tag == of and given.get(name) and given.get("rel") not in OF_LINK:
                self.loads.append(given[name])


def target_of(path, link):
    """(file, anchor) of a link of the page `path`."""
    address, _, anchor = link.partition("#")
    name = urllib.parse.unquote(address)
    return (pathlib.Path(os.path.normpath(path.parent / name)) if name else path), urllib.parse.unquote(anchor)


def problems_of_page(path, page, pages):
    """pages: {file: Page} of the site"""
    found = [f"the anchor {name} is there {page.ids.count(name)} times" for name in sorted(set(page.ids)) if page.ids.count(name) > 1]
    found += [f"loads {link}" for link in page.loads if ELSEWHERE.match(link) and not link.startswith("data:")]
    for link in dict.fromkeys([*page.links, *(link for link in page.loads if not ELSEWHERE.match(link))]):
        if ELSEWHERE.match(link):
            continue
        to, anchor = target_of(path, link)
        if not to.is_file():
            found.append(f"{link} leads nowhere")
        elif anchor and to in pages and anchor not in pages[to].ids:
            found.append(f"{link}: no such anchor")
    return found


def problems(site):
    """{file of the site: [problem]} of the pages and style sheets, those without problems among them."""
    pages = {path: Page(path, site / "source" in path.parents) for path in sorted(site.rglob("*.html"))}
    found = {path: problems_of_page(path, page, pages) for path, page in pages.items()}
    for path in sorted(site.rglob("*.css")):
        addresses = [one or other for one, other in CSS_ADDRESS.findall(path.read_text())]
        found[path] = [f"loads {address}" for address in addresses if ELSEWHERE.match(address)]
    return {path.relative_to(site).as_posix(): of_page for path, of_page in found.items()}
