"""The built pages in a headless Chromium: nothing is wider than the screen, nothing is fetched from elsewhere, and the
search finds a function by its name.

usage: browser.py SITE [--search] [--pictures FOLDER] [PAGE...]

Needs playwright from PyPI and an installed Chromium. Prints a line for each problem; the exit status says whether there
was one.
"""

import argparse
import pathlib
import shutil
import sys

from playwright.sync_api import TimeoutError, sync_playwright

WIDTHS = {"phone": 400, "desktop": 1200}  # pixels
SCHEMES = ("light", "dark")
WIDE = """() => [...document.querySelectorAll('body *')].filter(each => each.getBoundingClientRect().right > innerWidth + 1)
  .slice(0, 3).map(each => each.tagName.toLowerCase() + '.' + each.className).join(', ')"""
FOUND_FIRST = ("matmul", "softmax", "clamp", "exp", "nn::Linear", "cross_entropy", "reshape", "with_device")


def chromium():
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def pages_of(site):
    """All pages, but of the sources, which look alike, one in twenty."""
    sources = sorted((site / "source").rglob("*.html"))
    return sorted(set(site.rglob("*.html")) - set(sources)) + sources[::20]


def open_page(browser, width, scheme, problems):
    """A page in which every message of the console and every request that leaves the folder is a problem."""
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.on("console", lambda said: problems.append(f"{page.url}: {said.text}") if said.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(f"{page.url}: {error}"))
    page.on("request", lambda asked: None if asked.url.startswith(("file:", "data:", "blob:"))
            else problems.append(f"{page.url}: asks for {asked.url}"))
    return page


def check_widths(browser, paths, problems):
    for width in WIDTHS.values():
        page = open_page(browser, width, "light", problems)
        for path in paths:
            page.goto(path.as_uri(), wait_until="load")
            needed = page.evaluate("document.documentElement.scrollWidth")
            if needed > width:
                problems.append(f"{path}: {needed} pixels wide on a screen of {width}: {page.evaluate(WIDE)}")
        page.close()


def check_search(browser, site, problems):
    """The first result of a name is the function of this name."""
    page = open_page(browser, WIDTHS["desktop"], "light", problems)
    page.goto((site / "index.html").as_uri(), wait_until="load")
    for name in FOUND_FIRST:
        page.locator("input.md-search__input").click()
        page.locator("input.md-search__input").fill("")
        page.keyboard.type(name)
        try:
            page.wait_for_function("name => document.querySelector('.md-search-result__item a[href*=\"#\"]')?.hash === '#' + name",
                                   arg=name.replace("::", "-"), timeout=20_000)
        except TimeoutError:
            links = [link.get_attribute("href") for link in page.locator(".md-search-result__item a").all()]
            problems.append(f"search for {name} finds first: {links[:2]}")
    page.close()


def take_pictures(browser, paths, site, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for scheme in SCHEMES:
        for named, width in WIDTHS.items():
            page = open_page(browser, width, scheme, [])
            for path in paths:
                page.goto(path.as_uri(), wait_until="load")
                name = path.relative_to(site).with_suffix("").as_posix().replace("/", "-")
                page.screenshot(path=folder / f"{name}-{named}-{scheme}.png")
            page.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", type=pathlib.Path)
    parser.add_argument("pages", nargs="*")
    parser.add_argument("--search", action="store_true", help="only check the search")
    parser.add_argument("--pictures", type=pathlib.Path, metavar="FOLDER")
    options = parser.parse_args()
    site = options.site.resolve()
    paths = [site / name for name in options.pages] or pages_of(site)
    problems = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        if options.pictures:
            take_pictures(browser, paths, site, options.pictures)
        else:
            check_widths(browser, [] if options.search else paths, problems)
            check_search(browser, site, problems)
        browser.close()
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
