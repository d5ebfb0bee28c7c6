#!/usr/bin/env python3
"""Checks docs/mistakes-elsewhere.md and its programs in benchmarks/mistakes.

- Each kind has a program or a reason for each library, and each program has a recorded outcome that is not void.
- A kind that does not compile with Locus names its case in tests/compile_fail, and no other kind does.
- The page is made of the recorded results.
- Three programs of Locus are compiled with clang and answer as recorded.
- Outcomes follow from samples of output as benchmarks/mistakes.py says.

usage: mistakes_elsewhere_test.py
"""

import json
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "tools"), str(ROOT / "benchmarks"), str(ROOT / "benchmarks" / "support")]
import common  # noqa: E402
import elsewhere_page  # noqa: E402
import mistakes  # noqa: E402

CASES = ROOT / "tests" / "compile_fail"
COMPILED = ["operands_in_two_places", "option_misspelled", "tensor_as_a_condition"]
SILENT, RIGHT = "PASSED\nSILENT\n", "PASSED\nRIGHT\n"
SAMPLES = [  # status, output, error, warning -> outcome
    (0, RIGHT, None, None, "correct"), (0, RIGHT, None, "a warning", "correct"), (0, SILENT, None, None, "silently wrong"),
    (0, SILENT, None, "a warning", "warns"), (134, "", "no", None, "throws at once"), (1, "PASSED\n", "no", None, "throws later"),
    (139, "", None, None, "throws at once"), (0, "PASSED\n", None, None, "void"), (0, "", None, None, "void")]
THROWN = {"terminate called after throwing an instance of 'E'\n  what():  (2, 3) x (4, 5)\nmore\n": "(2, 3) x (4, 5)",
          "a: /e/B.h:7: T f(): Assertion `rows == 3 && \"sizes\"' failed.\n": "Assertion `rows == 3 && \"sizes\"' failed",
          "SILENT\n": None}


def faults_of_kind(name, kind, outcomes):
    """Sentences; outcomes: {library: outcome} as recorded."""
    for library in elsewhere_page.LIBRARIES:
        there, absent = mistakes.program(name, library).is_file(), library in kind.get("absent", {})
        if there == absent:
            yield f"{name}: {library} needs a program or a reason in kinds.json, and not both"
        if there != (library in outcomes):
            yield f"{name}: {library} has {'no' if there else 'a'} recorded outcome; run benchmarks/mistakes.py {library}"
        if outcomes.get(library) == "void":
            yield f"{name}: the outcome of {library} is void"
    refused, case = outcomes.get("locus") == "does not compile", kind["case"]
    if refused != bool(case):
        yield f"{name}: " + ("does not compile, and names no case" if refused else f"compiles, and names the case {case}")
    if case and not any((folder / f"{case}.cpp").is_file() for folder in (CASES, CASES / "usage")):
        yield f"{name}: tests/compile_fail has no {case}.cpp"


def check_kinds(known, result, report):
    recorded = {}
    for row in result["rows"]:
        recorded.setdefault(row["kind"], {})[row["library"]] = row["outcome"]
    for name, kind in known["kinds"].items():
        report.add(name, "\n".join(faults_of_kind(name, kind, recorded.get(name, {}))))
    folders = {path.name for path in mistakes.PROGRAMS.iterdir() if path.is_dir() and path.name != "__pycache__"}
    report.add("folders", ", ".join(sorted(folders ^ known["kinds"].keys() | recorded.keys() - known["kinds"].keys())))
    used = {reason for kind in known["kinds"].values() for reason in kind.get("absent", {}).values()}
    report.add("reasons", ", ".join(sorted(used ^ known["reasons"].keys())))


def check_page(result, report):
    same = elsewhere_page.PAGE.read_text() == elsewhere_page.page(result)
    report.add("page", None if same else "differs from the results; python3 benchmarks/mistakes.py --page writes it")


def check_compiled(result, report):
    clang = common.find_compilers().get("clang")
    if not clang:
        return report.skip("compiled", "no clang++ here")
    library = mistakes.find_locus(None)
    sources = {mistakes.program(kind, "locus"): kind for kind in COMPILED}
    recorded = {row["kind"]: row for row in result["rows"] if row["library"] == "locus"}
    with tempfile.TemporaryDirectory() as scratch:
        errors = mistakes.compile_all(clang, library, list(sources), True, scratch)[2]
    for source, kind in sources.items():
        said, expected = mistakes.plain(errors.get(source, "compiles")), recorded[kind]["message"]
        report.add(f"compiled: {kind}", None if said == expected else f"'{said}', and recorded is '{expected}'")


def check_samples(report):
    for *sample, expected in SAMPLES:
        outcome = mistakes.ran(*sample)["outcome"]
        report.add(str(sample), None if outcome == expected else f"{outcome}; expected {expected}")
    for output, expected in THROWN.items():
        found = mistakes.thrown(output)
        report.add(output, None if found == expected else f"{found}; expected {expected}")
    header = "/lib/x.hpp:1:2: error: rows\n/lib/y.hpp:3:4: note: here\n/a.cpp:5:6: note: here\n"
    found = mistakes.messages_of(header + "/b.cpp:7:8: warning: sign\n", ["/a.cpp", "/b.cpp"], "error")
    report.add("an error in a header", None if found == {"/a.cpp": "/lib/x.hpp:1:2: error: rows"} else str(found))
    for message, expected in {"/a/b/c.cpp:7: error: T<int> / 2": "c.cpp:7: error: T<int> / 2",
                              "see http://a.org/b/c.html": "see http://a.org/b/c.html"}.items():
        plain = mistakes.plain(message)
        report.add(f"folders are left out: {message}", None if plain == expected else plain)


def check(report):
    known, result = json.loads(elsewhere_page.KINDS.read_text()), json.loads(mistakes.RESULTS.read_text())
    check_kinds(known, result, report)
    check_page(result, report)
    check_samples(report)
    check_compiled(result, report)


if __name__ == "__main__":
    common.main(check)
