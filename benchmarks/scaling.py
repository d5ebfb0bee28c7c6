#!/usr/bin/env python3
"""docs/scaling.svg and the tables of docs/scaling.md: training on up to 16,384 GPUs, simulated. The programs record_steps
and record_messages record the code of the library: launches, collectives, waits, allocations and messages of a rank. The
modules of simulation/ run the recordings on every rank of the cluster below, whose numbers are from data sheets or
assumed, and on this host, where they are compared with results/scaling-host.json.

usage: scaling.py --programs FOLDER            prints the tables
       scaling.py --programs FOLDER --write    writes docs/scaling.svg, and the tables of docs/scaling.md
       scaling.py --programs FOLDER --check    tests that page and picture are up to date

FOLDER: build/release/benchmarks/simulation, with the two programs.
"""

import argparse
import dataclasses
import json
import math
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "simulation"), str(HERE.parent / "scripts" / "lib")]
import clusters  # noqa: E402
import failures  # noqa: E402
import fleets  # noqa: E402
import programs  # noqa: E402
import validation  # noqa: E402
import whole_file  # noqa: E402

DOCS = HERE.parent / "docs"
INCLUDE = HERE.parent / "include" / "locus"
MIB, GIB = 1 << 20, 1 << 30
COUNTS = [8, 64, 512, 4096, 16384]

# NVIDIA H200 SXM and ConnectX-7, from their data sheets: 989 TFLOP/s of dense bfloat16, 4.8 TB/s of memory, NVLink of
# 450 GB/s in each direction, 400 Gb/s of the network for each GPU, PCIe 5 of 64 GB/s. Measured on an H200
# (results/2026-11-26-nvidia-h200*.json): the shares that products of 4,096 with an activation and that rows reach, and the
# time of the host for a launch. Assumed: the shares of links, and all latencies.
GPU = clusters.Gpu(peak=989e12, share=0.7, memory=0.75 * 4.8e12, launch=2e-6, queue=4e-6)
CLUSTER = clusters.Cluster(
    inside=clusters.Link(3e-6, 0.8 * 450e9), network=clusters.Link(8e-6, 0.8 * 50e9), host=clusters.Link(1e-6, 5e9),
    pcie=clusters.Link(10e-6, 0.8 * 64e9))
# Meta, "The Llama 3 herd of models": 419 unexpected interruptions in 54 days on 16,384 GPUs. Assumed: 30 s for a
# checkpoint, 10 minutes for a restart.
RELIABILITY = failures.Reliability(between=16384 * 54 * 86400 / 419, save=30, restart=600)
WORKLOADS = {"gpt2": "GPT-2 of 1.3 G parameters, 8 x 2,048 tokens", "resnet50": "ResNet-50, 256 images",
             "perceptron": "perceptron 784-1024-1024-10, 1,024 images"}


def constant(path, name):
    """A number of a header, as `name = 2048` or `name = 64 << 20`."""
    found = re.search(rf"\b{name} = (\d+)(?: << (\d+))?;", (INCLUDE / path).read_text())
    if not found:
        raise SystemExit(f"scaling.py: {path} has no number {name}")
    return int(found[1]) << int(found[2] or 0)


def in_rank_order():
    return clusters.InRankOrder(
        CLUSTER, GPU, constant("cuda/nccl.hpp", "most_operations") // 2, constant("cuda/peers.hpp", "most_ranks"),
        constant("distributed/engine/device_engine.hpp", "piece_bytes"))


def ways(recorder):
    return [clusters.Nccl(CLUSTER, True), clusters.Nccl(CLUSTER), in_rank_order(), clusters.Processes(CLUSTER, recorder)]


def table(head, rows):
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head)] +
                     ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def of_counts(counts):
    return [f"{count:,} GPUs" for count in counts]


def workloads_table(recorder):
    rows = []
    for name, text in WORKLOADS.items():
        program = recorder.step(name)
        seconds = fleets.seconds_of_step(program, GPU, fleets.Alone(), 1)
        launches = sum(entry[0] == "launch" for entry in program.entries)
        rows.append([text, f"{program.parameters / 1e6:,.1f} M", f"{len(program.buckets)}",
                     f"{min(program.buckets) / MIB:.1f} to {max(program.buckets) / MIB:.1f} MiB", f"{launches:,}",
                     f"{1e3 * seconds:.2f} ms", f"{program.flops / seconds / GPU.peak:.0%}"])
    return table(["workload", "parameters", "buckets", "size of a bucket", "launches", "step of one GPU", "of the peak"], rows)


