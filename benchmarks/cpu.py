#!/usr/bin/env python3
"""Locus on the host in turns with OpenBLAS, Eigen, xtensor, libtorch and memcpy.

usage: cpu.py [gemm|elementwise|rows|reduce|training]... [--data FOLDER] [--torch-python PYTHON] [--only PATTERN]

Without a part: all parts; training needs --data, a folder with MNIST's IDX files. Each library is a separate program
(cpu_PART.cpp, peers/), compiled here. A turn measures every workload once; its time is the fastest sample of some
milliseconds. Threads sleep soon after their turn. The result is the median over the turns; a ratio is the median of the
turns' ratios. Operands are random, new in each run of this script, and the same in all programs; results are compared
with float64 before a time counts.

Peers that are not installed are left out, and named. The newest PyTorch: pip install torch, and --torch-python with the
Python that has it. Results go to results/PROCESSOR/cpu-PART.json, unless --only selects workloads; report.py makes a
page of them. Close other programs first; otherwise use --processor-time.
"""

import argparse
import json
import os
import pathlib
import random
import re
import statistics
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE / "support"), str(ROOT / "scripts" / "lib")]
import alternate  # noqa: E402
import cpu_dry_run  # noqa: E402
import cpu_programs  # noqa: E402
import cpu_training  # noqa: E402
import cpu_workloads  # noqa: E402
import this_processor  # noqa: E402
import whole_file  # noqa: E402
from cpu_programs import ANYWHERE, BY_FLOAT, OURS, say  # noqa: E402

PARTS = (*cpu_workloads.PARTS, "training")
LONG, AT_LEAST = 10.0, 3  # seconds of a workload's turns after which it gets only AT_LEAST turns


def rounded(seconds):
    return float(f"{seconds:.4g}")


class Player:
    """A program with a number of threads, and the times of its turns at a workload."""

    def __init__(self, command, program, threads, options):
        name, self.threads, self.only = program.name, threads, program.only
        clock = {"BENCHMARK_CLOCK": "processor"} if options.processor_time else {}
        self.server = alternate.Server([command], f"{name} with {threads} thread{'s' * (threads > 1)}", environment={
            **cpu_programs.settings(threads, options.seed), **clock, **dict(program.environment),
            "BENCHMARK_SAMPLE_SECONDS": str(options.sample_seconds)})
        self.name = name if name in (OURS, ANYWHERE, BY_FLOAT) else self.server.hello["library"]
        self.times, self.error, self.problem = [], 0.0, None

    def line_for(self, work):
        """The request for a workload; None if the program does not implement it. memcpy moves the workload's number of
        bytes."""
        if self.name == "memcpy":
            return f"copy {int(work.bytes / 8)}" if work.bytes else None
        return work.line if work.operation in self.server.hello["operations"] and self.only in work.operation else None

    def take_turn(self, work):
        line = self.line_for(work)
        if line is None or self.problem:
            return
        try:
            answer = self.server.ask(line, 120)
            self.problem = answer["problem"] or None
            self.error = answer["error"]
            if not self.problem:
                self.times.append(min(answer["seconds"]))
        except alternate.Ended as error:
            self.problem = str(error)

    def forget(self):
        self.times, self.error, self.problem = [], 0.0, None
        if self.server.process.poll() is None:
            self.server.ask("", 60)  # frees its memory


def ratio_of(ours, theirs):
    """Statistics of the turns' ratios: how many times faster `ours` is."""
    spread = alternate.spread([b / a for a, b in zip(ours.times, theirs.times)])
    return {key: rounded(spread[key]) for key in ("median", "p10", "p90")}


def best_of(players):
    return min(players, key=lambda player: statistics.median(player.times))


def ratios_of(own, players):
    """{peer: {threads: ratio}}: at the same number of threads, and each at its best number."""
    found = {}
    for name in sorted({player.name for player in players} - {own}):
        mine = [player for player in players if player.name == own]
        theirs = [player for player in players if player.name == name]
        found[name] = {str(a.threads): ratio_of(a, b) for a in mine for b in theirs if a.threads == b.threads}
        found[name]["best"] = ratio_of(best_of(mine), best_of(theirs))
    return found


