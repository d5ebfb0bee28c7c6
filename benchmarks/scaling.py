#!/usr/bin/env python3
"""docs/scaling.svg and the tables of docs/scaling.md: the predicted time of a step of data-parallel training on up to
1,024 GPUs, by a model of latency, bandwidth and overlap. Latency and bandwidth of the host are fitted to
results/all-reduce-*.json. The numbers for GPUs are not measured here; they come from data sheets or are assumed, as GPU
and WORKLOADS state.

usage: scaling.py            prints the tables
       scaling.py --write    writes docs/scaling.svg, and the tables of docs/scaling.md
       scaling.py --check    tests the model, and that page and picture are up to date
"""

import argparse
import dataclasses
import json
import math
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
DOCS = HERE.parent / "docs"
MIB = 1 << 20
COUNTS = [2 ** power for power in range(11)]


@dataclasses.dataclass(frozen=True)
class Link:
    """The time of a message: latency + bytes / bandwidth."""
    latency: float    # seconds
    bandwidth: float  # bytes per second, in each direction

    def seconds(self, data):
        return self.latency + data / self.bandwidth


@dataclasses.dataclass(frozen=True)
class Cluster:
    """Machines of some GPUs each: links within a machine, and between machines for each GPU."""
    inside: Link
    between: Link
    of_machine: int


@dataclasses.dataclass(frozen=True)
class Workload:
    """A training step of one rank: seconds of the forward and backward pass, and bytes of gradients."""
    name: str
    forward: float
    backward: float
    gradient_bytes: float

    @property
    def compute(self):
        return self.forward + self.backward


# NVIDIA H100 SXM5 and ConnectX-7, from their data sheets: NVLink 900 GB/s in both directions together, 400 Gb/s of the
# network for each GPU, 989 TFLOP/s of dense bfloat16. Assumed: 80 % of the bandwidth, and the latencies.
PEAK, REACHED = 989e12, 0.8
GPU = Cluster(inside=Link(3e-6, REACHED * 450e9), between=Link(8e-6, REACHED * 50e9), of_machine=8)


def workload(name, forward_flop, share_of_peak, gradient_bytes):
    """A backward pass computes twice as much as the forward pass."""
    forward = forward_flop / (share_of_peak * PEAK)
    return Workload(name, forward, 2 * forward, gradient_bytes)


# Operations of the forward pass, and the assumed share of the peak. Gradients of 2 bytes.
WORKLOADS = [
    workload("transformer, 1.3 G parameters, 16,384 tokens", 2 * 1.3e9 * 16384, 0.4, 2 * 1.3e9),
    workload("ResNet-50, 256 images", 8.2e9 * 256, 0.15, 2 * 25.6e6),
    workload("perceptron 784-1024-1024-10, 1,024 images", 2 * 1.86e6 * 1024, 0.15, 2 * 1.86e6),
]


def in_rank_order(data, ranks, cluster):
    """Seconds of an all_reduce between processes with Sums::in_rank_order: each rank receives its part from all ranks
    and sums it, then sends the sum to all. Each phase is ranks - 1 messages of data / ranks, sequential on the slower
    link."""
    if ranks < 2:
        return 0.0
    inside = min(ranks, cluster.of_machine) - 1
    outside = ranks - 1 - inside
    part = data / ranks
    once = max(inside * cluster.inside.seconds(part), outside * cluster.between.seconds(part))
    return 2 * once


def by_machine(data, ranks, cluster):
    """Seconds of an all_reduce with Sums::fastest on several machines, Algorithm::by_machine: each rank of a machine sums
    its part, ranks with the same part exchange halves and then results between machines, and each rank sends its part to
    its machine. On one machine, the same as in_rank_order."""
    if ranks < 2:
        return 0.0
    inside, machines = min(ranks, cluster.of_machine), math.ceil(ranks / cluster.of_machine)
    part = data / inside
    steps, share = math.ceil(math.log2(machines)), (machines - 1) / machines
    within = (inside - 1) * cluster.inside.seconds(part)
    return 2 * (within + steps * cluster.between.latency + share * part / cluster.between.bandwidth)


def buckets_of(data, first=MIB, others=25 * MIB):
    """Bytes of the buckets, in the order in which they are ready."""
    buckets = [min(first, data)]
    rest = data - buckets[0]
    while rest > 0:
        buckets.append(min(others, rest))
        rest -= buckets[-1]
    return buckets


def step(work, ranks, cluster, overlap=True, reduce=by_machine):
    """Seconds of a step. Gradients become ready at an even pace in the backward pass; a bucket is reduced as soon as it
    is ready and the previous one is reduced."""
    done, given = work.forward, 0
    for bucket in buckets_of(work.gradient_bytes):
        given += bucket
        ready = work.forward + work.backward * min(given / work.gradient_bytes, 1)
        start = max(done, ready) if overlap else max(done, work.compute)
        done = start + reduce(bucket, ranks, cluster)
    return max(work.compute, done)


