#!/usr/bin/env python3
"""The Python module beside PyTorch: the time of a call, and of functions on arrays of everyday sizes, in turns.

usage: python_calls.py [--threads 2] [--turns 5] [--processor-time] [--only TEXT] [--write]
       python_calls.py --check

It needs a Python with locus, PyTorch and NumPy. The time of a turn is its fastest run; the result is the fastest turn.
Locus reads PyTorch's tensors by DLPack, so its times include the exchange. --processor-time, with --threads 1, is for
machines on which other programs run. --write stores the results in results/PROCESSOR/python-calls.json, which has one
set for each number of threads, and writes the tables of docs/python.md. --check tests that the tables are those of stored
results; it needs no other packages.
"""

import argparse
import datetime
import json
import os
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "benchmarks" / "support"), str(ROOT / "scripts" / "lib")]
import this_processor  # noqa: E402
import whole_file  # noqa: E402
from page_blocks import table, with_block  # noqa: E402
from torch_turns import write_results  # noqa: E402

PAGE = ROOT / "docs" / "python.md"
FOLDER = ROOT / "benchmarks" / "results"
RESULTS = "python-calls.json"


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--processor-time", action="store_true")
    parser.add_argument("--only", default="", help="names that contain this")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true", help="that docs/python.md has the tables of stored results")
    options = parser.parse_args()
    if options.write and options.only:
        parser.error("--write takes all functions: leave out --only")
    if options.processor_time and options.threads > 1:
        parser.error("--processor-time adds up the times of threads: take it with --threads 1")
    return options