def result_of(work, players):
    """The workload's entry in the report."""
    timed = [player for player in players if player.times and not player.problem]
    programs = {}
    for player in timed:
        spread = alternate.spread(player.times)
        programs.setdefault(player.name, {})[str(player.threads)] = {
            **{key: rounded(spread[key]) for key in ("median", "p10", "p90")}, "error": rounded(player.error)}
    ratios = {own: ratios_of(own, timed) for own in (OURS, ANYWHERE) if own in programs}
    problems = [f"{player.server.name}: {player.problem}" for player in players if player.problem]
    return {"name": work.line, "group": work.group, "what": work.what, "bytes": work.bytes, "flops": work.flops,
            "programs": programs, "ratios": ratios, "targets": cpu_workloads.judge(work, ratios), "problems": problems}


def start(programs, part, options):
    """A player for each program of the part and number of threads."""
    players = []
    for program in programs:
        path = options.programs / f"cpu_{part}" if program.name in (OURS, BY_FLOAT) and options.programs else \
            cpu_programs.compiled(program, options.build)
        for threads in options.threads if part in program.threaded else options.threads[:1]:
            try:
                if path:
                    players.append(Player(path, program, threads, options))
            except (alternate.Ended, OSError) as error:
                say(f"{program.name} is left out: {error}")
                break
    return players


def measure(part, programs, works, options):
    """The entries of all workloads."""
    players = start(programs, part, options)
    results = []
    try:
        for work in works:
            able, began = [player for player in players if player.line_for(work)], time.monotonic()
            for turn in range(options.turns):
                if turn >= AT_LEAST and time.monotonic() - began > LONG:
                    break
                for player in able if turn % 2 == 0 else reversed(able):
                    player.take_turn(work)
            results.append(result_of(work, able))
            say(line_of(results[-1]))
            for player in able:
                player.forget()
    finally:
        for player in players:
            player.server.stop()
    return results


def duration(seconds):
    for factor, unit in ((1e6, "us"), (1e3, "ms"), (1.0, "s")):
        if seconds * factor < 999.5 or unit == "s":
            return f"{seconds * factor:.4g} {unit}"


def line_of(result):
    """Our best time, and its ratio to each peer's best time."""
    mine = result["programs"].get(OURS)
    if not mine:
        return f"{result['name']:34} " + "; ".join(result["problems"])
    text = f"{result['name']:34} {duration(min(entry['median'] for entry in mine.values())):>9}"
    for peer, by_threads in result["ratios"][OURS].items():
        text += f"  {peer} " + " ".join(f"{threads}:{ratio['median']:.2f}" for threads, ratio in by_threads.items())
    missed = [target["target"] for target in result["targets"] if target["met"] is False]
    return text + ("  MISSED " + "; ".join(missed) if missed else "") + "".join(f"  ({p})" for p in result["problems"])


def print_verdicts(lines):
    for line in lines:
        state = "not measured" if line["median"] is None else "met" if not line["missed"] else f"MISSED {line['missed']}"
        text = f"{state:12}  {line['target']}: at {'most' if line['at_most'] else 'least'} {line['limit']:g}"
        if line["median"] is not None:
            text += f"; median {line['median']:.2f}, worst {line['worst']:.2f} ({line['worst_workload']})"
        print(text + (f"; {line['unmeasured']} not measured" if line["unmeasured"] and line["median"] is not None else ""))


def kept(work):
    """The entry without derived values: ratios of our other build, spreads of ratios, targets that were not measured
    and their values. The many random shapes keep only medians."""
    def entry(of):
        return {key: value for key, value in of.items() if work["group"] != "random" or key == "median"}
    return {**work,
            "programs": {name: {threads: entry(of) for threads, of in by.items()} for name, by in work["programs"].items()},
            "ratios": {OURS: {peer: {threads: {"median": of["median"]} for threads, of in by.items()}
                              for peer, by in work["ratios"].get(OURS, {}).items()}},
            "targets": [{key: value for key, value in target.items() if key != "value"}
                        for target in work["targets"] if target["met"] is not None]}


def write(path, report):
    """Writes one workload per line."""
    head = {key: value for key, value in report.items() if key != "workloads"}
    lines = ",\n".join(json.dumps(kept(work), separators=(",", ":")) for work in report["workloads"])
    text = json.dumps(head, indent=1)[:-2] + ',\n "workloads": [\n' + lines + "\n ]\n}\n"
    whole_file.write(path, text)
    say(f"wrote {path}")


def workloads_of(part, options):
    works = cpu_workloads.TINY[part] if options.dry_run else cpu_workloads.PARTS[part](options.seed)
    return [work for work in works if re.search(options.only, f"{work.group} {work.line}")]


