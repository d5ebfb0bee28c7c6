"""Epochs of perceptrons on MNIST, ours beside libtorch's: processes that take turns, seed by seed, each with its best
settings, which are searched for first."""

import dataclasses
import json
import os
import re
import statistics
import subprocess
import time

import alternate
import cpu_programs
import cpu_workloads
from cpu_programs import ANYWHERE, OURS, say

SEEDS, EPOCHS = 5, 5
POINTS = 0.3  # largest difference of accuracies


@dataclasses.dataclass(frozen=True)
class Network:
    layers: str
    batch: int
    rate: float

    @property
    def line(self):
        return f"{self.layers} batch {self.batch}"


NETWORKS = (Network("784-32-10", 100, 0.5), Network("784-128-10", 64, 0.5), Network("784-512-512-10", 128, 0.1))


def settings_of(name, threads):
    """Candidate environments for the best settings of a program."""
    base = cpu_programs.settings(threads)
    for variable in ("GOMP_SPINCOUNT", "OPENBLAS_THREAD_TIMEOUT"):  # spinning is harmless: no other program waits in memory
        base.pop(variable)
    if name in (OURS, ANYWHERE):
        yield base
        return
    for storage in ("float", "uint8"):
        for wait in ("passive", "active")[:threads]:
            yield {**base, "TORCH_THREADS": str(threads), "OMP_WAIT_POLICY": wait, "TORCH_STORAGE": storage}


def run(program, environment, network, epochs, seed, data, limit=600):
    """The records of the epochs, and processor seconds of the process; None after a time-out of `limit` seconds."""
    before = os.times()
    command = [str(program), str(data), str(epochs), str(seed), network.layers, str(network.batch), str(network.rate)]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=limit, env={**os.environ, **environment}, check=True)
    except subprocess.TimeoutExpired:
        return None
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return {"epochs": [json.loads(line) for line in done.stdout.splitlines()], "processor_seconds": round(used, 2)}


def best_settings(name, program, network, options):
    """The fastest environment by number of threads, over two epochs; all are tried twice in turns. An environment five
    times slower than another is dropped."""
    tried = [(threads, environment) for threads in options.threads for environment in settings_of(name, threads)]
    best, limit = [float("inf")] * len(tried), 120.0
    for turn in range(2):
        for i, (threads, environment) in enumerate(tried):
            if turn > 0 and best[i] == float("inf"):
                continue
            began = time.monotonic()
            if result := run(program, environment, network, 2, 0, options.data, limit):
                best[i] = min(best[i], *(epoch["seconds"] for epoch in result["epochs"]))
            limit = min(limit, max(10.0, 5 * (time.monotonic() - began)))
    fastest = {}
    for seconds, i in sorted(zip(best, range(len(tried))), reverse=True):
        threads, environment = tried[i]
        more = "".join(f", {environment[key]}" for key in ("TORCH_STORAGE", "OMP_WAIT_POLICY") if key in environment)
        say(f"  {name}, {threads} thread{'s' * (threads > 1)}{more}: " +
            (f"{seconds:.4f} s" if seconds < float("inf") else "given up"))
        if seconds < float("inf"):
            fastest[threads] = environment
    return fastest


def core_distance(options):
    """Nanoseconds of a cache line's transfer between cores. The cores of a virtual machine may share a cache at one
    time and not at another; otherwise, threads that share microseconds of work take twice as long, in every library."""
    program = cpu_programs.Program("any", cpu_programs.BENCHMARKS / "support" / "core_distance.cpp", ("-O2", "-pthread"))
    path = cpu_programs.compiled(program, options.build)
    answer = cpu_programs.answer_of([path]) if path else ""
    return int(answer) if answer else None


def median_epoch(one):
    return statistics.median(epoch["seconds"] for epoch in one["epochs"])


def ratio_of(ours, theirs):
    spread = alternate.spread([median_epoch(b) / median_epoch(a) for a, b in zip(ours, theirs)])
    return {"best": {key: float(f"{spread[key]:.4g}") for key in ("median", "p10", "p90")}}


def mean_of(runs, key):
    """The mean of each epoch over the runs."""
    return [round(statistics.mean(values), 5) for values in zip(*([epoch[key] for epoch in one["epochs"]] for one in runs))]


def entry_of(runs, environment):
    """The entry of a program for a network and a number of threads."""
    spread = alternate.spread([epoch["seconds"] for one in runs for epoch in one["epochs"]])
    return {**{key: float(f"{spread[key]:.4g}") for key in ("median", "p10", "p90")},
            "accuracy": mean_of(runs, "accuracy"), "loss": mean_of(runs, "loss"),
            "accuracy_of_seeds": [one["epochs"][-1]["accuracy"] for one in runs],
            "processor_seconds": statistics.median(one["processor_seconds"] for one in runs), "settings": environment}


def accuracy_targets(runs):
    """Times only compare if the programs learn equally well."""
    last = {name: mean_of(of_program, "accuracy")[-1] for name, of_program in runs.items()}
    for name in last:
        if name.startswith("libtorch"):
            points = round(100 * abs(last[name] - last[OURS]), 3)
            yield {"target": "accuracy, points from libtorch's", "limit": POINTS, "value": points, "met": points <= POINTS,
                   "at_most": True}


def measure_network(network, programs, options):
    """The entry of a network in the report. Programs are compared at their better number of threads."""
    settings = {name: best_settings(name, path, network, options) for name, path in programs.items()}
    runs = {name: {threads: [] for threads in by_threads} for name, by_threads in settings.items() if by_threads}
    distances = []
    for seed in range(1 if options.dry_run else SEEDS):
        if max(options.threads) > 1:
            distances.append(core_distance(options))
        for name, by_threads in runs.items():
            for threads, done in by_threads.items():
                done.append(run(programs[name], settings[name][threads], network, 1 if options.dry_run else EPOCHS, seed, options.data))
        say(f"{network.line}, seed {seed}, seconds with {' or '.join(map(str, options.threads))} threads: " + ", ".join(
            f"{name} " + " ".join(f"{median_epoch(by_threads[threads][-1]):.4f}" for threads in sorted(by_threads))
            for name, by_threads in runs.items()))
    best = {name: min(by_threads.values(), key=lambda done: statistics.median(map(median_epoch, done)))
            for name, by_threads in runs.items()}
    ratios = {own: {name: ratio_of(best[own], of) for name, of in best.items() if name != own} for own in (OURS, ANYWHERE) if own in best}
    work = cpu_workloads.Workload("training", network.line)
    return {"name": network.line, "group": "training", "what": f"SGD with rate {network.rate:g}, 48,000 images", "bytes": 0, "flops": 0,
            "core_distances": distances, "ratios": ratios,
            "programs": {name: {str(threads): entry_of(by_threads[threads], settings[name][threads]) for threads in sorted(by_threads)}
                         for name, by_threads in runs.items()},
            "targets": cpu_workloads.judge(work, ratios) + list(accuracy_targets(best)), "problems": []}


def measure(programs, options):
    paths = {}
    for program in programs:
        path = cpu_programs.compiled(program, options.build)
        slow = path and cpu_programs.reference_blas(path)
        if slow:
            say(f"{program.name} would multiply with the reference BLAS, {slow}: no fair peer, left out; on Debian: "
                "apt-get install libopenblas0-pthread")
        elif path:
            paths[program.name] = path
    networks = [network for network in NETWORKS if re.search(options.only, network.line)]
    return [measure_network(network, paths, options) for network in networks[:1 if options.dry_run else None]]
