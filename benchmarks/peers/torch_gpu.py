#!/usr/bin/env python3
"""The workloads of ../verbs.cpp in PyTorch at its best settings, for a program that alternates both.

usage: torch_gpu.py --device cpu|cuda [--dry-run]

Prints a line of JSON that describes it. Then every line of the input is a workload, as `verbs --serve` lists them; the
answer is a line of JSON: samples of each variant, in seconds, after its result was compared with float64. A workload
stays in memory until another one is requested. With --dry-run, each variant runs once, and nothing is compiled.
"""

import argparse
import copy
import gc
import itertools
import json
import math
import os
import sys
import time
import types

try:
    import torch
    from torch.nn import functional as F
except ImportError as error:
    torch, missing = None, str(error)
else:
    import torch_gpt2
    import torch_resnet

ROUNDING = {"f32": 2e-5, "tf32": 2e-3, "bf16": 2e-2}  # of results, relative to the largest element
DTYPES = {} if torch is None else {"f32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16}


class Device:
    """The device of the measurements, and its clock."""

    def __init__(self, name):
        self.name, self.on_gpu = name, name.startswith("cuda")
        self.cycles = 0.0  # of the GPU, per second
        if self.on_gpu:
            self.cycles = 1e7 / self.between_events(lambda: torch.cuda._sleep(int(1e7)))

    def synchronize(self):
        if self.on_gpu:
            torch.cuda.synchronize()

    def between_events(self, function):
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        first.record()
        function()
        last.record()
        torch.cuda.synchronize()
        return 1e-3 * first.elapsed_time(last)

    def wall(self, run, times):
        self.synchronize()
        start = time.perf_counter()
        for _ in range(times):
            run()
        self.synchronize()
        return (time.perf_counter() - start) / times

    def sample(self, run, times, blocks, samples):
        """Spinning holds the stream while the host enqueues the runs, as in ../verbs/gpu.cu."""
        wall = self.wall(run, times)
        samples["wall"].append(wall)
        if not self.on_gpu or blocks:
            return
        host = 0.0

        def queue():
            nonlocal host
            start = time.perf_counter()
            for _ in range(times):
                run()
            host = (time.perf_counter() - start) / times

        torch.cuda._sleep(int(self.cycles * (min(wall * times, 5e-3) + 3e-5)))
        samples["gpu"].append(self.between_events(queue) / times)
        samples["host"].append(host)


class Variant:
    """An implementation of a workload; check() runs it once more and returns the largest error relative to the allowed
    one."""

    def __init__(self, run, check):
        self.run, self.check = run, check
        self.times, self.problem, self.error = 1, "", 0.0

    def attempt(self, function):
        if not self.problem:
            try:
                function()
            except Exception as error:
                self.problem = f"{type(error).__name__}: {error}".splitlines()[0]

    def try_out(self, device, sample_seconds):
        self.error = float(self.check())
        if not self.error <= 1:
            self.problem = f"wrong: off by {self.error:.3g} times what rounding allows"
            return
        once = device.wall(self.run, 1)
        if once < sample_seconds / 20:
            once = device.wall(self.run, 10)
        self.times = max(1, min(100, int(sample_seconds / once)))


class Peer:
    """The workloads; a method for each group returns {name: Variant}."""

    def __init__(self, options):
        self.device, self.compiles = Device(options.device), not (options.dry_run or options.no_compile)
        self.dry_run = options.dry_run
        if torch.cuda.is_available():
            torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = True

    def randn(self, *shape, dtype="f32"):
        return torch.randn(*shape, device=self.device.name, dtype=DTYPES[dtype])

    def rotation(self, make):
        """Cycles through sets of operands that exceed the GPU's caches threefold; one set on the host."""
        first, count = make(), 1
        if self.device.on_gpu:
            size = sum(x.numel() * x.element_size() for x in vars(first).values() if torch.is_tensor(x))
            cache = torch.cuda.get_device_properties(0).L2_cache_size
            count = min(512, int(3 * cache / size) + 1)
        return itertools.cycle([first] + [make() for _ in range(count - 1)])

    def functions(self, sets, functions, check):
        """Variants that put function(set) into set.y; check(set) compares it."""

        def variant(function):
            def run():
                operands = next(sets)
                operands.y = function(operands)
                return operands

            return Variant(run, lambda: check(run()))

        return {name: variant(function) for name, function in functions.items()}

    def eager_and_compiled(self, function, mode=None):
        """The function eagerly and, if enabled, compiled."""
        functions = {"PyTorch eager": function}
        if self.compiles:
            functions["PyTorch compile"] = torch.compile(function, dynamic=False, mode=mode)
        return functions

    def gemm(self, work):
        (m, n, k), dtype = work["sizes"], work["dtype"]
        sets = self.rotation(lambda: types.SimpleNamespace(a=self.randn(m, k, dtype=dtype), b=self.randn(k, n, dtype=dtype)))

        def check(s):
            return off(s.y[:4], s.a[:4].double() @ s.b.double(), dtype)

        return self.functions(sets, {"PyTorch eager": lambda s: s.a @ s.b}, check)

    def linear(self, work):
        (rows, out, inputs), dtype = work["sizes"], work["dtype"]
        activation, mode = work["operation"].split()
        act = F.relu if activation == "relu" else F.gelu
        training = mode == "training"

        def make():
            s = types.SimpleNamespace(x=self.randn(rows, inputs, dtype=dtype), w=self.randn(out, inputs, dtype=dtype),
                                      b=self.randn(out, dtype=dtype), g=self.randn(rows, out, dtype=dtype))
            s.w /= inputs ** 0.5
            for operand in (s.x, s.w, s.b):
                operand.requires_grad_(training)
            return s

        def layer(x, w, b):
            return act(F.linear(x, w, b))

        def using(function):
            def forward(s):
                return function(s.x, s.w, s.b)

            def step(s):
                s.x.grad = s.w.grad = s.b.grad = None
                y = forward(s)
                y.backward(s.g)
                return y.detach()

            return step if training else forward

        def check(s):
            error = off(s.y[:4], layer(s.x[:4].double(), s.w.double(), s.b.double()), dtype)
            if training and not s.w.grad.isfinite().all():
                return float("nan")
            return error

        functions = {name: using(function) for name, function in self.eager_and_compiled(layer).items()}
        return self.functions(self.rotation(make), functions, check)

    def expression(self, work):
        operations, elements = work["sizes"]
        steps = (lambda t, a, b: a + b, lambda t, a, b: t * a, lambda t, a, b: t - b, lambda t, a, b: torch.relu(t),
                 lambda t, a, b: t * 0.5, lambda t, a, b: t + a, lambda t, a, b: torch.maximum(t, b), lambda t, a, b: t - 1)

        def chain(a, b):
            t = None
            for step in steps[:operations]:
                t = step(t, a, b)
            return t

        def check(s):
            return off(s.y[-4096:], chain(s.a[-4096:].double(), s.b[-4096:].double()), "f32")

        sets = self.rotation(lambda: types.SimpleNamespace(a=self.randn(elements), b=self.randn(elements)))
        functions = {name: lambda s, f=function: f(s.a, s.b) for name, function in self.eager_and_compiled(chain).items()}
        return self.functions(sets, functions, check)

    def rows(self, work):
        rows, cols = work["sizes"]
        function = {"softmax": lambda s: F.softmax(s.x, 1),
                    "layer_norm": lambda s: F.layer_norm(s.x, (cols,), s.weight, s.bias),
                    "cross_entropy": lambda s: F.cross_entropy(s.x, s.labels, reduction="none")}[work["operation"]]

        def check(s):
            part = types.SimpleNamespace(x=s.x[-2:].double(), weight=s.weight.double(), bias=s.bias.double(), labels=s.labels[-2:])
            return off(s.y[-2:], function(part), "f32")

        sets = self.rotation(lambda: types.SimpleNamespace(
            x=self.randn(rows, cols), weight=self.randn(cols), bias=self.randn(cols),
            labels=torch.randint(0, cols, (rows,), device=self.device.name)))
        return self.functions(sets, self.eager_and_compiled(function), check)

    def reduce(self, work):
        rows, cols = work["sizes"]
        axis = {"sum of all": None, "sums of rows": 1, "sums of columns": 0}[work["operation"]]

        def total(x):
            return x.sum() if axis is None else x.sum(axis)

        sets = self.rotation(lambda: types.SimpleNamespace(x=self.randn(rows, cols)))
        return self.functions(sets, {"PyTorch eager": lambda s: total(s.x)},
                              lambda s: off(s.y, total(s.x.double()), "f32", scale=total(s.x.abs().double()).max().item()))

    def optimizer(self, work):
        """The same number of steps with one gradient: see ../verbs/optimizer.cpp."""
        count, = work["sizes"]

        def variant(**settings):
            p = torch.nn.Parameter(self.randn(count))
            p.grad = self.randn(count)
            before, made, adam = p.detach()[-4096:].double(), itertools.count(1), torch.optim.Adam([p], lr=1e-3, **settings)
            steps = 0

            def run():
                nonlocal steps
                steps = next(made)
                adam.step()

            def check():
                run()
                g = p.grad[-4096:].double()
                return off(p.detach()[-4096:], before - steps * 1e-3 * g / (g.abs() + 1e-8), "f32")

            return Variant(run, check)

        return {"PyTorch fused": variant(fused=True), "PyTorch foreach": variant(foreach=True)}

    def step(self, work):
        batch, inputs, hidden, classes = work["sizes"]
        x, labels = self.randn(batch, inputs), torch.randint(0, classes, (batch,), device=self.device.name)
        initial = torch.nn.Sequential(torch.nn.Linear(inputs, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, classes))

        def variant(mode=None, graph=False, **settings):
            model = copy.deepcopy(initial).to(self.device.name)
            adam = torch.optim.Adam(model.parameters(), lr=1e-3, **settings)

            def loss_of(x, labels):
                return F.cross_entropy(model(x), labels)

            forward = torch.compile(loss_of, dynamic=False, mode=mode) if mode else loss_of
            loss = None

            def run():
                nonlocal loss
                if mode == "max-autotune":
                    torch.compiler.cudagraph_mark_step_begin()
                of_batch = forward(x, labels)
                of_batch.backward()
                adam.step()
                adam.zero_grad(set_to_none=True)
                loss = of_batch.detach()

            if graph:
                run = captured(run)

            def check():
                with torch.no_grad():
                    expected = F.cross_entropy(copy.deepcopy(model).double()(x.double()), labels)
                run()
                return off(loss, expected, "f32")

            return Variant(run, check)

        makers = {"PyTorch eager": lambda: variant(), "PyTorch eager, fused Adam": lambda: variant(fused=True)}
        if self.device.on_gpu:
            makers["PyTorch CUDA graph"] = lambda: variant(graph=True, fused=True, capturable=True)
        if self.compiles:
            makers["PyTorch compile"] = lambda: variant(mode="max-autotune", fused=True)
        if self.compiles and self.device.on_gpu:
            makers["PyTorch compile, CUDA graph"] = \
                lambda: variant(mode="max-autotune-no-cudagraphs", graph=True, fused=True, capturable=True)
        return {name: made(maker) for name, maker in makers.items()}

    def small(self, work):
        side, = work["sizes"]
        function = {"add": lambda s: s.a + s.b, "sum": lambda s: s.a.sum(), "softmax": lambda s: F.softmax(s.a, 1),
                    "product": lambda s: s.a @ s.b}[work["operation"]]
        sets = itertools.cycle([types.SimpleNamespace(a=self.randn(side, side), b=self.randn(side, side))])
        return self.functions(sets, {"PyTorch eager": function},
                              lambda s: off(s.y, function(types.SimpleNamespace(a=s.a.double(), b=s.b.double())), "f32", scale=side))

    def conv(self, work):
        images, inputs, out, side, kernel, stride = work["sizes"]
        dtype, padding, training = work["dtype"], kernel // 2, work["operation"] == "training"
        outputs = (side + 2 * padding - kernel) // stride + 1
        if self.device.on_gpu:
            torch.backends.cudnn.allow_tf32 = dtype == "tf32"
            torch.backends.cudnn.benchmark = True

        def convolved(x, w):
            return F.conv2d(x, w, stride=stride, padding=padding)

        def step(s):
            s.x.grad = s.w.grad = None
            y = convolved(s.x, s.w)
            if training:
                y.backward(s.g)
            return y.detach()

        def check(s):
            error = off(s.y[:4], convolved(s.x[:4].double(), s.w.double()), dtype)
            return float("nan") if training and not s.w.grad.isfinite().all() else error

        def sets(memory_format):
            def make():
                s = types.SimpleNamespace(x=self.randn(images, inputs, side, side, dtype=dtype),
                                          w=self.randn(out, inputs, kernel, kernel, dtype=dtype),
                                          g=self.randn(images, out, outputs, outputs, dtype=dtype))
                s.w /= (inputs * kernel * kernel) ** 0.5
                s.x, s.w, s.g = (x.to(memory_format=memory_format) for x in (s.x, s.w, s.g))
                s.x.requires_grad_(training), s.w.requires_grad_(training)
                return s

            return self.rotation(make)

        return {**self.functions(sets(torch.contiguous_format), {"PyTorch eager": step}, check),
                **self.functions(sets(torch.channels_last), {"PyTorch channels-last": step}, check)}

    def attention(self, work):
        batch, heads, length, width = work["sizes"]
        dtype, training = work["dtype"], work["operation"] == "training"

        def attended(x):
            q, k, v = (part.view(x.shape[0], length, heads, width).transpose(1, 2) for part in x.split(heads * width, 2))
            return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape[0], length, heads * width)

        def step(s):
            s.x.grad = None
            y = attended(s.x)
            if training:
                y.backward(s.g)
            return y.detach()

        def check(s):
            if training and not s.x.grad.isfinite().all():
                return float("nan")
            return off(s.y[-1:], attended(s.x.detach()[-1:].double()), dtype) if length <= 4096 else 0.0

        def make():
            x = self.randn(batch, length, 3 * heads * width, dtype=dtype).requires_grad_(training)
            return types.SimpleNamespace(x=x, g=self.randn(batch, length, heads * width, dtype=dtype))

        return self.functions(self.rotation(make), {"PyTorch eager": step}, check)

    def batch_norm(self, work):
        images, channels, side = work["sizes"]
        dtype, training = work["dtype"], work["operation"] == "training"

        def sets(memory_format):
            def make():
                x, g = (self.randn(images, channels, side, side, dtype=dtype).to(memory_format=memory_format) for _ in range(2))
                return types.SimpleNamespace(x=x.requires_grad_(training), g=g, norm=torch.nn.BatchNorm2d(channels).to(x.device))

            return self.rotation(make)

        def step(s):
            s.x.grad = s.norm.weight.grad = s.norm.bias.grad = None
            y = s.norm(s.x)
            if training:
                y.backward(s.g)
            return y.detach()

        def check(s):
            if training and not s.x.grad.isfinite().all():
                return float("nan")
            x = s.x.detach().double()
            scale = (x.var((0, 2, 3), unbiased=False, keepdim=True) + 1e-5).rsqrt()
            return off(s.y, (x - x.mean((0, 2, 3), keepdim=True)) * scale, dtype)

        return {**self.functions(sets(torch.contiguous_format), {"PyTorch eager": step}, check),
                **self.functions(sets(torch.channels_last), {"PyTorch channels-last": step}, check)}

    def embedding(self, work):
        count, rows, cols = work["sizes"]
        least = rows - 1 if work["operation"] == "equal indices" else 0

        def make():
            return types.SimpleNamespace(table=self.randn(rows, cols).requires_grad_(True), g=self.randn(count, cols),
                                         indices=torch.randint(least, rows, (count,), device=self.device.name))

        def step(s):
            s.table.grad = None
            y = F.embedding(s.indices, s.table)
            y.backward(s.g)
            return y.detach()

        def check(s):
            row = s.indices[0]
            picked = s.g[s.indices == row].double()
            error = off(s.table.grad[row], picked.sum(0), "f32", scale=picked.abs().sum(0).max().item())
            return max(error, 0.0 if torch.equal(s.y, s.table.detach()[s.indices]) else float("inf"))

        return self.functions(self.rotation(make), {"PyTorch eager": step}, check)

    def transpose(self, work):
        rows, cols = work["sizes"]
        sets = self.rotation(lambda: types.SimpleNamespace(x=self.randn(rows, cols, dtype=work["dtype"])))
        return self.functions(sets, {"PyTorch eager": lambda s: s.x.t().contiguous()},
                              lambda s: 0.0 if torch.equal(s.y, s.x.t()) else float("inf"))

    def network(self, work):
        """Trains in bfloat16 by autocast, and images channels-last there."""
        autocast = work["dtype"] == "bf16"
        if self.device.on_gpu:
            torch.backends.cudnn.allow_tf32 = work["dtype"] == "tf32"
            torch.backends.cudnn.benchmark = True
        maker = self.gpt2_block if work["operation"] == "gpt2 block" else self.resnet18_step
        functions = {"PyTorch eager": {}}
        if self.device.on_gpu:
            functions["PyTorch CUDA graph"] = {"graph": True}
        if self.compiles:
            functions["PyTorch compile"] = {"mode": "max-autotune"}
        return {name: made(lambda: maker(work["sizes"], autocast, **ways)) for name, ways in functions.items()}

    def gpt2_block(self, sizes, autocast, mode=None, graph=False):
        texts, length, width, heads = sizes
        block = torch_gpt2.Block(torch_gpt2.Sizes(length, width, 1, heads, 1, 0.0)).to(self.device.name)
        x, g = self.randn(texts, length, width).requires_grad_(), self.randn(texts, length, width)
        if autocast:
            x, g = x.detach().bfloat16().requires_grad_(), g.bfloat16()
        forward = torch.compile(block, dynamic=False, mode=mode) if mode else block
        y = None

        def run():
            nonlocal y
            if mode:
                torch.compiler.cudagraph_mark_step_begin()
            x.grad = None
            block.zero_grad()
            with torch.autocast(x.device.type, torch.bfloat16, enabled=autocast):
                found = forward(x)
            found.backward(g.to(found.dtype))
            y = found.detach()

        run_once = captured(run) if graph else run

        def check():
            expected = copy.deepcopy(block).double()(x.detach().double())
            run_once()
            return math.nan if not x.grad.isfinite().all() else off(y, expected.detach(), "bf16" if autocast else "tf32")

        return Variant(run_once, check)

    def resnet18_step(self, sizes, autocast, mode=None, graph=False):
        count, side, width = sizes
        layout = torch.channels_last if autocast else torch.contiguous_format
        model = torch_resnet.resnet18(width).to(self.device.name, memory_format=layout)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4, nesterov=True)
        images = self.randn(count, 3, side, side).contiguous(memory_format=layout)
        labels = torch.randint(0, 10, (count,), device=self.device.name)
        forward = torch.compile(model, dynamic=False, mode=mode) if mode else model
        loss = None

        def run():
            nonlocal loss
            if mode:
                torch.compiler.cudagraph_mark_step_begin()
            optimizer.zero_grad()
            with torch.autocast(images.device.type, torch.bfloat16, enabled=autocast):
                of_batch = F.cross_entropy(forward(images), labels)
            of_batch.backward()
            optimizer.step()
            loss = of_batch.detach()

        run_once = captured(run) if graph else run

        def check():
            expected = F.cross_entropy(copy.deepcopy(model).double()(images.double()), labels).detach()
            run_once()
            return off(loss, expected, "bf16" if autocast else "tf32")

        return Variant(run_once, check)

    def transfer(self, work):
        count, side = work["sizes"][0] // 4, 16 if self.dry_run else 4096
        host, a, copies = torch.randn(count), self.randn(side, side), torch.cuda.Stream()
        pinned, here = host.pin_memory(), host.to(self.device.name)
        to_pageable, to_pinned = torch.empty(count), torch.empty(count).pin_memory()  # used again, as by the pool of Locus

        def beside():
            with torch.cuda.stream(copies):
                arriving = pinned.to(self.device.name, non_blocking=True)
            product = a @ a
            torch.cuda.current_stream().wait_stream(copies)
            arriving.record_stream(torch.cuda.current_stream())
            return arriving, product

        run = {"pageable to gpu": lambda: (host.to(self.device.name),), "pageable from gpu": lambda: (to_pageable.copy_(here),),
               "pinned to gpu": lambda: (pinned.to(self.device.name),), "pinned from gpu": lambda: (to_pinned.copy_(here),),
               "pinned beside a product": beside}[work["operation"]]
        return {"PyTorch eager": Variant(run, lambda: 0.0 if torch.equal(run()[0].cpu(), host) else float("inf"))}