def predictions_table(recorder):
    rows = []
    for name, text in WORKLOADS.items():
        for way in ways(recorder):
            shares = [fleets.efficiency(recorder.step(name), GPU, way, count) for count in COUNTS]
            rows.append([f"{text}; {way.name}"] + [f"{share:.2f}" for share in shares])
        waits = recorder.step(name, overlap=False)
        shares = [fleets.efficiency(waits, GPU, clusters.Nccl(CLUSTER), count) for count in COUNTS]
        rows.append([f"{text}; NCCL, rings and trees, without overlap"] + [f"{share:.2f}" for share in shares])
    return table(["share of linear scaling", *of_counts(COUNTS)], rows)


def calls_table(recorder):
    rows = []
    for size in (1 << 10, MIB, 32 * MIB):
        for way in ways(recorder):
            times = [1e6 * way.seconds("all_reduce", size, count) for count in COUNTS]
            rows.append([f"{validation.size_text(size)}; {way.name}"] + [f"{seconds:,.0f} µs" for seconds in times])
    return table(["`all_reduce`", *of_counts(COUNTS)], rows)


def sharded(recorder, ranks, ranks_of_copy=0):
    return recorder.step("gpt2", sharded=True, ranks=ranks, ranks_of_copy=ranks_of_copy if ranks_of_copy < ranks else 0)


def sharded_table(recorder):
    rows = []
    for way in ways(recorder)[:2]:
        for text, of_copy in (("over all ranks", 0), ("over the 8 of a machine, `.ranks_of_copy = 8`", 8), ("over 64, `.ranks_of_copy = 64`", 64)):
            one = fleets.seconds_of_step(recorder.step("gpt2"), GPU, fleets.Alone(), 1)
            shares = [one / fleets.seconds_of_step(sharded(recorder, count, of_copy), GPU, way, count) for count in COUNTS]
            rows.append([f"{text}; {way.name}"] + [f"{share:.2f}" for share in shares])
    return table(["GPT-2, sharded", *of_counts(COUNTS)], rows)


def networks_table(recorder):
    rows = []
    one = fleets.seconds_of_step(recorder.step("gpt2"), GPU, fleets.Alone(), 1)
    for cards, oversubscription in ((8, 1), (4, 1), (1, 1), (8, 4), (8, 16)):
        way = clusters.Nccl(dataclasses.replace(CLUSTER, cards=cards, oversubscription=float(oversubscription)))
        shares = [one / fleets.seconds_of_step(program, GPU, way, 512)
                  for program in (recorder.step("gpt2"), recorder.step("gpt2", overlap=False), sharded(recorder, 512, 64), sharded(recorder, 512, 8))]
        rows.append([f"{cards}", f"{oversubscription}"] + [f"{share:.2f}" for share in shares])
    return table(["cards of a machine", "oversubscription", "whole", "whole, without overlap", "sharded over 64", "sharded over 8"], rows)


def memory_table(recorder):
    cases = [(text, recorder.step(name)) for name, text in WORKLOADS.items()]
    cases += [(f"GPT-2, sharded over {count:,} ranks", sharded(recorder, count)) for count in (8, 64, 16384)]
    rows = [[text] + [f"{size / GIB:.2f} GiB" for size in
                      (program.parameter_bytes, program.kept_bytes, program.peak_bytes - program.kept_bytes, program.peak_bytes)]
            for text, program in cases]
    return table(["workload", "all parameters", "kept between steps", "more within a step", "largest"], rows)


