"""The performance targets of benchmarks/verbs, and tables of how they are met."""

import dataclasses
import typing

OURS = "locus"
EAGER, COMPILE, GRAPH = "PyTorch eager", "PyTorch compile", "PyTorch CUDA graph"
BOTH = "PyTorch compile, CUDA graph"
FUSED_ADAM = "PyTorch fused"
CHANNELS_LAST = "PyTorch channels-last"
UNFUSED, CAPTURED, COPY = "locus unfused", "locus captured", "copy"

# Variants of a workload that exist only on a GPU, by group, and so are left out by a dry run.
ONLY_ON_GPU = {
    "gemm": ["cuBLASLt"],
    "linear": [COMPILE],
    "expression": [COMPILE],
    "rows": [COMPILE],
    "reduce": ["CUB"],
    "step": [CAPTURED, GRAPH, COMPILE, BOTH],
    "network": [CAPTURED, "locus channels-last captured", GRAPH, COMPILE],
    "conv": ["locus windows", "locus channels-last", "locus nondeterministic"],
}
ONLY_ON_GPU_GROUPS = ("transfer",)


@dataclasses.dataclass(frozen=True)
class Target:
    """Applies to every workload of a group for which `when` holds: our time must be at least `limit` times faster than
    the fastest of `against`; without `against`, at most `limit` seconds. `ours`: one of our variants, or None for the
    fastest."""
    group: str
    text: str
    limit: typing.Union[float, typing.Callable]
    against: tuple = ()
    when: typing.Callable = lambda work: True
    measure: str = "gpu"
    ours: typing.Optional[tuple] = (OURS,)

    def limit_for(self, work):
        return self.limit(work) if callable(self.limit) else self.limit


def smallest(work):
    return min(work["sizes"])


def byte_ratio(work):
    """Bytes moved by the operations of an expression one by one, divided by the bytes moved by one fused launch."""
    operands = (3, 3, 3, 2, 2, 3, 3, 2)  # of each operation, including its result
    return sum(operands[:work["sizes"][0]]) / 3


TARGETS = (
    Target("gemm", "large product, at least 0.99 x tuned cuBLASLt", 0.99, ("cuBLASLt",), lambda w: smallest(w) >= 2048),
    Target("linear", "linear + bias + activation, at least 1.10 x PyTorch eager", 1.10, (EAGER,)),
    Target("linear", "fused, never below 0.98 x our own unfused", 0.98, (UNFUSED,)),
    Target("small", "host time of a small product, at most 3 us", 3e-6, (), lambda w: w["operation"] == "product", "host"),
    Target("expression", "expression of 64 MiB and more, at least 0.97 x copy", 0.97, (COPY,),
           lambda w: w["sizes"][1] >= 1 << 24),
    Target("expression", "against PyTorch eager, the ratio of bytes", byte_ratio, (EAGER,), lambda w: w["sizes"][1] >= 1 << 24),
    Target("rows", "rows of 1k to 256k columns, at least 0.95 x copy", 0.95, (COPY,), lambda w: w["sizes"][1] >= 1024),
    Target("rows", "rows of 64k columns and more, at least 1.4 x torch.compile", 1.4, (COMPILE,),
           lambda w: w["sizes"][1] >= 1 << 16),
    Target("reduce", "full reduction, at least 1.0 x CUB", 1.0, ("CUB",), lambda w: w["operation"] == "sum of all"),
    Target("reduce", "axis reduction, at least 0.9 x copy bandwidth", 0.9, (COPY,), lambda w: w["operation"] != "sum of all"),
    Target("optimizer", "Adam, at least 0.93 x copy", 0.93, (COPY,)),
    Target("optimizer", "Adam, at least 1.05 x PyTorch fused", 1.05, (FUSED_ADAM,)),
    Target("step", "step of the perceptron, at least 10 x PyTorch eager", 10.0, (EAGER,), measure="wall", ours=None),
    Target("step", "step of the perceptron, at least 1.5 x the best of compile, graphs and fused Adam", 1.5,
           (GRAPH, COMPILE, BOTH), measure="wall", ours=None),
    Target("step", "step of the perceptron, at most 20 us", 20e-6, (), measure="wall", ours=None),
    Target("attention", "attention, at least 0.9 x PyTorch's", 0.9, (EAGER,)),
    Target("batch_norm", "batch norm, at least 1.0 x PyTorch's faster layout", 1.0, (EAGER, CHANNELS_LAST), ours=None),
    Target("embedding", "lookups and their gradient, at least 1.0 x PyTorch eager", 1.0, (EAGER,)),
    Target("transpose", "transposes, at least 0.9 x copy", 0.9, (COPY,)),
    Target("network", "block of GPT-2 and step of ResNet-18, at least 1.0 x PyTorch's best", 1.0, (EAGER, GRAPH, COMPILE),
           measure="wall", ours=None),
    Target("conv", "convolution, at least 0.95 x PyTorch's faster layout", 0.95, (EAGER, CHANNELS_LAST), ours=None),
)


