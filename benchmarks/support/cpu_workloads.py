"""The workloads of cpu.py, and their performance targets."""

import dataclasses
import random
import typing

import this_processor
from cpu_programs import ANYWHERE, BY_FLOAT, OURS


@dataclasses.dataclass(frozen=True)
class Workload:
    """`line` is the request to a program; bytes: memory traffic, 0 if the workload is bound by arithmetic."""
    group: str
    line: str
    what: str = ""
    bytes: float = 0
    flops: float = 0

    @property
    def operation(self):
        return self.line.split()[0]

    @property
    def sizes(self):
        return [int(word) for word in self.line.split()[1:]]


SQUARES = (16, 17, 31, 32, 48, 63, 64, 65, 96, 100, 127, 128, 129, 160, 191, 192, 255, 256, 257, 320, 383, 384, 500, 511, 512, 513,
           640, 768, 1000, 1023, 1024, 1025, 1536, 2000, 2047, 2048, 3072, 4096)
SQUARES_OF_BFLOAT16 = (64, 128, 256, 257, 512, 1000, 1024, 2048)
LAYERS = ((100, 784, 32), (100, 32, 10), (64, 784, 128), (64, 128, 10), (128, 784, 512), (128, 512, 512), (128, 512, 10),
          (256, 1024, 256))  # batch, inputs, outputs
BATCHES = ((32, 32, 32, 256), (64, 64, 64, 128), (128, 128, 128, 32), (17, 33, 65, 100), (128, 128, 64, 48), (128, 64, 128, 48))
RANDOM_SHAPES = 200


def product(group, form, m, n, k, count=1, what=""):
    line = f"gemm_{form} {m} {n} {k}" + (f" {count}" if count > 1 else "")
    return Workload(group, line, what, flops=2.0 * m * n * k * count)


def layer_products(batch, inputs, outputs):
    """The three products of a linear layer whose weight is (outputs, inputs)."""
    layer = f"{inputs}-{outputs}, batch {batch}"
    return [product("forward", "nt", batch, outputs, inputs, what=layer), product("dw", "tn", outputs, inputs, batch, what=layer),
            product("dx", "nn", batch, inputs, outputs, what=layer)]


def random_products(seed, count):
    """Extents from 1 to 2048, log-uniform, up to 2 G multiply-adds."""
    chance, found = random.Random(seed), []
    while len(found) < count:
        m, n, k = (round(2 ** chance.uniform(0, 11)) for _ in range(3))
        if m * n * k <= 2 ** 31:
            found.append(product("random", chance.choice(("nn", "nt", "tn")), m, n, k))
    return found


def gemm(seed):
    large = [product("transposed", form, n, n, n) for form in ("nt", "tn") for n in (512, 1024)]
    tall = [product("tall", "nt", 4096, 64, 1024), product("tall", "nn", 64, 4096, 1024), product("tall", "nn", 1000, 1, 1000),
            product("tall", "tn", 64, 64, 16384), product("tall", "nn", 14, 1351, 1810), product("tall", "nt", 25, 28, 1867),
            product("tall", "nt", 368, 939, 5), product("tall", "nn", 64, 64, 200)]
    short = [product("bfloat16", "bfloat16_nn", n, n, n) for n in SQUARES_OF_BFLOAT16]
    short += [product("bfloat16", f"bfloat16_{form}", 1024, 1024, 1024) for form in ("nt", "tn")]
    if "avx512_bf16" not in this_processor.flags():
        short = []  # libtorch takes seconds for one
    return ([product("square", "nn", n, n, n) for n in SQUARES] + short + [p for layer in LAYERS for p in layer_products(*layer)] +
            [product("one image", "nt", 1, 32, 784)] + large + tall + [product("batched", "nn", *b) for b in BATCHES] +
            random_products(seed, RANDOM_SHAPES))


def elementwise(_):
    k, m = 1024, 1 << 20
    sizes = {"chain": (k, 10 * k, 100 * k, m, 16 * m), "add": (k, 100 * k, m, 16 * m), "exp": (k, 100 * k, m, 16 * m)}
    operands = {"chain": 3, "add": 3, "scaled_add": 3, "add_transposed": 3}
    formulas = [Workload("chain" if name == "chain" else "formula", f"{name} {n}", bytes=4.0 * operands.get(name, 2) * n)
                for name in ("chain", "add", "scaled_add", "relu", "exp", "tanh", "sigmoid", "gelu")
                for n in sizes.get(name, (m,))]
    layouts = [Workload("layout", f"{name} {rows} {cols}", bytes=4.0 * operands.get(name, 2) * rows * cols)
               for name in ("add_row", "add_column", "add_transposed", "transpose") for rows, cols in ((1000, 1000), (1024, 1024), (4096, 4096))]
    return formulas + layouts


