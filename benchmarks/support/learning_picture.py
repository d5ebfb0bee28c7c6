"""Accuracies over a size, as SVG, in the style of the picture of training times."""

import math
from dataclasses import dataclass

from training_times_page import COLORS, GAP, HEIGHT, LEFT, STYLE, TOP, WIDTH, circle

MARKS = 5  # of the axis of accuracies, with both ends


@dataclass
class Curve:
    name: str
    points: list  # (size, percent, or None)


@dataclass
class Panel:
    title: str
    label: str
    curves: list
    is_logarithmic: bool
    low: float  # percent at the bottom; the top is 100

    def sizes(self):
        return sorted({size for curve in self.curves for size, _ in curve.points})

    def right(self, size):
        sizes = self.sizes()
        first, last, this = (math.log(each) if self.is_logarithmic else each for each in (sizes[0], sizes[-1], size))
        return 8 + (this - first) / ((last - first) or 1) * (WIDTH - 16)

    def up(self, percent):
        """raises ValueError for a percentage that the axis does not hold"""
        if not self.low <= percent <= 100:
            raise ValueError(f"'{self.title}': {percent:g} % is outside the axis of {self.low} to 100 %; choose another `low`")
        return (percent - self.low) / (100 - self.low) * HEIGHT


def size_mark(size):
    return f"{size:,}" if size >= 1 else f"{size:g}"


def axes(panel, left):
    body = f'<text class="title" x="{left}" y="{TOP - 14}">{panel.title}</text>'
    for i in range(MARKS):
        percent = panel.low + (100 - panel.low) * i / (MARKS - 1)
        y = round(TOP + HEIGHT - panel.up(percent), 1)
        body += f'<path class="axis" d="M{left} {y}h{WIDTH}"/><text x="{left - 6}" y="{y + 4}" text-anchor="end">{percent:g} %</text>'
    last = -math.inf
    for size in panel.sizes():
        x = round(left + panel.right(size), 1)
        if x - last >= 30:  # marks do not overlap
            body += f'<text x="{x}" y="{TOP + HEIGHT + 17}" text-anchor="middle">{size_mark(size)}</text>'
            last = x
    return body + f'<text x="{left + WIDTH / 2}" y="{TOP + HEIGHT + 35}" text-anchor="middle">{panel.label}</text>'


def curves(panel, left):
    body = ""
    for color, curve in enumerate(panel.curves):
        points = [(round(left + panel.right(size), 1), round(TOP + HEIGHT - panel.up(percent), 1))
                  for size, percent in curve.points if percent is not None]
        body += f'<path stroke="{COLORS[color]}" d="M{" ".join(f"{x},{y}" for x, y in points)}"/>'
        body += "".join(circle(x, y, COLORS[color], 0) for x, y in points)
        y = TOP + HEIGHT + 58 + 18 * color
        body += f'<path stroke="{COLORS[color]}" d="M{left} {y - 4}h24"/><text x="{left + 32}" y="{y}">{curve.name}</text>'
    return body


def drawing(panels, label):
    body = "".join(axes(panel, LEFT + i * (WIDTH + GAP)) + curves(panel, LEFT + i * (WIDTH + GAP)) for i, panel in enumerate(panels))
    width = LEFT + len(panels) * (WIDTH + GAP) - GAP + 24
    height = TOP + HEIGHT + 62 + 18 * max(len(panel.curves) for panel in panels)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
            f'aria-label="{label}"><style>{STYLE}</style><rect width="{width}" height="{height}" fill="#ffffff"/>{body}</svg>\n')
