#!/usr/bin/env python3
"""One page of all measurements on the host: how many times faster than each peer, losses first.

usage: report.py [--results FOLDER] [--out FILE]

Reads cpu-*.json, which cpu.py writes, from FOLDER (default: results/PROCESSOR, of this machine), and
compile-time*.json, which compile_time.py writes, from results. Writes a self-contained HTML file (default
build/report.html) with plots as inline SVG.
"""

import argparse
import html
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "support"), str(HERE.parent / "scripts" / "lib")]
import report_plots as plots  # noqa: E402
import this_processor  # noqa: E402
import whole_file  # noqa: E402
from report_plots import OURS  # noqa: E402

SHOWN = 15  # losses that are shown unfolded
STYLE = (HERE / "support" / "report.css").read_text()
TITLES = {"gemm": "Products", "elementwise": "Formulas of elements", "rows": "Rows", "reduce": "Folds", "training": "Training"}
NOTES = {"gemm": "float32, bfloat16 where named. nn, nt, tn: which operand is given transposed; sizes m, n, k, and how many.",
         "elementwise": "float32, elements, or rows and columns. memcpy: the copy of as many bytes.",
         "rows": "float32, rows and columns. Backward: gradients of all operands, given that of the result.",
         "reduce": "float32, rows and columns. memcpy: the copy of as many bytes, half of them read.",
         "training": "MNIST, 48,000 images an epoch, loading included, validation not. Each program at the best of its settings."}


def text(value):
    return html.escape(str(value))


