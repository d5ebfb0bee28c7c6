"""PyTorch's answers to the lines of conv.py, attention.py, lookups.py and resnet.py: clocks, and the fastest of some runs, as
support/fastest.hpp has them."""

import sys
import time

import torch


def fastest(clock, budget, run):
    """Milliseconds of the fastest run, of 3 to 20: as many as begin within `budget` seconds."""
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
    """A line of numbers for each line "THREADS CLOCK WORDS...": those that measure(clock, *words) returns."""
    for line in sys.stdin:
        threads, clock, *words = line.split()
        torch.set_num_threads(int(threads))
        numbers = measure(time.process_time if clock == "processor" else time.perf_counter, *words)
        print(*(f"{number:.4f}" for number in numbers), flush=True)
