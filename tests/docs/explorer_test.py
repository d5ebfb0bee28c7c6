#!/usr/bin/env python3
"""Links for Compiler Explorer hold their programs, and the site's page has all of them."""

import pathlib
import re
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / folder) for folder in ("scripts/lib", "tests/tools")]
import common  # noqa: E402
import explorer  # noqa: E402

ADDRESS = "https://locus.example/single"  # .example is reserved for such addresses (RFC 2606)
MAIN = "#include <locus/locus.hpp>  // tensors\n{}\nint main() {{}}\n"
REFUSED = {"int main() {}\n": "includes no header of Locus",
           MAIN.format("#include <locus/io/safetensors.hpp>"): "locus.hpp does not hold <locus/io/safetensors.hpp>",
           MAIN.format('#include <locus/distributed/distributed.hpp>\n#include <locus/io/npy.hpp>'): "locus_ranks.hpp does not hold"}
LONGEST = 4_000  # characters of a link; servers refuse from 8,000 on


def check_includes(report):
    given = explorer.with_single_header(MAIN.format("#include <vector>\n#  include <locus/ops/matmul.hpp>"), ADDRESS)
    wanted = f"#include <{ADDRESS}/locus.hpp>\n#include <vector>\nint main() {{}}\n"
    report.add("a program with several headers", None if given == wanted else given)
    for program, expected in REFUSED.items():
        try:
            report.fail(expected, explorer.with_single_header(program, ADDRESS))
        except ValueError as error:
            report.add(expected, None if expected in str(error) else error)


def check(report):
    check_includes(report)
    links = re.findall(r"\[open\]\((\S+)\)", explorer.page(ADDRESS, lambda name: f"course/{name}.md"))
    programs = explorer.programs_of(ADDRESS)
    held = {explorer.source_of(link) for link in links}
    for name, program in programs.items():
        report.add(f"link {name}", None if program in held else "the page has no link that holds this program")
        report.add(f"{name} includes the single header", None if f"#include <{ADDRESS}/" in program and "<locus/" not in program else program)
    report.add("number of links", None if len(links) == len(programs) >= 40 else f"{len(links)} links, {len(programs)} programs")
    report.add("longest link", None if max(map(len, links)) <= LONGEST else f"{max(map(len, links))} characters; expected at most {LONGEST}")


if __name__ == "__main__":
    common.main(check)