def efficiency(work, ranks, cluster, **how):
    """Parallel efficiency: images per second of `ranks` ranks over `ranks` times one rank's."""
    return work.compute / step(work, ranks, cluster, **how)


def fit(points):
    """Latency and bandwidth of a link from (bytes of a rank, seconds) of all_reduce between two ranks, by least squares
    of relative errors. Each of the two messages of two_shot has half of the bytes: seconds = 2 latency + bytes /
    bandwidth."""
    rows = [(2 / seconds, data / seconds) for data, seconds in points]
    aa, ab, bb = (sum(f(*row) for row in rows) for f in (lambda a, b: a * a, lambda a, b: a * b, lambda a, b: b * b))
    a1, b1 = sum(a for a, _ in rows), sum(b for _, b in rows)
    det = aa * bb - ab * ab
    latency, inverse = (bb * a1 - ab * b1) / det, (aa * b1 - ab * a1) / det
    return Link(max(latency, 0.0), 1 / inverse)


def measured(name, way):
    """(bytes, seconds at the 10th percentile) of one way in results/NAME.json."""
    rows = json.loads((HERE / "results" / name).read_text())["rows"]
    return [(row["bytes"], row["p10"]) for row in rows if row["way"] == way and row["ranks"] == 2]


def medians(name, way):
    """{bytes: seconds} of one way between two ranks in results/NAME.json."""
    rows = json.loads((HERE / "results" / name).read_text())["rows"]
    return {row["bytes"]: row["seconds"] for row in rows if row["way"] == way and row["ranks"] == 2}


def bytes_text(count):
    return f"{count // MIB} MiB" if count >= MIB else f"{count // 1024} KiB"


def host_links():
    return {"threads": fit(measured("all-reduce-mpi.json", "locus, threads")),
            "MPI": fit(measured("all-reduce-mpi.json", "locus, MPI"))}


def tables():
    lines = ["| `all_reduce` of two ranks | Locus, processes | `MPI_Allreduce` | faster by | Locus, threads | faster by |",
             "|---|---|---|---|---|---|"]
    ways = [medians("all-reduce-mpi.json", way) for way in ("locus, MPI", "MPI_Allreduce", "locus, threads")]
    for size in ways[0]:
        locus, peer, threads = (1e6 * way[size] for way in ways)
        lines.append(f"| {bytes_text(size)} | {locus:,.1f} µs | {peer:,.1f} µs | {peer / locus:.2f} | {threads:,.1f} µs | "
                     f"{peer / threads:.2f} |")
    lines += ["", "| between two ranks of the host | latency | bandwidth |", "|---|---|---|"]
    lines += [f"| {way} | {1e6 * link.latency:.1f} µs | {link.bandwidth / 1e9:.2f} GB/s |" for way, link in host_links().items()]
    counts = [8, 64, 256, 1024]
    lines += ["", "| training over 2 ranks of the host | one rank | overlap | no overlap | overlap faster by |", "|---|---|---|---|---|"]
    for way, name in (("threads", "ddp-threads.json"), ("MPI", "ddp-mpi.json")):
        one, on, off = json.loads((HERE / "results" / name).read_text())["rows"]
        cells = " | ".join(f"{row['images_per_second']:,.0f} images/s" for row in (one, on, off))
        lines.append(f"| {way} | {cells} | {off['seconds'] / on['seconds']:.2f} |")
    lines += ["", "| share of linear scaling, predicted | " + " | ".join(f"{n:,} GPUs" for n in counts) + " |",
              "|---|" + "---|" * len(counts)]
    for work in WORKLOADS:
        for what, how in (("", {}), (", without overlap", {"overlap": False}), (", sums in rank order", {"reduce": in_rank_order})):
            cells = " | ".join(f"{efficiency(work, n, GPU, **how):.2f}" for n in counts)
            lines.append(f"| {work.name}{what} | {cells} |")
    return "\n".join(lines) + "\n"


def with_tables(page):
    """The page with the current tables between two comments."""
    begin, end = "<!-- made by benchmarks/scaling.py -->\n", "<!-- end -->"
    before, rest = page.split(begin)
    return f"{before}{begin}\n{tables()}\n{end}{rest.split(end)[1]}"


LEFT, TOP, WIDTH, HEIGHT = 60, 20, 560, 300
COLORS = ["#0f766e", "#b45309", "#6d28d9"]
STYLE = ("text{font:13px sans-serif;fill:#475569}path{fill:none;stroke-width:2}.axis{stroke:#94a3b8;stroke-width:1}"
         ".off{stroke-dasharray:5 4}.other{stroke-dasharray:1 4;stroke-linecap:round}")


def at(ranks, share):
    return round(LEFT + math.log2(ranks) / 10 * WIDTH, 1), round(TOP + (1 - share) * HEIGHT, 1)