def rows(_):
    operands = {"softmax_backward": 3, "log_softmax_backward": 3, "layer_norm_backward": 3, "cross_entropy": 1}
    names = ("softmax", "log_softmax", "layer_norm", "softmax_backward", "log_softmax_backward", "layer_norm_backward", "cross_entropy")
    shapes = ((64, 10), (100, 10), (1024, 64), (1000, 1000), (4096, 1024), (256, 4096), (64, 32768))
    along = [Workload(name, f"{name} {m} {n}", bytes=4.0 * operands.get(name, 2) * m * n) for name in names for m, n in shapes]
    others = ("softmax_columns", "log_softmax_columns", "cumsum", "cumsum_columns")
    return along + [Workload("across", f"{name} {m} {n}", bytes=8.0 * m * n) for name in others for m, n in ((1000, 1000), (4096, 1024))]


def reduce(_):
    names = ("sum", "sum_rows", "sum_columns", "max", "max_rows", "argmax_rows", "norm", "var_rows", "var_columns", "squared_distance")
    shapes = ((64, 10), (1000, 1000), (4096, 4096))
    return [Workload("fold", f"{name} {m} {n}", bytes=4.0 * (2 if name == "squared_distance" else 1) * m * n)
            for name in names for m, n in shapes]


PARTS = {"gemm": gemm, "elementwise": elementwise, "rows": rows, "reduce": reduce}
TINY = {"gemm": [product("square", "nn", 33, 33, 33), product("bfloat16", "bfloat16_tn", 31, 32, 33),
                 product("forward", "nt", 10, 6, 7), product("batched", "nn", 5, 6, 7, 3)],
        "elementwise": [Workload("chain", "chain 1000", bytes=12000), Workload("layout", "transpose 20 30", bytes=4800)],
        "rows": [Workload(name, f"{name} 5 12", bytes=480) for name in ("softmax", "softmax_columns", "cumsum", "layer_norm", "layer_norm_backward")],
        "reduce": [Workload("fold", f"{name} 7 30", bytes=840) for name in ("sum", "sum_columns", "argmax_rows")]}


@dataclasses.dataclass(frozen=True)
class Target:
    """Applies to every workload of the groups for which `when` holds: how many times faster than the fastest peer whose
    name has the prefix `against`. threads: "1", "2", or "best": each at its best number. If the limit exceeds the share
    `of_copy` of memcpy's speed on the same bytes, the workload is bound by memory, and this share is the limit
    instead."""
    groups: tuple
    text: str
    limit: float
    against: str
    threads: str = "best"
    when: typing.Callable = lambda work: True
    ours: str = OURS
    of_copy: float = 0


def within(low, high):
    return lambda work: low <= work.sizes[0] <= high


def columns(low):
    return lambda work: work.sizes[1] >= low


SOFTMAXES = ("softmax", "log_softmax", "softmax_backward", "log_softmax_backward")
NORMS = ("layer_norm", "layer_norm_backward")
outputs = lambda work: work.sizes[{"forward": 1, "dw": 0, "dx": 2}[work.group]]  # noqa: E731
narrow = lambda work: outputs(work) <= 16  # noqa: E731
skinny = lambda work: 16 < outputs(work) <= 128  # noqa: E731
functions = lambda work: work.operation in ("exp", "tanh", "sigmoid", "gelu") and work.sizes == [1 << 20]  # noqa: E731
layers = lambda text: lambda work: work.operation == text  # noqa: E731
small_rows = lambda work: work.sizes == [64, 10]  # noqa: E731

EVERYTHING = ("square", "forward", "dw", "dx", "chain", "formula", *SOFTMAXES, *NORMS, "training")

