#!/usr/bin/env python3
"""The options that compile errors list are those of a struct, in its order.

A text of include/locus/refuse that says "its options, in this order, are .a, .b" must name all members of some struct
whose name ends in Options, and the type beside it, which g++ and nvcc print, must end in the same names: _a_b.

usage: check_options.py [--root DIR]
"""

import argparse
import pathlib
import re

import common

STRUCT = re.compile(r"^struct \w+Options[^{;]*\{\n(.*?)^\};", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"//[^\n]*")
MEMBER = re.compile(r"^  (?!static|using|friend|constexpr)[\w:<>]+(?:<[^;]*>)?[ &*]+((?:\w+(?: = [^,;]*|\{[^;]*?\})?(?:, )?)+);",
                    re.MULTILINE)
LISTED = re.compile(r"its options, in this order, are ([^\";]*)")
NEXT_LITERAL = re.compile(r'"\s*\\?\s*\n\s*"')


def structs(root):
    """The members of each struct of options, in their order. Names repeat: locus and locus::nn have a Conv2dOptions each."""
    found = []
    for path in sorted((root / "include").rglob("*.hpp")):
        for body in STRUCT.findall(path.read_text()):
            found.append([word.split(" = ")[0].split("{")[0] for names in MEMBER.findall(COMMENT.sub("", body))
                          for word in names.split(", ")])
    return found


def problems(root):
    known = structs(root)
    for path in sorted((root / "include/locus/refuse").rglob("*.inc")):
        text = NEXT_LITERAL.sub("", path.read_text())
        for words in LISTED.findall(text):
            listed = re.findall(r"\.(\w+)", words)
            where = f"{path.relative_to(root)}: "
            if listed not in known:
                yield f"{where}no struct of options has the members {', '.join(listed)}, in this order"
            if "_" + "_".join(listed) not in text:
                yield f"{where}no type of the message ends in _{'_'.join(listed)}"


def check(report):
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=pathlib.Path, default=common.ROOT)
    root = parser.parse_args().root
    report.add("lists of options", "\n".join(problems(root)))
    report.add("lists are found", None if any(LISTED.search(NEXT_LITERAL.sub("", path.read_text())) for path in
                                              (root / "include/locus/refuse").rglob("*.inc")) else "there is none")


if __name__ == "__main__":
    common.main(check)
