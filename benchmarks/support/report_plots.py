"""The plots of report.py, as SVG: bars of ratios, ratios over sizes, ratios in order. Axes of ratios are logarithmic."""

import html
import math

OURS, ANYWHERE, BY_FLOAT = "Locus", "Locus -O2", "Locus avx512"
NO_LIBRARY = (OURS, ANYWHERE, BY_FLOAT, "memcpy")
PEERS = {"openblas": "OpenBLAS", "eigen": "Eigen", "xtensor": "xtensor", "libtorch": "libtorch", "memcpy": "memcpy"}
LEFT, WIDTH, RIGHT, ROW = 215, 520, 305, 18
LOW, HIGH = 1 / 16, 16.0


def duration(seconds):
    for factor, unit in ((1e9, "ns"), (1e6, "µs"), (1e3, "ms"), (1.0, "s")):
        if seconds * factor < 999.5 or unit == "s":
            return f"{seconds * factor:.3g} {unit}"


def best_time(work, name):
    return min(entry["median"] for entry in work["programs"][name].values())


def kind_of(peer):
    return next((kind for kind, name in PEERS.items() if peer.startswith(name)), "plain")


def svg(width, height, body, label):
    return f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-label="{html.escape(label)}">{body}</svg>'


def legend():
    body, x = '<rect class="gain" x="0" y="4" width="14" height="10"/><text x="19" y="13">faster than the fastest library</text>', 200
    body += f'<rect class="loss" x="{x}" y="4" width="14" height="10"/><text x="{x + 19}" y="13">slower</text>'
    x += 75
    for kind, name in PEERS.items():
        body += f'<circle class="{kind}" cx="{x}" cy="9" r="4"/><text x="{x + 8}" y="13">{name}</text>'
        x += 28 + 7 * len(name)
    body += f'<path class="tick" d="M{x} 3v12"/><text x="{x + 6}" y="13">target</text>'
    return svg(x + 60, 18, body, "legend")


def along(value, low, high, length):
    """The position on a logarithmic axis; values outside are clamped to its ends."""
    share = math.log(max(low, min(high, value)) / low) / math.log(high / low)
    return round(share * length, 1)


def at(value):
    return LEFT + along(value, LOW, HIGH, WIDTH)


def times(mark):
    """A power of two, below 1 as a fraction."""
    return f"{mark:g} ×" if mark >= 1 else f"1/{1 / mark:g}"


def ratio(value):
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def ratio_axis(height):
    marks = [2.0 ** power for power in range(-4, 5)]
    lines = "".join(f'<path class="{"one" if mark == 1 else "axis"}" d="M{at(mark)} 16V{height}"/>' for mark in marks)
    return lines + "".join(f'<text class="faint" x="{at(mark)}" y="11" text-anchor="middle">{times(mark)}</text>' for mark in marks)


def label_of(work):
    """The label of a workload: a layer's product is named after its role."""
    of_layer = work["what"] and work["group"] != "training"
    return f"{work['group']} {work['what']}" if of_layer else work["name"]


def bar(work, y):
    """A bar from 1 to the ratio to the fastest library (or to memcpy), a circle for each peer, a tick for each
    target."""
    ratios = {name: by["best"]["median"] for name, by in work["ratios"].get(OURS, {}).items() if name != ANYWHERE}
    libraries = {name: value for name, value in ratios.items() if name not in NO_LIBRARY}
    fastest = min(libraries or ratios, key=(libraries or ratios).get)
    value, middle = ratios[fastest], y + ROW / 2
    start, end = sorted((at(1), at(value)))
    said = "; ".join(f"{name} {ratio(other)} ×" for name, other in ratios.items())
    body = f'<g><title>{html.escape(work["name"])}: {html.escape(said)}</title>'
    body += f'<text x="{LEFT - 10}" y="{y + 13}" text-anchor="end">{html.escape(label_of(work))}</text>'
    body += f'<rect class="{"gain" if value >= 1 else "loss"}" x="{start}" y="{y + 4}" width="{max(1, round(end - start, 1))}" height="{ROW - 8}" opacity="0.45"/>'
    for limit in sorted({target["limit"] for target in work["targets"] if not target.get("at_most") and "-O2" not in target["target"]}):
        body += f'<path class="tick" d="M{at(limit)} {y + 2}v{ROW - 4}"/>'
    for name, other in ratios.items():
        body += f'<circle class="{kind_of(name)}" cx="{at(other)}" cy="{middle}" r="3"/>'
    missed = any(target["met"] is False for target in work["targets"])
    note = f'{duration(best_time(work, OURS))} · {ratio(value)} × {fastest.split(" (")[0]}{" · missed" * missed}'
    body += f'<text x="{LEFT + WIDTH + 12}" y="{y + 13}"{" class=missed" * missed}>{html.escape(note)}</text></g>'
    return body