def workloads(torch, locus):
    """(name, ours, PyTorch's), on tensors of PyTorch, in float32 if the name says nothing else."""
    f = torch.nn.functional
    torch.manual_seed(1)
    rows, list_, square = torch.randn(1000, 1000), torch.randn(1_000_000), torch.randn(1024, 1024)
    images, kernels, offsets = torch.randn(16, 64, 28, 28), torch.randn(64, 64, 3, 3), torch.randn(64)
    queries, keys, values = (torch.randn(4, 8, 256, 64) for _ in range(3))
    table, places = torch.randn(50_000, 128), torch.randint(50_000, (8192,))
    weight, hidden, labels = torch.randn(8000, 256), torch.randn(512, 256), torch.randint(8000, (512,))
    logits, numbers = torch.randn(512, 8000), torch.randint(1000, (1_000_000,))
    points, others = torch.randn(1000, 3), torch.randn(1000, 3)
    scale, shift, mask, brain = torch.randn(1000), torch.randn(1000), rows > 0, rows.bfloat16()
    return [
        ("sort, 1,000 rows of 1,000", lambda: locus.sort(rows), lambda: torch.sort(rows)),
        ("sort, 1 M elements", lambda: locus.sort(list_), lambda: torch.sort(list_)),
        ("argsort, 1 M integers", lambda: locus.argsort(numbers), lambda: torch.argsort(numbers)),
        ("topk, 10 of 1,000", lambda: locus.topk(rows, 10), lambda: torch.topk(rows, 10)),
        ("median of rows", lambda: locus.median(rows), lambda: torch.median(rows, 1)),
        ("quantile of rows", lambda: locus.quantile(rows, 0.9, 1), lambda: torch.quantile(rows, 0.9, 1)),
        ("unique, 1 M integers", lambda: locus.unique(numbers), lambda: torch.unique(numbers)),
        ("bincount, 1 M integers", lambda: locus.bincount(numbers), lambda: torch.bincount(numbers)),
        ("histogram, 1 M elements", lambda: locus.histogram(list_, 100, -3, 3), lambda: torch.histc(list_, 100, -3, 3)),
        ("searchsorted, 1 M in 1,000", lambda: locus.searchsorted(scale, list_), lambda: torch.searchsorted(scale, list_)),
        ("cumsum of rows", lambda: locus.cumsum(rows, 1), lambda: torch.cumsum(rows, 1)),
        ("cumprod of rows", lambda: locus.cumprod(rows, 1), lambda: torch.cumprod(rows, 1)),
        ("cummax of rows", lambda: locus.cummax(rows, 1), lambda: torch.cummax(rows, 1)),
        ("softmax of rows", lambda: locus.softmax(rows, 1), lambda: torch.softmax(rows, 1)),
        ("log_softmax of rows", lambda: locus.log_softmax(rows, 1), lambda: torch.log_softmax(rows, 1)),
        ("layer_norm of rows", lambda: locus.layer_norm(rows, 1000, scale, shift),
         lambda: f.layer_norm(rows, (1000,), scale, shift)),
        ("rms_norm of rows", lambda: locus.rms_norm(rows, 1000, scale), lambda: f.rms_norm(rows, (1000,), scale)),
        ("group_norm of images", lambda: locus.group_norm(images, 8), lambda: f.group_norm(images, 8)),
        ("sum of rows", lambda: locus.sum(rows, 1), lambda: torch.sum(rows, 1)),
        ("var of columns", lambda: locus.var(rows, 0), lambda: torch.var(rows, 0)),
        ("norm of rows", lambda: locus.norm(rows, 2, 1), lambda: torch.linalg.vector_norm(rows, 2, 1)),
        ("gelu, 1 M elements", lambda: locus.gelu(list_), lambda: f.gelu(list_)),
        ("silu, 1 M elements", lambda: locus.silu(list_), lambda: f.silu(list_)),
        ("exp, 1 M elements", lambda: locus.exp(list_), lambda: torch.exp(list_)),
        ("lgamma, 1 M elements", lambda: locus.lgamma(list_), lambda: torch.lgamma(list_)),
        ("erfinv, 1 M elements", lambda: locus.erfinv(list_), lambda: torch.erfinv(list_)),
        ("pow, 1 M elements", lambda: locus.power(list_, 1.7), lambda: torch.pow(list_, 1.7)),
        ("add, 1 M elements", lambda: locus.add(list_, list_), lambda: torch.add(list_, list_)),
        ("tril, 1,024 x 1,024", lambda: locus.tril(square), lambda: torch.tril(square)),
        ("roll, 1,000 x 1,000", lambda: locus.roll(rows, 3, 1), lambda: torch.roll(rows, 3, 1)),
        ("masked_select, 1 M elements", lambda: locus.masked_select(rows, mask), lambda: torch.masked_select(rows, mask)),
        ("matmul, 1,024 x 1,024", lambda: locus.matmul(square, square), lambda: torch.matmul(square, square)),
        ("einsum, bhld,bhsd->bhls", lambda: locus.einsum("bhld,bhsd->bhls", queries, keys),
         lambda: torch.einsum("bhld,bhsd->bhls", queries, keys)),
        ("cdist, 1,000 x 1,000 points", lambda: locus.cdist(points, others), lambda: torch.cdist(points, others)),
        ("cdist, exact in both", lambda: locus.cdist(points, others),
         lambda: torch.cdist(points, others, compute_mode="donot_use_mm_for_euclid_dist")),
        ("attention, 4 x 8 x 256 x 64", lambda: locus.scaled_dot_product_attention(queries, keys, values),
         lambda: f.scaled_dot_product_attention(queries, keys, values)),
        ("conv2d, 64 to 64 channels", lambda: locus.conv2d(images, kernels, offsets, padding=1),
         lambda: f.conv2d(images, kernels, offsets, padding=1)),
        ("max_pool2d", lambda: locus.max_pool2d(images, 2), lambda: f.max_pool2d(images, 2)),
        ("interpolate, bilinear", lambda: locus.interpolate(images, (56, 56), mode="bilinear"),
         lambda: f.interpolate(images, (56, 56), mode="bilinear")),
        ("embedding, 8,192 of 50,000", lambda: locus.embedding(table, places), lambda: f.embedding(places, table)),
        ("cross_entropy, 8,000 classes", lambda: locus.cross_entropy(logits, labels),
         lambda: f.cross_entropy(logits, labels)),
        ("linear_cross_entropy", lambda: locus.linear_cross_entropy(hidden, weight, labels),
         lambda: f.cross_entropy(f.linear(hidden, weight), labels)),
        ("add in bfloat16, 1 M elements", lambda: locus.add(brain, brain), lambda: torch.add(brain, brain)),
        ("gelu in bfloat16, 1 M elements", lambda: locus.gelu(brain), lambda: f.gelu(brain)),
        ("softmax of rows in bfloat16", lambda: locus.softmax(brain, 1), lambda: torch.softmax(brain, 1)),
        ("randn, 1 M elements", lambda: locus.randn(1_000_000), lambda: torch.randn(1_000_000)),
    ]