def table(columns, rows, numbers_from=1):
    """Rows of cells; a cell is text, or (text, class)."""
    def cell(tag, i, value):
        content, kind = value if isinstance(value, tuple) else (value, "")
        kinds = " ".join(part for part in (kind, "number" if i >= numbers_from and kind != "name" else "") if part)
        return f'<{tag} class="{kinds}">{text(content)}</{tag}>' if kinds else f"<{tag}>{text(content)}</{tag}>"

    head = "".join(cell("th", i, name) for i, name in enumerate(columns))
    body = "\n".join(f"<tr>{''.join(cell('td', i, value) for i, value in enumerate(row))}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>'


def ratio(value):
    return "–" if value is None else plots.ratio(value)


def fastest_peer(work):
    """(ratio, name) of the fastest peer library."""
    return min(((by["best"]["median"], name) for name, by in work["ratios"].get(OURS, {}).items()
                if name not in plots.NO_LIBRARY), default=None)


def verdict_table(lines):
    """A table of verdicts; lines: (title of the part, verdict)."""
    rows = []
    for part, line in lines:
        at_most = line.get("at_most", False)
        state = ("not measured", "missing") if line["median"] is None else ("met", "met") if not line["missed"] else \
            (f"missed by {line['missed']} of {line['met'] + line['missed']}", "missed")
        rows.append([part, line["target"], state, ("≤ " if at_most else "≥ ") + f"{line['limit']:g}", ratio(line["median"]),
                     ratio(line["worst"]), (line["worst_workload"] or "", "name")])
    return table(["", "target", "", "limit", "median", "worst", ("the worst workload", "name")], rows, 3)


def losses(parts):
    """Every workload at which a peer library is faster, the worst first."""
    found = []
    for report in parts.values():
        for work in report["workloads"]:
            best = fastest_peer(work)
            if best and best[0] < 1:
                mine = plots.best_time(work, OURS)
                found.append((best[0], [work["name"], plots.label_of(work) if work["what"] else "", (ratio(best[0]), "missed"), (best[1], "name"), plots.duration(mine),
                                        plots.duration(plots.best_time(work, best[1]))]))
    if not found:
        return "<p>Nowhere.</p>"
    rows = [row for _, row in sorted(found, key=lambda pair: pair[0])]
    columns = ["workload", "", "times as fast", ("than", "name"), "ours", "theirs"]
    total = sum(len(report["workloads"]) for report in parts.values())
    blocks = [f"<p>{len(rows)} of {total} workloads, each library at its best number of threads; the worst:</p>",
              table(columns, rows[:SHOWN], 2)]
    if rows[SHOWN:]:
        blocks.append(f"<details><summary>The other {len(rows) - SHOWN}</summary>{table(columns, rows[SHOWN:], 2)}</details>")
    return "".join(blocks)


def numbers(report):
    """Medians of every program at each number of threads."""
    names = list(dict.fromkeys(name for work in report["workloads"] for name in work["programs"]))
    columns = [(name, threads) for name in names
               for threads in sorted({t for work in report["workloads"] for t in work["programs"].get(name, {})})]
    rows = []
    for work in report["workloads"]:
        row = [work["name"]]
        for name, threads in columns:
            entry = work["programs"].get(name, {}).get(threads)
            row.append(plots.duration(entry["median"]) + rate(work, entry["median"]) if entry else "")
        rows.append(row)
    return table(["median", *(f"{name}, {threads} thr." for name, threads in columns)], rows)


def rate(work, seconds):
    if work["flops"]:
        return f" · {work['flops'] / seconds / 1e9:.3g} GF/s"
    return f" · {work['bytes'] / seconds / 1e9:.3g} GB/s" if work["bytes"] else ""


def accuracies(report):
    blocks = []
    for work in report["workloads"]:
        rows = []
        for name, by_threads in work["programs"].items():
            for threads, entry in by_threads.items():
                rows.append([f"{name}, {threads} thread{'s' * (threads != '1')}", plots.duration(entry["median"]), plots.duration(entry["p10"]),
                             plots.duration(entry["p90"]), *(f"{100 * a:.2f} %" for a in entry["accuracy"]), f"{entry['loss'][-1]:.4f}"])
        epochs = max(len(row) for row in rows) - 5
        blocks.append(f"<h3>{text(work['name'])}</h3><p>{text(work['what'])}. Accuracy on 12,000 other images after each epoch, mean of the seeds.</p>" +
                      table(["", "epoch", "p10", "p90", *(f"after {i + 1}" for i in range(epochs)), "last loss"], rows))
    return "".join(blocks)


def part_of(name, report):
    drawn = plots.drawn(name, report["workloads"])
    problems = [f"{work['name']}: {problem}" for work in report["workloads"] for problem in work["problems"]]
    blocks = [f"<h2 id={name}>{TITLES[name]}</h2><p>{NOTES[name]}</p>", drawn]
    if name == "training":
        blocks.append(accuracies(report))
    else:
        blocks.append(f"<details><summary>Times of all {len(report['workloads'])} workloads</summary>{numbers(report)}</details>")
    if problems:
        blocks.append("<details><summary>Left out: wrong results, or programs that ended</summary><ul>" +
                      "".join(f"<li>{text(problem)}</li>" for problem in problems) + "</ul></details>")
    return "\n".join(blocks)


def compile_time(report):
    rows, lines = [], []
    for row in report["rows"]:
        peer = next(iter(row["of_peer"].values()), None)
        rows.append([row["source"], row["compiler"], f"{row['seconds']:.2f}", f"{row['over_empty']:.2f}", ratio(peer)])
        judged = {"mnist.cpp": (peer, 0.5, "examples/mnist.cpp from headers, of libtorch's"),
                  "mnist.cpp + library": (peer, 0.2, "examples/mnist.cpp beside the compiled library, of libtorch's"),
                  "locus.hpp alone": (row["over_empty"], 1.0, "locus.hpp over an empty file, seconds")}.get(row["source"])
        if judged and judged[0] is not None and row["compiler"] == "gcc":
            lines.append({"target": judged[2], "limit": judged[1], "at_most": True, "median": judged[0], "worst": judged[0],
                          "missed": int(judged[0] > judged[1]), "met": int(judged[0] <= judged[1]), "worst_workload": row["source"]})
    return lines, ("<h2 id=compile>Compile time</h2><p>Processor seconds of the compiler, -O2. “+ library”: beside the compiled library.</p>" +
                   table(["source", "compiler", "seconds", "over empty", "of libtorch's"], rows, 2) +
                   f"<p class=faint>{text(report['date'])}, commit {text(report['commit'])}</p>")


def machines(parts):
    rows = []
    for name, report in parts.items():
        e = report["environment"]
        libraries = sorted({library for work in report["workloads"] for library in work["programs"]} - set(plots.NO_LIBRARY))
        rows.append([TITLES[name], e["date"], e["commit"], f"{e['cpu']}, {e['cores']} cores", e["compiler"], ", ".join(libraries),
                     "; ".join(report["left_out"])])
    return table(["", "date", "commit", "processor", "compiler", "peers", "not there"], rows, 9)


def page(parts, compiled):
    lines = [(TITLES[name], line) for name, report in parts.items() for line in report["verdicts"]]
    compile_lines, compile_block = compile_time(compiled) if compiled else ([], "")
    lines += [("Compile time", line) for line in compile_lines]
    met = sum(line["median"] is not None and not line["missed"] for _, line in lines)
    head = (f"<h1>Locus on the host</h1><p>How many times faster than each peer, in turns on one machine: medians of ratios. "
            f"Above 1, Locus is faster. <b>{met} of {len(lines)} targets met.</b></p>" + plots.legend())
    blocks = [head, verdict_table(lines), "<h2 id=losses>Where others are faster</h2>", losses(parts)]
    blocks += [part_of(name, parts[name]) for name in TITLES if name in parts]
    machine = "<h2 id=machine>Machine and versions</h2>" + machines(parts)
    return (f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>Locus on the host</title><style>\n{STYLE}</style></head><body>\n" + "\n".join(blocks) + compile_block + machine + "\n</body></html>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=pathlib.Path, default=HERE / "results" / this_processor.kind(), metavar="FOLDER",
                        help="of one kind of processor (default: that of this machine)")
    parser.add_argument("--out", type=pathlib.Path, default=HERE.parent / "build" / "report.html", metavar="FILE")
    options = parser.parse_args()
    parts = {name: json.loads(path.read_text()) for name in TITLES if (path := options.results / f"cpu-{name}.json").exists()}
    compiled = sorted((HERE / "results").glob("compile-time*.json"))
    if not parts:
        sys.exit(f"report.py: {options.results} holds no cpu-PART.json; run cpu.py first")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    whole_file.write(options.out, page(parts, json.loads(compiled[-1].read_text()) if compiled else None))
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