def run_part(part, options, peers, missing):
    """Measures a part; writes and returns its report."""
    began = time.monotonic()
    head = {"benchmark": f"cpu {part}", "environment": {**cpu_programs.environment(), "flags": {
        **{name: " ".join(flags) for name, flags in cpu_programs.own_flags().items()}, "peers": " ".join(cpu_programs.peer_flags())}},
        "left_out": missing, "clock": "processor" if options.processor_time else "wall", "settings": cpu_programs.settings(" and ".join(map(str, options.threads)), options.seed)}
    own = cpu_programs.ours(part)[:1] if options.dry_run else cpu_programs.ours(part)
    programs = own + [peer for peer in peers if part in peer.parts]
    if part == "training":
        works = cpu_training.measure(programs, options)
    else:
        works = measure(part, programs, workloads_of(part, options), options)
    lines = cpu_workloads.verdicts([(work["name"], work["targets"]) for work in works])
    if not options.dry_run:
        print_verdicts(lines)
    report = {**head, "seconds": round(time.monotonic() - began), "verdicts": lines, "workloads": works}
    if options.out:
        write(options.out / f"cpu-{part}.json", report)
    return report


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS) + "; all by default")
    parser.add_argument("--data", type=pathlib.Path, metavar="FOLDER", help="with MNIST's IDX files, for training")
    parser.add_argument("--torch-python", default=os.environ.get("TORCH_PYTHON", "python3"), metavar="PYTHON",
                        help="whose torch is a peer (default: TORCH_PYTHON, or python3)")
    parser.add_argument("--turns", type=int, default=7, help="of each program at each workload (default 7)")
    parser.add_argument("--seed", type=int, default=None, help="of operands and of the random shapes (default: chosen anew)")
    parser.add_argument("--only", default="", metavar="PATTERN", help='workloads in whose group or name this is found, as "random" '
                        'or "softmax 64"; no results are kept without --out')
    parser.add_argument("--out", type=pathlib.Path, metavar="FOLDER", help="where results go (default: results/PROCESSOR, beside this script)")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "cpu", metavar="FOLDER",
                        help="where programs are compiled, anew if they changed (default build/cpu)")
    parser.add_argument("--programs", type=pathlib.Path, metavar="FOLDER", help="that has our programs, in place of compiling them")
    parser.add_argument("--processor-time", action="store_true", help="in place of that of the wall, and one thread: for a machine "
                        "that others use too; no results are kept without --out")
    parser.add_argument("--avx2", action="store_true", help="as on a processor that has AVX2 alone, all programs")
    parser.add_argument("--dry-run", action="store_true", help="tiny sizes beside memcpy alone: tries everything but the speed")
    options = parser.parse_args()
    options.parts = options.parts or [part for part in PARTS if part != "training" or not options.dry_run]
    for part in options.parts:
        if part not in PARTS:
            parser.error(f"'{part}' is no part; expected " + ", ".join(PARTS))
    if "training" in options.parts and not (options.data and any(options.data.glob("train-images-idx3-ubyte*"))):
        parser.error("training needs --data FOLDER with MNIST's files (train-images-idx3-ubyte, plain or .gz)")
    if options.turns < 1:
        parser.error(f"--turns is {options.turns}; expected 1 or more")
    if options.processor_time and "training" in options.parts:
        parser.error("--processor-time is for programs of one thread, and training is of several; name other parts")
    if options.avx2:
        this_processor.limit_to_avx2()
        options.build /= "avx2"
    if not options.out and not options.only and not options.processor_time:
        options.out = HERE / "results" / this_processor.kind()
    options.seed = random.randrange(1 << 20) if options.seed is None else options.seed
    options.threads = [1] if options.dry_run or options.processor_time or os.cpu_count() == 1 else [1, 2]
    options.sample_seconds = 0.0005 if options.dry_run else 0.003
    return options


def main():
    options = parse()
    options.build.mkdir(parents=True, exist_ok=True)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
    peers, missing = ([cpu_programs.memcpy()], []) if options.dry_run else cpu_programs.all_peers(options.torch_python)
    for line in missing:
        say(f"left out: {line}")
    reports = {part: run_part(part, options, peers, missing) for part in options.parts}
    if options.dry_run:
        sys.exit(cpu_dry_run.finish(reports, OURS))
    sys.exit(any(OURS not in work["programs"] for report in reports.values() for work in report["workloads"]))


if __name__ == "__main__":
    main()