def gradients(torch, lt):
    """(name, ours, PyTorch's): forward and backward, recorded by torch.autograd in both."""
    f = torch.nn.functional
    rows, scale, shift = (torch.randn(*shape, requires_grad=True) for shape in ((1000, 1000), (1000,), (1000,)))
    table, places = torch.randn(50_000, 128, requires_grad=True), torch.randint(50_000, (8192,))
    hidden, weight = torch.randn(512, 256, requires_grad=True), torch.randn(8000, 256, requires_grad=True)
    labels = torch.randint(8000, (512,))
    heads = [torch.randn(4, 8, 256, 64, requires_grad=True) for _ in range(3)]

    def both(name, inputs, ours, theirs):
        def step(function):
            return lambda: torch.autograd.grad(function().sum(), inputs)
        return name, step(ours), step(theirs)

    return [
        both("cumprod of rows, with gradient", [rows], lambda: lt.cumprod(rows, 1), lambda: torch.cumprod(rows, 1)),
        both("logcumsumexp, with gradient", [rows], lambda: lt.logcumsumexp(rows, 1), lambda: torch.logcumsumexp(rows, 1)),
        both("layer_norm, with gradients", [rows, scale, shift], lambda: lt.layer_norm(rows, 1000, scale, shift),
             lambda: f.layer_norm(rows, (1000,), scale, shift)),
        both("gelu, with gradient", [rows], lambda: lt.gelu(rows), lambda: f.gelu(rows)),
        both("embedding, with gradient", [table], lambda: lt.embedding(table, places), lambda: f.embedding(places, table)),
        both("attention, with gradients", heads, lambda: lt.scaled_dot_product_attention(*heads),
             lambda: f.scaled_dot_product_attention(*heads)),
        both("linear_cross_entropy, with gradients", [hidden, weight],
             lambda: lt.linear_cross_entropy(hidden, weight, labels),
             lambda: f.cross_entropy(f.linear(hidden, weight), labels)),
    ]


def calls(torch, locus, numpy):
    """(name, call): calls on four numbers, of which nearly all time is the call's own."""
    ours, theirs, array = locus.ones(4), torch.ones(4), numpy.ones(4, dtype=numpy.float32)
    return [
        ("locus.exp of a Tensor", lambda: locus.exp(ours)),
        ("locus.exp of a NumPy array", lambda: locus.exp(array)),
        ("locus.exp of a torch.Tensor", lambda: locus.exp(theirs)),
        ("torch.exp", lambda: torch.exp(theirs)),
        ("numpy.exp", lambda: numpy.exp(array)),
        ("locus.add of two Tensors", lambda: locus.add(ours, ours)),
        ("torch.add", lambda: torch.add(theirs, theirs)),
        ("Tensor.numpy()", lambda: ours.numpy()),
        ("torch.from_dlpack(Tensor)", lambda: torch.from_dlpack(ours)),
    ]


def fastest(call, clock, seconds=0.05):
    """Of runs that take this long together, at least three; each as many calls as the clock resolves."""
    count = 1
    while True:
        begin = clock()
        for _ in range(count):
            call()
        took = clock() - begin
        if took > 1e-3:
            break
        count *= 4
    best, end = took, time.perf_counter() + seconds
    runs = 1
    while time.perf_counter() < end or runs < 3:
        begin = clock()
        for _ in range(count):
            call()
        best, runs = min(best, clock() - begin), runs + 1
    return best / count