def off(result, expected, dtype, scale=None):
    """The largest error relative to the rounding error allowed for the largest element (or for `scale`)."""
    largest = scale if scale is not None else expected.abs().max().item()
    return ((result.double() - expected).abs().max() / (ROUNDING[dtype] * max(largest, 1e-30))).item()


def captured(step):
    """The step as a CUDA graph, after warm-up steps in a side stream."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def made(maker):
    """The variant, or one that contains the reason why it failed."""
    try:
        return maker()
    except Exception as error:
        failed = Variant(None, None)
        failed.problem = f"{type(error).__name__}: {error}".splitlines()[0]
        return failed


class Server:
    def __init__(self, peer, turns, sample_seconds):
        self.peer, self.turns, self.sample_seconds = peer, turns, sample_seconds
        self.name, self.variants = None, {}

    def prepare(self, work):
        self.name, self.variants = None, {}
        gc.collect()
        if self.peer.compiles:
            torch._dynamo.reset()
        if self.peer.device.on_gpu:
            torch.cuda.empty_cache()
        torch.set_float32_matmul_precision("high" if work["dtype"] == "tf32" else "highest")
        self.variants = getattr(self.peer, work["group"])(work)
        for variant in self.variants.values():
            variant.attempt(lambda: variant.try_out(self.peer.device, self.sample_seconds))
        self.name = work["name"]

    def answer(self, work):
        if self.name != work["name"]:
            self.prepare(work)
        samples = {name: {"wall": [], "gpu": [], "host": []} for name in self.variants}
        gc.disable()
        for variant in self.variants.values():  # resumes after the turn of another program
            variant.attempt(lambda: self.peer.device.wall(variant.run, 1))
        for _ in range(self.turns):
            for name, variant in self.variants.items():
                variant.attempt(lambda: self.peer.device.sample(variant.run, variant.times, work["group"] == "transfer",
                                                                samples[name]))
        gc.enable()
        return {"name": work["name"], "variants": {
            name: {"runs_per_sample": v.times, "error": v.error, "problem": v.problem,
                   **({} if v.problem else {measure: found for measure, found in samples[name].items() if found})}
            for name, v in self.variants.items()}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda", help="cpu or cuda (default)")
    parser.add_argument("--turns", type=int, help="samples of each variant, which take turns (default 15; dry: 2)")
    parser.add_argument("--sample-time", type=float, help="seconds of a sample (default 0.02; on a GPU 0.002; dry: none)")
    parser.add_argument("--dry-run", action="store_true", help="once each; nothing is compiled")
    parser.add_argument("--no-compile", action="store_true", help="without torch.compile")
    options = parser.parse_args()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # other output is no answer

    def say(what):
        answers.write(json.dumps(what) + "\n")
        answers.flush()

    if torch is None:
        return say({"unavailable": missing})
    if options.device.startswith("cuda") and not torch.cuda.is_available():
        return say({"unavailable": "PyTorch finds no GPU"})
    sample_seconds = options.sample_time if options.sample_time is not None else \
        0.0 if options.dry_run else 0.002 if options.device.startswith("cuda") else 0.02
    server = Server(Peer(options), options.turns or (2 if options.dry_run else 15), sample_seconds)
    say({"torch": torch.__version__, "cuda": torch.version.cuda, "threads": torch.get_num_threads()})
    for line in sys.stdin:
        work = json.loads(line)
        try:
            say(server.answer(work))
        except Exception as error:
            say({"name": work["name"], "variants": {}, "problem": f"{type(error).__name__}: {error}".splitlines()[0]})


if __name__ == "__main__":
    main()
