"""PyTorch's side of the benchmarks in turns: clocks, and the fastest of some runs, as in support/fastest.hpp."""

import sys
import time

import torch


def fastest(clock, budget, run):
    """Milliseconds of the fastest of 3 to 20 runs; runs begin within `budget` seconds."""
    best, total = float("inf"), 0.0
    for i in range(20):
        if i >= 3 and total >= budget:
            break
        begin = clock()
        run()
        taken = clock() - begin
        best, total = min(best, taken), total + taken
    return 1e3 * best


def answer(measure):
    """Answers each line "THREADS CLOCK WORDS..." with a line of the numbers that measure(clock, *words) returns."""
    for line in sys.stdin:
        threads, clock, *words = line.split()
        torch.set_num_threads(int(threads))
        numbers = measure(time.process_time if clock == "processor" else time.perf_counter, *words)
        print(*(f"{number:.4f}" for number in numbers), flush=True)
