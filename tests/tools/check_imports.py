#!/usr/bin/env python3
"""No two Python modules of the tree import each other, directly or through others.

usage: check_imports.py [--root DIR]
"""

import argparse
import ast
import pathlib

import common

FOLDERS = ("scripts", "tests", "benchmarks")


def modules(root):
    """{name: file} of the modules; a module of a package has the package's name as prefix."""
    found = {}
    for path in sorted(path for folder in FOLDERS for path in (root / folder).rglob("*.py")):
        if path.match("benchmarks/mistakes/*/*.py"):  # programs of equal names, which nothing imports
            continue
        package = path.parent.name if (path.parent / "__init__.py").exists() else ""
        name = package if path.stem == "__init__" else ".".join(filter(None, (package, path.stem)))
        if name in found:
            raise ValueError(f"{path} and {found[name]} have the same name; imports find one of them")
        found[name] = path
    return found


def imported(path, package):
    """The names that a file imports anywhere, as absolute ones."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(filter(None, (package if node.level else "", node.module)))
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def graph(root):
    """{module: the modules that it imports}"""
    known = modules(root)
    return {name: sorted({other for other in imported(path, path.parent.name) if other in known and other != name})
            for name, path in known.items()}


def circles(edges):
    """Import cycles, as lists of modules of which each imports the next; at least one if there is any."""
    found, done = [], set()

    def walk(name, above):
        if name in above:
            found.append([*above[above.index(name):], name])
        elif name not in done:
            for other in edges[name]:
                walk(other, [*above, name])
            done.add(name)

    for name in edges:
        walk(name, [])
    return found


def check_all(root, report):
    try:
        problem = "\n".join(" imports ".join(circle) for circle in circles(graph(root)))
    except ValueError as error:
        problem = error
    report.add("imports", problem)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=common.ROOT)
    options = parser.parse_args()
    common.main(lambda report: check_all(options.root.resolve(), report))
