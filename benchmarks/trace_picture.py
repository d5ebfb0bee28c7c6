#!/usr/bin/env python3
"""Draws some steps of a trace of LOCUS_TRACE=json as a picture, such as docs/trace.svg. Perfetto shows whole traces.

usage: trace_picture.py FILE --out PICTURE [--first STEP] [--steps COUNT]
"""

import argparse
import collections
import html
import json
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "scripts" / "lib"))
import whole_file  # noqa: E402

WIDTH, LEFT, ROW, GAP, TOP, CURVE = 1140, 96, 22, 14, 34, 44
LETTER = 6.1  # pixels
COLORS = {"forward": "#0072b2", "backward": "#d55e00", "step": "#009e73", "communication": "#cc79a7", "data": "#e69f00"}
OF_CATEGORY = {"phase": "#56b4e9", "launch": "#d8dde6", "gpu": "#c3dcc3", "copy": "#f0dcb4", "communication": "#e6c8d8"}
STYLE = """<style>text{font:11px system-ui,'Segoe UI','Helvetica Neue',Arial,sans-serif;fill:#1a1a1a}
.light{fill:#fff}.grid{stroke:#e4e4e4}.curve{fill:#d9e6f2;stroke:#0072b2}rect{stroke:#fff;stroke-width:.5}</style>"""


def window_of(events, first, steps):
    """(begin, end): from the end of the step before the first, to the end of the last."""
    ends = sorted(e["ts"] + e["dur"] for e in events if e.get("cat") == "phase" and e["name"] == "step")
    if not 0 < first <= first + steps - 1 < len(ends):
        sys.exit(f"trace_picture.py: the trace has {len(ends)} steps; expected steps from 1, before {len(ends)}, not {first} to "
                 f"{first + steps - 1}")
    return ends[first - 1], ends[first + steps - 1]


def rows_of(events):
    """[[event]]: events of a track by how deep they are nested."""
    rows, around = [], []
    for event in sorted(events, key=lambda e: (e["ts"], -e["dur"])):
        while around and around[-1] <= event["ts"] + 1e-4:
            around.pop()
        if len(around) == len(rows):
            rows.append([])
        rows[len(around)].append(event)
        around.append(event["ts"] + event["dur"])
    return rows


class Picture:
    def __init__(self, begin, end):
        self.begin, self.end, self.y, self.parts = begin, end, TOP, []

    def x(self, time):
        inside = min(max(time, self.begin), self.end)
        return LEFT + (WIDTH - LEFT - 8) * (inside - self.begin) / (self.end - self.begin)

    def text(self, x, y, text, attributes=""):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}"{attributes}>{html.escape(text)}</text>')

    def box(self, event):
        x = self.x(event["ts"])
        wide = max(self.x(event["ts"] + event["dur"]) - x, 0.6)
        color = COLORS.get(event["name"]) if event["cat"] == "phase" else None
        self.parts.append(f'<g><title>{html.escape(event["name"])}: {event["dur"]:.1f} us</title><rect x="{x:.1f}" y="{self.y}" '
                          f'width="{wide:.1f}" height="{ROW - 2}" fill="{color or OF_CATEGORY[event["cat"]]}"/></g>')
        letters = int((wide - 6) / LETTER)
        if letters > 2:
            shown = event["name"] if len(event["name"]) <= letters else event["name"][:letters - 1] + "…"
            self.text(x + 3, self.y + 14, shown, ' class="light"' if color else "")

    def track(self, name, events):
        self.text(LEFT - 8, self.y + 14, name, ' text-anchor="end"')
        for row in rows_of(events):
            for event in row:
                self.box(event)
            self.y += ROW
        self.y += GAP

    def curve(self, name, events):
        """A counter: its values as a step function."""
        values = [(e["ts"], next(iter(e["args"].values()))) for e in sorted(events, key=lambda e: e["ts"])]
        before = [value for time, value in values if time <= self.begin]
        values = [(self.begin, before[-1] if before else 0), *((t, v) for t, v in values if self.begin < t < self.end)]
        most = max(value for _, value in values) or 1
        bottom, path, height = self.y + CURVE, f"M{LEFT},{self.y + CURVE}", 0
        for time, value in values:
            path += f"H{self.x(time):.1f}"
            height = bottom - CURVE * value / most
            path += f"V{height:.1f}"
        self.parts.append(f'<path class="curve" d="{path}H{self.x(self.end):.1f}V{bottom}Z"/>')
        self.text(LEFT - 8, self.y + 14, name, ' text-anchor="end"')
        self.text(LEFT - 8, self.y + 28, f"{most / 1e6:.1f} MB", ' text-anchor="end"')
        self.y = bottom + GAP

    def axis(self):
        length = self.end - self.begin
        tick = next(t for power in range(1, 9) for t in (10**power, 2 * 10**power, 5 * 10**power) if length / t <= 10)
        for i in range(int(length / tick) + 1):
            x = self.x(self.begin + i * tick)
            self.parts.insert(0, f'<line class="grid" x1="{x:.1f}" y1="{TOP - 8}" x2="{x:.1f}" y2="{self.y}"/>')
            self.text(x, TOP - 14, f"{i * tick / 1000:g} ms", ' text-anchor="middle"')

    def svg(self):
        return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.y}" width="{WIDTH}" height="{self.y}">'
                          f'<title>A trace of training</title>', STYLE, f'<rect width="{WIDTH}" height="{self.y}" fill="#fff"/>',
                          *self.parts, "</svg>\n"])


def drawn(events, first, steps):
    begin, end = window_of(events, first, steps)
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    tracks, counters = collections.defaultdict(list), collections.defaultdict(list)
    for event in events:
        if event["ph"] == "X" and event["ts"] < end and event["ts"] + event["dur"] > begin:
            tracks[event["pid"], event["tid"]].append(event)
        elif event["ph"] == "C":
            counters[event["pid"], event["name"]].append(event)
    picture = Picture(begin, end)
    for track, of_track in sorted(tracks.items()):
        picture.track(names.get(track, ""), of_track)
    for (_, name), of_counter in sorted(counters.items()):
        picture.curve(name.removeprefix("memory of ").replace("cpu", "cpu memory"), of_counter)
    picture.axis()
    return picture.svg()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--first", type=int, default=8)
    parser.add_argument("--steps", type=int, default=1)
    options = parser.parse_args()
    whole_file.write(options.out, drawn(json.loads(options.file.read_text()), options.first, options.steps))


if __name__ == "__main__":
    main()