def picture():
    body = ""
    for tenths in range(0, 11, 2):
        x, y = at(1, tenths / 10)
        body += f'<path class="axis" d="M{x} {y}h{WIDTH}"/><text x="{x - 8}" y="{y + 4}" text-anchor="end">{tenths / 10:g}</text>'
    for ranks in COUNTS:
        x, y = at(ranks, 0)
        body += f'<text x="{x}" y="{y + 18}" text-anchor="middle">{ranks}</text>'
    for color, work in zip(COLORS, WORKLOADS):
        for kind, how in (("on", {}), ("off", {"overlap": False}), ("other", {"reduce": in_rank_order})):
            points = " ".join(f"{x},{y}" for x, y in (at(n, efficiency(work, n, GPU, **how)) for n in COUNTS))
            body += f'<path class="{kind}" stroke="{color}" d="M{points}"/>'
    y = TOP + HEIGHT + 42
    for color, work in zip(COLORS, WORKLOADS):
        body += f'<path stroke="{color}" d="M{LEFT} {y - 4}h28"/><text x="{LEFT + 36}" y="{y}">{work.name}</text>'
        y += 20
    for x, kind, text in ((LEFT, "on", "overlap"), (LEFT + 130, "off", "no overlap"), (LEFT + 280, "other", "sums in rank order")):
        body += f'<path class="{kind}" stroke="#475569" d="M{x} {y - 4}h28"/><text x="{x + 36}" y="{y}">{text}</text>'
    width, height = LEFT + WIDTH + 30, y + 14
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
            f'aria-label="Predicted share of linear scaling over GPUs"><style>{STYLE}</style>{body}</svg>\n')


def problems():
    """Problems of the model, the page and the picture."""
    flat = Cluster(Link(1e-6, 1e9), Link(1e-6, 1e9), of_machine=4)
    small, large = Workload("small", 1e-3, 2e-3, 3e5), Workload("large", 1e-3, 2e-3, 3e9)
    link = fit([(data, 2 * 5e-6 + data / 2e9) for data in (1e3, 1e5, 1e7)])
    claims = {
        "a fit finds latency and bandwidth": math.isclose(link.latency, 5e-6) and math.isclose(link.bandwidth, 2e9),
        "one rank reduces nothing": by_machine(1e6, 1, flat) == in_rank_order(1e6, 1, flat) == 0 and efficiency(large, 1, flat) == 1,
        "two ranks send half of the bytes twice": math.isclose(in_rank_order(1e6, 2, flat), 2 * (1e-6 + 5e5 / 1e9)),
        "on one machine, sums by machine are those in rank order": all(
            math.isclose(by_machine(1e6, n, flat), in_rank_order(1e6, n, flat)) for n in (1, 2, 3, 4)),
        "on several, they send as many bytes from a rank, and fewer messages": math.isclose(
            by_machine(1e9, 16, flat), 2 * (3 * (1e-6 + 0.25) + 2e-6 + 0.75 * 0.25)),
        "many ranks send all bytes twice": math.isclose(in_rank_order(1e9, 4, flat), 2 * 0.75 + 6e-6),
        "buckets have all bytes": buckets_of(60 * MIB) == [MIB, 25 * MIB, 25 * MIB, 9 * MIB] and buckets_of(5) == [5],
        "small gradients are hidden": efficiency(small, 2, flat) > 0.9 > efficiency(large, 2, flat),
        "overlap never costs": all(step(w, n, GPU) <= step(w, n, GPU, overlap=False) * (1 + 1e-9) for w in WORKLOADS for n in COUNTS),
        "more ranks are never more efficient": all(
            efficiency(w, n, GPU) >= efficiency(w, 2 * n, GPU) - 1e-12 for w in WORKLOADS for n in COUNTS),
        "without overlap, a step is computing and all sums": math.isclose(
            step(large, 4, flat, overlap=False), large.compute + sum(in_rank_order(b, 4, flat) for b in buckets_of(3e9))),
        "docs/scaling.svg is what --write makes": (DOCS / "scaling.svg").read_text() == picture(),
        "docs/scaling.md has the tables that --write makes": with_tables((DOCS / "scaling.md").read_text()) == (DOCS / "scaling.md").read_text(),
    }
    return claims


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if arguments.write:
        (DOCS / "scaling.svg").write_text(picture())
        page = (DOCS / "scaling.md").read_text()
        (DOCS / "scaling.md").write_text(with_tables(page))
    elif arguments.check:
        claims = problems()
        for claim, holds in claims.items():
            if not holds:
                print(f"FAILED {claim}")
        failed = sum(not holds for holds in claims.values())
        print(f"{len(claims) - failed} passed, {failed} failed, 0 skipped")
        return 1 if failed else 0
    else:
        print(tables(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