def seconds(work, name, measure="gpu"):
    """Median of a variant by this measure, or by wall time if the device has no other; None if not measured."""
    variant = work["variants"].get(name, {})
    found = variant.get(measure) or (variant.get("wall") if measure == "gpu" else None)
    return found["median"] if found else None


def fastest(work, names, measure):
    """(seconds, name) of the fastest of these variants; None if none was measured."""
    return min(((time, name) for name in names if (time := seconds(work, name, measure))), default=None)


def speed_up(work, ours, measure, against):
    """Time of the fastest of `against` divided by our fastest time; against copy, a ratio of bytes per second."""
    mine, theirs = fastest(work, ours, measure), fastest(work, against, measure)
    if not mine or not theirs:
        return None
    bytes_of = lambda name: work["variants"][name].get("bytes") or work["bytes"]  # noqa: E731
    share = bytes_of(mine[1]) / bytes_of(theirs[1]) if theirs[1] == COPY else 1.0
    return share * theirs[0] / mine[0]


def ours_of(work):
    return [name for name in work["variants"] if name.startswith(OURS)]


def judge(work, targets=TARGETS):
    """One entry for each target of the workload; met is None if a time is missing."""
    found = []
    for target in targets:
        if target.group != work["group"] or not target.when(work):
            continue
        limit = target.limit_for(work)
        ours = target.ours or ours_of(work)
        if target.against:
            value = speed_up(work, ours, target.measure, target.against)
            met = None if value is None else value >= limit
        else:
            mine = fastest(work, ours, target.measure)
            value = mine[0] if mine else None
            met = None if value is None else value <= limit
        found.append({"target": target.text, "limit": limit, "value": value, "met": met})
    return found


def best_peer(work):
    """(seconds, name) of the fastest variant that is not ours."""
    others = [name for name in work["variants"] if name not in (*ours_of(work), COPY, "product alone")]
    return fastest(work, others, "gpu")


def ratio(value):
    return f"{value:.2f} x" if value is not None else "-"


def duration(value):
    for factor, unit in ((1e6, "us"), (1e3, "ms"), (1.0, "s")):
        if value * factor < 1000 or unit == "s":
            return f"{value * factor:.4g} {unit}"


def table(report):
    """A row for each workload: our time on the device and on the host, our share of the copy's rate, the fastest peer,
    and the targets."""
    width = max([len(work["name"]) for work in report["workloads"]] + [8])
    lines = [f"{'workload':{width}}  {'ours':>10}  {'p10':>10}  {'p90':>10}  {'host':>10}  {'of copy':>8}  {'others/ours':>11}  best of the others; targets"]
    for work in report["workloads"]:
        mine = fastest(work, ours_of(work), "gpu")
        if not mine:
            problems = work["problems"] + [v["problem"] for v in work["variants"].values() if v["problem"]]
            lines.append(f"{work['name']:{width}}  {'; '.join(problems) or 'not measured'}")
            continue
        variant = work["variants"][mine[1]]
        spread = variant.get("gpu") or variant["wall"]
        peer = best_peer(work)
        host = duration(variant["host"]["median"]) if "host" in variant else "-"
        copy = speed_up(work, (mine[1],), "gpu", (COPY,))
        ending = [peer[1] if peer else "none"]
        if work["group"] == "conv":
            ending += [f"{work['sizes'][0] / time:.0f} images/s by {name}" for time, name in filter(None, (mine, peer))]
        ending += [f"{'met' if t['met'] else 'MISSED'}: {t['target']}" for t in work["targets"] if t["met"] is not None]
        lines.append(f"{work['name']:{width}}  {duration(mine[0]):>10}  {duration(spread['p10']):>10}  {duration(spread['p90']):>10}"
                     f"  {host:>10}  {ratio(copy):>8}  {ratio(peer[0] / mine[0] if peer else None):>11}  {'; '.join(ending)}")
    return "\n".join(lines)


def verdicts(report):
    """[(target, met, missed, not measured)], in numbers of workloads."""
    counts = {target.text: [0, 0, 0] for target in TARGETS}
    for work in report["workloads"]:
        for entry in work["targets"]:
            counts[entry["target"]][{True: 0, False: 1, None: 2}[entry["met"]]] += 1
    return [(text, *count) for text, count in counts.items()]
