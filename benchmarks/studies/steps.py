"""Time and memory of training steps: accumulated gradients, mixed precision, and autotuning on and off."""

import statistics

from page_blocks import table
from report_plots import duration
from study import NOT_YET, Study, chosen, machine, the_row

NAMES = {"perceptron": "perceptron 784-1024-1024-10", "convolutions": "two convolutions, images of 32 x 32",
         "resnet18": "ResNet-18, images of 32 x 32"}
BATCH, PARTS = 256, 8  # of the table of accumulated gradients
PRECISION = {"perceptron": 128, "convolutions": 64, "resnet18": 64}  # and the batches of the table of precisions
TYPES = "float32", "bfloat16"
TUNED, PLAIN = "LOCUS_AUTOTUNE=1", "LOCUS_WINOGRAD=0"


def megabytes(count_of_bytes):
    return f"{count_of_bytes / 1e6:,.1f} MB"


def seconds_of(row):
    return min(row["seconds"])


class Steps(Study):
    name, program, facts, rounds = "step-costs", "step_costs", ("before_bytes", "peak_bytes", "distance"), 3

    def requests(self, quick):
        if quick:
            precision = [f"perceptron {kind} 8 1 1" for kind in TYPES]
            return [({}, ["perceptron float32 8 4 1", *precision]), ({"LOCUS_AUTOTUNE": "1"}, precision)]
        parts = [f"{model} float32 {BATCH} {parts} 2" for model in NAMES for parts in (1, PARTS)]
        steps = {"perceptron": 20, "convolutions": 5, "resnet18": 2}
        precision = [f"{model} {kind} {batch} 1 {steps[model]}" for model, batch in PRECISION.items() for kind in TYPES]
        return [({}, parts + precision), ({"LOCUS_AUTOTUNE": "1"}, precision), ({"LOCUS_WINOGRAD": "0"}, precision[2:])]

    def blocks(self, host, gpu):
        return {("training-on-a-gpu.md", "accumulation"): self.accumulation(host, gpu),
                ("mixed-precision.md", "steps"): self.precision(host, gpu),
                ("build-options.md", "autotuning"): self.autotuning(host, gpu)}

    def accumulation(self, host, gpu):
        rows = []
        for model, name in NAMES.items():
            whole, parts = (the_row(host["rows"], model=model, type="float32", batch=BATCH, parts=n, settings="") for n in (1, PARTS))
            cells = [megabytes(whole["peak_bytes"]), megabytes(parts["peak_bytes"]), f"{parts['peak_bytes'] / whole['peak_bytes']:.2f}",
                     f"{parts['distance']:.1g}", f"{seconds_of(parts) / seconds_of(whole):.2f}", self.of_gpu(gpu, model)]
            rows.append([name, *cells])
        head = ["float32, one step", f"peak, batch {BATCH}", f"peak, {PARTS} x {BATCH // PARTS}", "memory", "gradient differs by", "time", "memory on a GPU"]
        return table(head, rows) + "\n" + machine(host, self.name)

    def of_gpu(self, gpu, model):
        if not gpu:
            return NOT_YET
        whole, parts = (the_row(gpu["rows"], model=model, type="float32", batch=BATCH, parts=n, settings="") for n in (1, PARTS))
        return f"{parts['peak_bytes'] / whole['peak_bytes']:.2f}"

    def precision(self, host, gpu):
        rows = [[f"{NAMES[model]}, batch {batch}", *self.types(host, model, batch), *(self.types(gpu, model, batch)[2:] if gpu else [NOT_YET] * 2)]
                for model, batch in PRECISION.items()]
        head = ["one step, one thread", "float32", "bfloat16", "speed", "memory", "speed on a GPU", "memory on a GPU"]
        return table(head, rows) + "\n" + machine(host, self.name)

    def types(self, document, model, batch):
        wide, narrow = (the_row(document["rows"], model=model, type=kind, batch=batch, parts=1, settings="") for kind in TYPES)
        return [f"{duration(seconds_of(row))}, {megabytes(row['peak_bytes'])}" for row in (wide, narrow)] + [
            f"{seconds_of(wide) / seconds_of(narrow):.2f} times as fast", f"{narrow['peak_bytes'] / wide['peak_bytes']:.2f}"]

    def autotuning(self, host, gpu):
        rows = []
        for model, batch in PRECISION.items():
            for kind in TYPES:
                of_host = [f"{self.gain(host, TUNED, model, kind, batch):.2f}", self.of_rule(host, model, kind, batch)]
                rows.append([f"{NAMES[model]}, batch {batch}, {kind}", *of_host,
                             f"{self.gain(gpu, TUNED, model, kind, batch):.2f}" if gpu else NOT_YET])
        head = ["time of a step, on / off", "CPU, `LOCUS_AUTOTUNE=1`", "CPU, Winograd's algorithm where the rules choose it", "GPU, `LOCUS_AUTOTUNE=1`"]
        return table(head, rows) + "\n" + machine(host, self.name)

    def of_rule(self, document, model, kind, batch):
        if not chosen(document["rows"], settings=PLAIN, model=model):
            return "no convolutions"
        return f"{1 / self.gain(document, PLAIN, model, kind, batch):.2f}"

    def gain(self, document, settings, model, kind, batch):
        """The time with these settings over the time without: the median over rounds, which took turns."""
        values = {"model": model, "type": kind, "batch": batch, "parts": 1}
        other, plain = (the_row(document["rows"], settings=each, **values)["seconds"] for each in (settings, ""))
        return statistics.median(a / b for a, b in zip(other, plain))