def bars(works):
    works = [work for work in works if work["ratios"].get(OURS)]
    if not works:
        return ""
    height = 20 + ROW * len(works)
    return svg(LEFT + WIDTH + RIGHT, height, ratio_axis(height) + "".join(bar(work, 20 + ROW * i) for i, work in enumerate(works)), "ratios")


def panel(title, curves, x_of, x_marks, limits, low, high, width=500, height=220):
    """Curves of (x, ratio) by class; dashed lines at the limits."""
    left, top, inner, tall = 48, 22, width - 68, height - 46
    y_of = lambda value: round(top + tall - along(value, low, high, tall), 1)  # noqa: E731
    body = f'<text x="{left}" y="13">{html.escape(title)}</text>'
    mark = low
    while mark <= high:
        body += f'<path class="{"one" if mark == 1 else "axis"}" d="M{left} {y_of(mark)}h{inner}"/>'
        body += f'<text class="faint" x="{left - 6}" y="{y_of(mark) + 4}" text-anchor="end">{times(mark)}</text>'
        mark *= 2
    for limit in limits:
        body += f'<path class="target" d="M{left} {y_of(limit)}h{inner}"><title>target {limit:g}</title></path>'
    for value, label in x_marks:
        body += f'<text class="faint" x="{left + x_of(value) * inner:.1f}" y="{height - 8}" text-anchor="middle">{label}</text>'
    for kind, points in curves.items():
        places = [(f"{left + x_of(x) * inner:.1f}", y_of(value), said) for x, value, said in points]
        body += f'<path class="{kind} curve" d="M' + "L".join(f"{x} {y}" for x, y, _ in places) + '"/>'
        body += "".join(f'<circle class="{kind}" cx="{x}" cy="{y}" r="2.2"><title>{html.escape(said)}</title></circle>' for x, y, said in places)
    return svg(width, height, body, title)


def side_by_side(panels):
    return '<div class=panels>' + "".join(panels) + "</div>"


def of_threads(works, threads):
    """{class: [(work, ratio, label)]} at a number of threads."""
    curves = {}
    for work in works:
        for name, by in work["ratios"].get(OURS, {}).items():
            if name not in NO_LIBRARY and threads in by:
                value = by[threads]["median"]
                curves.setdefault(kind_of(name), []).append((work, value, f"{work['name']}: {ratio(value)} × {name}"))
    return curves


def threads_of(works):
    return sorted({threads for work in works for by in work["ratios"].get(OURS, {}).values() for threads in by} - {"best"})


def limits_of(works, threads):
    return sorted({target["limit"] for work in works for target in work["targets"] if f"{threads} thread" in target["target"]})


def squares(works):
    """Ratios over sizes, a panel for each number of threads."""
    sizes = [int(work["name"].split()[1]) for work in works]
    low, high = min(sizes), max(sizes)
    x_of = lambda size: math.log(size / low) / math.log(high / low) if high > low else 0.5  # noqa: E731
    marks = [(size, size) for size in (16, 64, 256, 1024, 4096) if low <= size <= high]
    panels = []
    for threads in threads_of(works):
        curves = {kind: [(int(work["name"].split()[1]), value, said) for work, value, said in points]
                  for kind, points in of_threads(works, threads).items()}
        panels.append(panel(f"squares, {threads} thread{'s' * (threads != '1')}", curves, x_of, marks, limits_of(works, threads), 0.5, 4))
    return side_by_side(panels)


def in_order(works, title):
    """The ratios of many workloads from the smallest to the largest."""
    panels = []
    for threads in threads_of(works):
        curves = {}
        for kind, points in of_threads(works, threads).items():
            points = sorted(points, key=lambda point: point[1])
            curves[kind] = [(i, value, said) for i, (_, value, said) in enumerate(points)]
        x_of = lambda i: i / max(1, len(works) - 1)  # noqa: E731
        panels.append(panel(f"{title}, {threads} thread{'s' * (threads != '1')}, in order", curves, x_of,
                            [(0, "worst"), (len(works) - 1, "best")], limits_of(works, threads), 1 / 16, 16))
    return side_by_side(panels)


def drawn(name, works):
    if name != "gemm":
        return bars(works)
    of_group = lambda group: [work for work in works if work["group"] == group and work["ratios"].get(OURS)]  # noqa: E731
    square, random = of_group("square"), of_group("random")
    others = [work for work in works if work["group"] not in ("square", "random")]
    return (squares(square) if square else "") + bars(others) + (in_order(random, f"{len(random)} random shapes") if random else "")