def stragglers_table(recorder):
    rows = []
    program, way = recorder.step("gpt2"), clusters.Nccl(CLUSTER)
    one = fleets.seconds_of_step(program, GPU, fleets.Alone(), 1)
    for steady, passing in ((0.0, 0.01), (0.01, 0.0), (0.01, 0.01), (0.03, 0.01)):
        drawn = fleets.Stragglers(steady, passing)
        shares = [one / fleets.seconds_of_step(program, GPU, way, count, drawn, steps=1) for count in (8, 512, 16384)]
        rows.append([f"{steady:.0%}", f"{passing:.0%}"] + [f"{share:.2f}" for share in shares])
    return table(["deviation between GPUs", "from step to step", *of_counts((8, 512, 16384))], rows)


def limits_table(recorder):
    """Costs that grow with the number of ranks, each by the code that causes it."""
    processes = clusters.Processes(CLUSTER, recorder)
    part = constant("distributed/message/message_engine.hpp", "part_bytes")
    operations = constant("cuda/nccl.hpp", "most_operations")
    rows = []
    for count in COUNTS:
        meeting = processes.of_messages(recorder.messages("barrier", 0, count, CLUSTER.of_machine), count)
        gathered = processes.of_messages(recorder.messages("all_gather", 512, count, CLUSTER.of_machine), count)
        rows.append([f"{count:,}", f"{count - 1:,}", f"{1e3 * meeting:.2f} ms", f"{1e3 * gathered:.2f} ms",
                     f"{math.ceil((count - 1) / (operations // 2))}",
                     "1" if count <= constant("cuda/peers.hpp", "most_ranks") else f"{count - 1:,}",
                     f"{1e3 * in_rank_order().seconds('all_reduce', 32 * MIB, count):,.1f} ms", f"{2 * count * part / GIB:,.2f} GiB"])
    return table(["ranks", "descriptors of a rank, TCP", "`barrier` by TCP, half of `split`", "comparing models in `distributed`, by TCP",
                  "groups of NCCL, in rank order", "launches of a sum, in rank order", "32 MiB in rank order, NCCL",
                  "temporary memory in rank order, processes"], rows)


def interval_text(seconds):
    return f"{seconds / 60:,.0f} min"


def failures_table():
    rows = []
    for count in (64, 512, 4096, 16384):
        best, share = failures.best_interval(RELIABILITY, count)
        young, daly = failures.young(RELIABILITY, count), failures.daly(RELIABILITY, count)
        hourly = failures.useful_share(RELIABILITY, count, 3600)
        rows.append([f"{count:,}", f"{RELIABILITY.of_job(count) / 3600:,.1f} h", interval_text(best), f"{share:.3f}",
                     f"{interval_text(young)}; {failures.useful_share(RELIABILITY, count, young):.3f}",
                     f"{interval_text(daly)}; {failures.useful_share(RELIABILITY, count, daly):.3f}", f"{hourly:.3f}"])
    return table(["GPUs", "between failures", "best interval, simulated", "useful share", "Young's interval; share",
                  "Daly's interval; share", "share, a checkpoint an hour"], rows)


def host_results():
    return json.loads((HERE / "results" / "scaling-host.json").read_text())["cases"]


def validation_table(recorder):
    by_name = {}
    for case in validation.compared(host_results(), recorder):
        cell = "disturbed"
        if case.simulated:
            cell = f"{1e3 * case.measured:.2f} {1e3 * case.simulated:.2f} {case.error:+.0%}" + ("" if abs(case.error) <= 0.15 else " *")
        by_name.setdefault((case.what, case.way), {})[case.ranks] = cell
    rows = [[f"{what}; {way}"] + [cells.get(ranks, "") for ranks in (2, 4, 8)] for (what, way), cells in by_name.items()]
    return table(["measured ms, simulated ms, difference", "2 ranks", "4 ranks", "8 ranks"], rows)


def summary_table(recorder):
    """How many cases are within 15 %."""
    rows, cases = [], list(validation.compared(host_results(), recorder))
    for way in ("threads", "processes"):
        for ranks in (2, 4, 8):
            of_row = [case for case in cases if (case.way, case.ranks) == (way, ranks)]
            errors = sorted(abs(case.error) for case in of_row if case.simulated)
            found = [f"{sum(error <= 0.15 for error in errors)} of {len(errors)}", f"{errors[len(errors) // 2]:.0%}",
                     f"{errors[-1]:.0%}"] if errors else ["", "", ""]
            if of_row:
                rows.append([way, f"{ranks}", *found, f"{len(of_row) - len(errors)}"])
    return table(["ranks as", "ranks", "within 15 %", "median difference", "largest", "disturbed, so not compared"], rows)


