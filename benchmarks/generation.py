#!/usr/bin/env python3
"""Tokens per second of two language models of random weights, GPT-2 (124 million weights) and a small Llama (122 million), in
turns with transformers on PyTorch and with llama.cpp.

usage: generation.py --torch-python PYTHON [--llama-python PYTHON] [--threads 1 2] [--turns 7] [--tokens 16] [--pin]

PYTHON has the packages torch and transformers; the other one llama-cpp-python and gguf. A turn of a program is a prompt of 512
tokens ("prefill"), and so many tokens generated behind one, batch 1. The programs take turns; the fastest turn counts, and the
median is kept. Beside generation stands the rate at which the same weights stream through the registers of the same threads:
a step cannot be faster, since it reads each weight. Results are written to results/PROCESSOR/cpu-generation.json.
"""

import argparse
import contextlib
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
from torch_turns import BENCHMARKS, Player, processor, write_results  # noqa: E402

PROMPT = 512
MODELS, TYPES = ("gpt2", "llama"), ("float32", "bfloat16")


def options_given():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch-python", required=True)
    parser.add_argument("--llama-python")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--tokens", type=int, default=16, help="generated in a turn, up to 64")
    parser.add_argument("--processor-time", dest="clock", action="store_const", const="processor", default="wall")
    parser.add_argument("--pin", action="store_true", help="bind each thread to a core of its own (Linux)")
    return parser.parse_args()


@contextlib.contextmanager
def players(options):
    """The programs by name: ours, compiled here, and the peers."""
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/cpu_generation"
        subprocess.run(["g++", "-std=c++20", "-O2", "-pthread", f"-I{BENCHMARKS.parent / 'include'}",
                        str(BENCHMARKS / "cpu_generation.cpp"), "-lz", "-o", program], check=True)
        peers = BENCHMARKS / "peers"
        bound = {"OMP_PROC_BIND": "true", "OMP_PLACES": "threads"} if options.pin else {}
        started = {"ours": Player(program, is_to_bind=options.pin),
                   "pytorch": Player(options.torch_python, str(peers / "torch_generation.py"), environment=bound)}
        if options.llama_python:
            started["llama.cpp"] = Player(options.llama_python, str(peers / "llama_cpp_generation.py"), folder, environment=bound)
        try:
            yield started
        finally:
            for player in started.values():
                player.end()


def measure(all_players, options, threads, model, kind):
    """Milliseconds of all turns by kind of work and program; of generation also those of reading the weights."""
    taken = {"prefill": {}, "generation": {}}
    for _ in range(options.turns):
        for name, player in all_players.items():
            prompt, token, *read = player.ask(f"{threads} {options.clock} {model} {kind} {options.tokens}")
            taken["prefill"].setdefault(name, []).append(prompt)
            taken["generation"].setdefault(name, []).append(token)
            if read:
                taken["generation"].setdefault("read", []).extend(read)
    return taken


def row_of(work, tokens, times):
    """Tokens per second of the fastest turn by program, and the ratio of ours to each peer: of fastest turns, of medians."""
    speeds = {name: 1e3 * tokens / min(each) for name, each in times.items()}
    medians = {name: 1e3 * tokens / statistics.median(each) for name, each in times.items()}
    ratios = {name: {"fastest": speeds["ours"] / speeds[name], "median": medians["ours"] / medians[name]}
              for name in times if name != "ours"}
    return {"work": work, "tokens_per_second": speeds, "ratios": ratios, "ms": times}


def main():
    options = options_given()
    rows = {}
    with players(options) as all_players:
        print(f"{processor()}; load {os.getloadavg()[0]:.1f}; tokens per second: ours, peers (ratio of the fastest turns, of medians)")
        for model in MODELS:
            for kind in TYPES:
                for threads in options.threads:
                    for work, times in measure(all_players, options, threads, model, kind).items():
                        row = row_of(work, PROMPT if work == "prefill" else 1, times)
                        rows[f"{model}, {kind}, {work}, {threads} thread(s)"] = row
                        peers = [f"{name} {speed:.1f} ({row['ratios'][name]['fastest']:.2f}, {row['ratios'][name]['median']:.2f})"
                                 for name, speed in row["tokens_per_second"].items() if name != "ours"]
                        print(f"{model:6}{kind:9} {threads} {work:11}{row['tokens_per_second']['ours']:8.1f}  {'; '.join(peers)}",
                              flush=True)
    write_results("cpu-generation.json", {"processor": processor(), "pinned": options.pin, "clock": options.clock,
                                          "load": os.getloadavg()[0], "tokens": options.tokens, "rows": rows})


if __name__ == "__main__":
    main()