TARGETS = (
    Target(("square",), "squares of 128 to 2048, 1 thread, of OpenBLAS", 0.97, "OpenBLAS", "1", within(128, 2048)),
    Target(("square",), "squares of 128 to 2048, 1 thread, of Eigen", 1.0, "Eigen", "1", within(128, 2048)),
    Target(("square",), "squares of 128 to 2048, 2 threads, of OpenBLAS", 0.95, "OpenBLAS", "2", within(128, 2048)),
    Target(("square",), "squares of 128 to 2048, 2 threads, of Eigen", 1.0, "Eigen", "2", within(128, 2048)),
    Target(("bfloat16",), "products of bfloat16, 1 thread, of the same by float", 1.5, BY_FLOAT, "1"),
    Target(("bfloat16",), "products of bfloat16, 1 thread, of libtorch", 0.95, "libtorch", "1"),
    Target(("forward",), "layers of 17 to 128 outputs, forward, of OpenBLAS", 1.3, "OpenBLAS", when=skinny),
    Target(("dw",), "layers of 17 to 128 outputs, gradient of the weight, of OpenBLAS", 1.2, "OpenBLAS", when=skinny),
    Target(("dx",), "layers of 17 to 128 outputs, gradient of the input, of OpenBLAS", 1.15, "OpenBLAS", when=skinny),
    Target(("forward", "dw", "dx"), "layers of up to 16 outputs, of OpenBLAS", 1.0, "OpenBLAS", when=narrow),
    Target(("random",), "random shapes, 1 thread, of OpenBLAS", 0.7, "OpenBLAS", "1"),
    Target(("random",), "random shapes, 1 thread, of Eigen", 0.7, "Eigen", "1"),
    Target(("random",), "random shapes, 2 threads, of OpenBLAS", 0.7, "OpenBLAS", "2"),
    Target(("random",), "random shapes, 2 threads, of Eigen", 0.7, "Eigen", "2"),
    Target(("chain",), "chain of five, 1 M and 16 M, of libtorch", 3.0, "libtorch", when=within(1 << 20, 1 << 24)),
    Target(("chain",), "chain of five, 1 M and 16 M, of Eigen", 1.0, "Eigen", when=within(1 << 20, 1 << 24)),
    Target(("chain",), "chain of five, 1 M and 16 M, of xtensor", 1.0, "xtensor", when=within(1 << 20, 1 << 24)),
    Target(("chain",), "chain of five, 1 M and 16 M, of copy bandwidth", 0.9, "memcpy", when=within(1 << 20, 1 << 24)),
    Target(("formula",), "exp, tanh, sigmoid and gelu, 1 M, of libtorch", 1.0, "libtorch", when=functions),
    Target(SOFTMAXES, "softmax and its logarithm, from 1000 columns, of libtorch", 1.5, "libtorch", when=columns(1000), of_copy=0.9),
    Target(NORMS, "layer norm, from 1000 columns, of libtorch", 1.3, "libtorch", when=columns(1000), of_copy=0.9),
    Target(SOFTMAXES + NORMS, "rows of 64 x 10, of libtorch", 1.0, "libtorch", when=small_rows),
    Target(("training",), "784-32-10, batch 100, of libtorch", 3.0, "libtorch", when=layers("784-32-10")),
    Target(("training",), "784-128-10, batch 64, of libtorch", 2.7, "libtorch", when=layers("784-128-10")),
    Target(("training",), "784-512-512-10, batch 128, of libtorch", 1.3, "libtorch", when=layers("784-512-512-10")),
    Target(EVERYTHING, "plain -O2, of -march=native", 0.8, OURS, ours=ANYWHERE),
    # Equal speed: two builds of one loop differ by some hundredths from turn to turn.
    Target(EVERYTHING, "-march=native, of plain -O2", 0.95, ANYWHERE),
)


def ratio_with(peers, target, against):
    """The ratio to the fastest peer with this prefix, or None."""
    return min((by_threads[target.threads]["median"] for peer, by_threads in peers.items()
                if peer.startswith(against) and peer != target.ours and target.threads in by_threads), default=None)


def judge(work, ratios, targets=TARGETS):
    """One entry for each target of the workload; met is None if a time is missing."""
    found = []
    for target in targets:
        if work.group not in target.groups or not target.when(work):
            continue
        peers = ratios.get(target.ours, {})
        value, text, limit = ratio_with(peers, target, target.against), target.text, target.limit
        copy = ratio_with(peers, target, "memcpy") if target.of_copy else None
        if value is not None and copy is not None and copy / target.of_copy > value / limit:
            value, limit = copy, target.of_copy
            text = text.removesuffix(f" of {target.against}") + " bound by memory, of copy bandwidth"
        found.append({"target": text, "limit": limit, "value": value, "met": None if value is None else value >= limit})
    return found


def verdicts(judged):
    """For each target: how often met, missed, not measured, the median, and the worst workload."""
    found = {}
    for name, entries in judged:
        for entry in entries:
            found.setdefault(entry["target"], []).append((name, entry))
    lines = []
    for text, entries in found.items():
        at_most = entries[0][1].get("at_most", False)  # the largest is then the worst
        known = sorted(((entry["value"], name) for name, entry in entries if entry["value"] is not None), reverse=at_most)
        met = sum(entry["met"] is True for _, entry in entries)
        lines.append({"target": text, "limit": entries[0][1]["limit"], "at_most": at_most, "met": met, "missed": len(known) - met,
                      "unmeasured": len(entries) - len(known), "median": known[len(known) // 2][0] if known else None,
                      "worst": known[0][0] if known else None, "worst_workload": known[0][1] if known else None})
    return lines