TABLES = {
    "workloads": workloads_table, "predictions": predictions_table, "calls": calls_table, "sharded": sharded_table, "networks": networks_table, "memory": memory_table,
    "stragglers": stragglers_table, "limits": limits_table, "failures": lambda _: failures_table(),
    "summary": summary_table, "validation": validation_table,
}


def with_tables(page, recorder):
    """The page with the current tables, each between <!-- table NAME --> and <!-- end -->."""
    def made(found):
        return f"{found[1]}\n\n{TABLES[found[2]](recorder)}\n<!-- end -->"
    return re.sub(r"(<!-- table (\w+) -->).*?<!-- end -->", made, page, flags=re.DOTALL)


LEFT, TOP, WIDTH, HEIGHT, DOUBLINGS = 60, 20, 560, 300, 14
COLORS = {"gpt2": "#0f766e", "resnet50": "#b45309", "perceptron": "#6d28d9"}
STYLE = ("text{font:13px sans-serif;fill:#475569}path{fill:none;stroke-width:2}.axis{stroke:#94a3b8;stroke-width:1}"
         ".way1{stroke-dasharray:7 3}.way2{stroke-dasharray:2 4;stroke-linecap:round}")


def at(ranks, share):
    return round(LEFT + math.log2(ranks) / DOUBLINGS * WIDTH), round(TOP + (1 - share) * HEIGHT)


def picture(recorder):
    body = ""
    for tenths in range(0, 11, 2):
        x, y = at(1, tenths / 10)
        body += f'<path class="axis" d="M{x} {y}h{WIDTH}"/><text x="{x - 8}" y="{y + 4}" text-anchor="end">{tenths / 10:g}</text>'
    for power in range(0, DOUBLINGS + 1, 2):
        x, y = at(2 ** power, 0)
        body += f'<text x="{x}" y="{y + 18}" text-anchor="middle">{2 ** power:,}</text>'
    drawn = ways(recorder)[:3]
    for name, color in COLORS.items():
        for number, way in enumerate(drawn):
            shares = [(2 ** power, fleets.efficiency(recorder.step(name), GPU, way, 2 ** power)) for power in range(DOUBLINGS + 1)]
            points = " ".join(f"{x},{y}" for x, y in (at(*point) for point in shares))
            body += f'<path class="way{number}" stroke="{color}" d="M{points}"/>'
    y = TOP + HEIGHT + 42
    for name, color in COLORS.items():
        body += f'<path stroke="{color}" d="M{LEFT} {y - 4}h28"/><text x="{LEFT + 36}" y="{y}">{WORKLOADS[name]}</text>'
        y += 20
    for number, way in enumerate(drawn):
        body += f'<path class="way{number}" stroke="#475569" d="M{LEFT} {y - 4}h28"/><text x="{LEFT + 36}" y="{y}">{way.name}</text>'
        y += 20
    width, height = LEFT + WIDTH + 40, y
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
            f'aria-label="Simulated share of linear scaling over GPUs"><style>{STYLE}</style>{body}</svg>\n')


def check(recorder):
    page = (DOCS / "scaling.md").read_text()
    claims = {
        "docs/scaling.svg is the one that --write makes": (DOCS / "scaling.svg").read_text() == picture(recorder),
        "docs/scaling.md has each table once": sorted(re.findall(r"<!-- table (\w+) -->", page)) == sorted(TABLES),
        "docs/scaling.md has the tables that --write makes": with_tables(page, recorder) == page,
    }
    for claim, holds in claims.items():
        if not holds:
            print(f"FAILED {claim}")
    failed = sum(not holds for holds in claims.values())
    print(f"{len(claims) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", required=True, type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    recorder = programs.Recorder(arguments.programs)
    if arguments.check:
        return check(recorder)
    if arguments.write:
        page = DOCS / "scaling.md"
        whole_file.write(page, with_tables(page.read_text(), recorder))
        whole_file.write(DOCS / "scaling.svg", picture(recorder))
    else:
        print("\n".join(make(recorder) for make in TABLES.values()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