def in_turns(both, clock, turns):
    """The fastest turn of each of two calls."""
    best = [float("inf")] * 2
    for _ in range(turns):
        best = [min(time, fastest(call, clock)) for time, call in zip(best, both)]
    return best


def shown(ratio):
    return f"**{ratio:.2f}**" if ratio > 1 else f"{ratio:.2f}"


def threads_of(run):
    return "1 thread" if run["threads"] == 1 else f"{run['threads']} threads"


def conditions(run):
    """Of a measurement, in words."""
    return (f"{run['processor']}, {threads_of(run)}, {run['clock']} time, PyTorch {run['torch']}, NumPy {run['numpy']}, "
            f"{run['date']}")


def table_of_calls(run):
    return table(["call on four numbers", "microseconds"], [[f"`{name}`", f"{s * 1e6:.2f}"] for name, s in run["calls"].items()])


def table_of_functions(runs):
    """Milliseconds with the least number of threads, and the ratios with each; blank where a run lacks the function."""
    def ratio(run, name):
        ours, theirs = run["functions"].get(name, (None, None))
        return shown(theirs / ours) if ours else ""

    head = ["function, in float32 if not said otherwise", "Locus, ms", "PyTorch, ms", *(f"ratio, {threads_of(run)}" for run in runs)]
    return table(head, [[name, f"{ours * 1e3:.2f}", f"{theirs * 1e3:.2f}", *(ratio(run, name) for run in runs)]
                        for name, (ours, theirs) in runs[0]["functions"].items()])


def stored(folder):
    """The runs in a folder of results, in the order of their threads."""
    path = folder / RESULTS
    return json.loads(path.read_text())["runs"] if path.exists() else []


def with_tables(page, runs):
    blocks = {"calls": table_of_calls(runs[0]), "functions": table_of_functions(runs),
              "conditions": "".join(f"- {conditions(each)}\n" for each in runs)}
    for name, text in blocks.items():
        page = with_block(page, "python_calls.py", name, text)
    return page


def write(run):
    """Adds the run to the stored ones, and writes the tables of all of them into the page."""
    runs = [other for other in stored(FOLDER / this_processor.kind()) if other["threads"] != run["threads"]]
    runs = sorted([*runs, run], key=lambda each: each["threads"])
    write_results(RESULTS, {"runs": runs})
    whole_file.write(PAGE, with_tables(PAGE.read_text(), runs))


def is_current():
    """Whether the page has the tables of the results of one kind of processor."""
    page = PAGE.read_text()
    return any(with_tables(page, runs) == page for folder in FOLDER.iterdir() if (runs := stored(folder)))


def main():
    options = parsed()
    if options.check:
        return None if is_current() else f"{PAGE.name} is not what python_calls.py --write makes"
    os.environ["LOCUS_NUM_THREADS"] = str(options.threads)
    import numpy
    import torch

    import locus
    import locus.torch as lt

    torch.set_num_threads(options.threads)
    clock = time.process_time if options.processor_time else time.perf_counter
    run = {"threads": options.threads, "clock": "processor" if options.processor_time else "wall", "turns": options.turns,
           "processor": this_processor.name(), "torch": torch.__version__, "numpy": numpy.__version__,
           "date": datetime.date.today().isoformat(), "calls": {}, "functions": {}}
    print(f"{conditions(run)}\n")
    for name, call in calls(torch, locus, numpy):
        if options.only in name:
            run["calls"][name] = min(fastest(call, clock) for _ in range(options.turns))
            print(f"{name:40}{run['calls'][name] * 1e6:9.2f} us", flush=True)
    print(f"\n{'milliseconds':40}{'Locus':>9}{'PyTorch':>10}{'ratio':>8}")
    for name, *both in [*workloads(torch, locus), *gradients(torch, lt)]:
        if options.only in name:
            ours, theirs = run["functions"][name] = in_turns(both, clock, options.turns)
            print(f"{name:40}{ours * 1e3:9.3f}{theirs * 1e3:10.3f}{theirs / ours:8.2f}", flush=True)
    if options.write:
        write(run)
    return None


if __name__ == "__main__":
    sys.exit(main())
