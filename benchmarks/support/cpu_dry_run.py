"""The report of cpu.py --dry-run: whether every workload was measured with a correct result, and whether its page can
be drawn."""

import html.parser
import math
import pathlib
import sys
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "tests" / "tools")]
import common  # noqa: E402
import report as pages  # noqa: E402

UNCLOSED = {"meta"}


class Page(html.parser.HTMLParser):
    """Whether elements are nested correctly."""

    def __init__(self, text):
        super().__init__()
        self.open, self.problem = [], None
        self.feed(text)
        self.problem = self.problem or (f"{self.open[-1]} does not end" if self.open else None)

    def handle_starttag(self, tag, attributes):
        if tag not in UNCLOSED:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problem = self.problem or f"{tag} ends and did not begin"


def problems_of_workload(work, ours):
    """The problems of a workload, one line each."""
    lines = list(work["problems"])
    if ours not in work["programs"]:
        return [*lines, f"was not measured with {ours}"]
    for name, by_threads in work["programs"].items():
        for entry in by_threads.values():
            times = [entry["p10"], entry["median"], entry["p90"]]
            if not all(math.isfinite(time) and time > 0 for time in times) or times != sorted(times):
                lines.append(f"{name}: p10, median and p90 are {times}")
            if not 0 <= entry.get("error", 0) <= 1:
                lines.append(f"{name}: was not found right")
    return lines


def problem_of_page(text):
    plots = [part.split("</svg>")[0] + "</svg>" for part in text.split("<svg")[1:]]
    try:
        for plot in plots:
            xml.etree.ElementTree.fromstring("<svg" + plot)
    except xml.etree.ElementTree.ParseError as error:
        return f"a plot is no XML: {error}"
    return Page(text).problem or (None if plots else "there is no plot")


def finish(reports, ours):
    """Counts the cases; returns the exit status."""
    result = common.Report()
    for part, report in reports.items():
        for work in report["workloads"]:
            result.add(f"{part}: {work['name']}", "\n".join(problems_of_workload(work, ours)))
    result.add("page", problem_of_page(pages.page(reports, None)))
    return result.finish()
