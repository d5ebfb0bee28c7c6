"""The tables and the picture of docs/training-times.md, from the results of training_times.py."""

import json
import math
import pathlib
import statistics

import training_costs
from page_blocks import count, table, with_block
from report_plots import along, duration
from training_costs import Network

RESULTS = pathlib.Path(__file__).resolve().parents[1] / "results"
IMAGES, BATCH = 60000, 128  # of the tables that vary the model
# The step 784-128-10 of 128 images, measured by benchmarks/verbs on GPUs: without a loader, captured.
GPU_STEPS = {"NVIDIA H100": "2026-11-26-nvidia-h100-verbs.json", "NVIDIA H200": "2026-11-26-nvidia-h200-step.json"}


def rows_of(rounds):
    """A row per point from the lines of several runs: the fastest epoch of each round. For steps, seconds of one step;
    for whole epochs, of all."""
    found = {}
    for lines in rounds:
        for line in lines:
            key = {name: line[name] for name in ("device", "threads", "hidden", "depth", "batch")}
            key["images"] = line["images"] if line["whole"] else 0
            row = found.setdefault(tuple(key.values()), {**key, "seconds": [], "waiting": []})
            if "problem" in line:
                row["problem"] = line["problem"]
                continue
            each = 1 if line["whole"] else line["steps"]
            fastest = min(range(len(line["seconds"])), key=line["seconds"].__getitem__)
            row["seconds"].append(line["seconds"][fastest] / each)
            row["waiting"].append(line["waiting"][fastest] / each)
            row["loss"] = line["loss"]
    return list(found.values())


def part_of(row):
    """The part of the study."""
    return "epochs" if row["images"] else "steps"


def network_of(row):
    return Network(row["hidden"], row["depth"], row["batch"])


def beside(growth, size):
    """Compares a growth of time with the growth of a size."""
    return "by less than" if growth < 0.8 * size else "by more than" if growth > 1.25 * size else "in proportion to"


def times(ratio):
    return f"{ratio:.2g}" if ratio < 9.95 else f"{ratio:,.0f}"


class Study:
    """The measurements, and a model of each series: of the CPU with a number of threads, or of a GPU."""

    def __init__(self, document):
        self.environment, self.peer = document["environment"], document.get("peer")
        self.steps, self.wholes, self.waits, self.spreads = {}, {}, {}, []
        for row in document["rows"]:
            if not row["seconds"]:
                continue
            of_series = (self.wholes if row["images"] else self.steps).setdefault((row["device"], row["threads"]), {})
            key = (network_of(row), row["images"]) if row["images"] else network_of(row)
            of_series[key], waiting = min(zip(row["seconds"], row["waiting"]))  # disturbances only increase a time
            self.waits[row["device"], row["threads"], key] = waiting / of_series[key]
            self.spreads.append(statistics.median(row["seconds"]) / of_series[key] - 1)
        self.series = list(self.steps)
        self.models = {series: training_costs.fit(steps) for series, steps in self.steps.items()}

    # Formatting of the measurements.

    def is_gpu(self, series):
        return series[0].startswith("cuda")

    def name(self, series):
        device, threads = series
        if self.is_gpu(series):
            return self.environment["gpu"] or device
        return f"{threads} thread{'s' * (threads > 1)}"

    def gpu(self):
        return next(filter(self.is_gpu, self.series), None)

    def host(self):
        """The series of the CPU."""
        return [series for series in self.series if not self.is_gpu(series)]

    def values(self, name):
        return sorted({getattr(network, name) for steps in self.steps.values() for network in steps})

    def batch(self):
        """The batch size of the tables over depths."""
        return min(self.values("batch"), key=lambda batch: abs(batch - BATCH))

    def epoch(self, series, network, images=IMAGES):
        """Seconds of an epoch's steps, from the measured step; None if not measured."""
        step = self.steps[series].get(network)
        return None if step is None else step * math.ceil(images / network.batch)

    def checks(self, series):
        """[(modelled, measured)] of whole epochs."""
        model = self.models[series]
        return [(model.epoch(network, images), seconds) for (network, images), seconds in self.wholes.get(series, {}).items()]

    # The summary.

    def of_data(self):
        """The effect of more images."""
        series = self.series[0]
        wholes = self.wholes.get(series, {})
        if not wholes:
            return "- **Data set**: no whole epochs were measured."
        networks = sorted({network for network, _ in wholes}, key=lambda network: network.hidden)
        network = networks[len(networks) // 2]
        sizes = sorted(images for other, images in wholes if other == network)
        few, many = wholes[network, sizes[0]], wholes[network, sizes[-1]]
        return (f"- **Data set**: the time of an epoch grows {beside(many / few, sizes[-1] / sizes[0])} its images: {count(sizes[-1])}, {times(sizes[-1] / sizes[0])} times as "
                f"many as {count(sizes[0])}, take {times(many / few)} times as long ({duration(few)} to {duration(many)}; {network.name}, batch {network.batch}, {self.name(series)}).")

    def of_model(self):
        """The effect of larger layers."""
        series, depth = self.series[0], self.values("depth")[0]
        like = sorted((network for network in self.steps[series] if (network.depth, network.batch) == (depth, self.batch())),
                      key=lambda network: network.hidden)
        if len(like) < 3:
            return "- **Model**: too few sizes were measured."
        steps = [like[0], like[len(like) // 2], like[-1]]
        measured = [self.steps[series][network] for network in steps]

        def growth(i):
            operations, time = steps[i + 1].operations / steps[i].operations, measured[i + 1] / measured[i]
            return (f"from {count(steps[i].hidden)} to {count(steps[i + 1].hidden)} hidden outputs {beside(time, operations)} its "
                    f"operations ({times(operations)} times as many take {times(time)} times as long)")
        return (f"- **Model**: the time of a step grows {growth(0)}, and {growth(1)}: "
                f"{duration(measured[0])}, {duration(measured[1])}, {duration(measured[2])}.")

    def of_devices(self):
        gpu = self.gpu()
        if not gpu:
            return "- **GPU**: none was measured. The figures are of a CPU; `training_times.py` on a machine with a GPU adds it."
        sizes = [self.break_even(series, 1, self.batch()) for series in self.host()]
        text = ", ".join(f"than {self.name(series)} " + (f"from {count(size)} hidden outputs on" if size else "at no size")
                         for series, size in zip(self.host(), sizes))
        return f"- **GPU**: {self.name(gpu)} is faster {text} (784-h-10, batch {self.batch()}, by the model)."

    def break_even(self, series, depth, batch):
        return training_costs.faster_from(self.models[self.gpu()], self.models[series], depth, batch)

    def summary(self):
        return "\n".join([self.of_data(), self.of_model(), self.of_devices()]) + "\n"

    # Tables.

    def sizes_table(self, name, values, what, network):
        """Seconds of an epoch over hidden sizes, for each of `values` and each series."""
        head = ["hidden outputs"] + [f"{what.format(value)}, {self.name(series)}" for value in values for series in self.series]
        rows = []
        for hidden in self.values("hidden"):
            cells = [self.epoch(series, network(hidden, value)) for value in values for series in self.series]
            rows.append([count(hidden)] + ["" if cell is None else duration(cell) for cell in cells])
        return table(head, rows)

    def depths(self):
        return self.sizes_table("depth", self.values("depth"), "depth {}", lambda hidden, depth: Network(hidden, depth, self.batch()))

    def batches(self):
        depth = self.values("depth")[0]
        return self.sizes_table("batch", self.values("batch"), "batch {}", lambda hidden, batch: Network(hidden, depth, batch))

    def data_sets(self):
        sizes = sorted({images for wholes in self.wholes.values() for _, images in wholes})
        rows = []
        for network in sorted({network for wholes in self.wholes.values() for network, _ in wholes}, key=lambda each: each.hidden):
            for series in self.series:
                cells = []
                for images in sizes:
                    seconds = self.wholes.get(series, {}).get((network, images))
                    cells.append("" if seconds is None else self.cell(series, network, images, seconds))
                rows.append([f"{network.name}, {self.name(series)}", *cells])
        return table([f"batch {self.batch()}"] + [f"{count(images)} images" for images in sizes], rows)

    def cell(self, series, network, images, seconds):
        """A time with the model's error, and the share of waiting for the loader from a tenth on."""
        model, waits = self.models[series].epoch(network, images), self.waits[(*series, (network, images))]
        return f"{duration(seconds)} ({model / seconds - 1:+.0%}" + (f", waits {waits:.0%})" if waits >= 0.1 else ")")

    def model(self):
        """The numbers of the models, with their units."""
        models = [self.models[series] for series in self.series]

        def rate(seconds, unit):
            return f"{1e-9 / seconds:,.0f} {unit}" if seconds > 0 else "not seen"

        def memory(model):
            spilled = model.seconds[2] + model.seconds[3]
            return rate(spilled, "GB/s") + f", beyond {model.cache / 2 ** 20:g} MiB" if model.seconds[3] > 0 else "not seen"
        checks = [self.checks(series) for series in self.series]
        percent = [[f"{value:.0%}" for value in training_costs.errors(pairs)] if pairs else ["", ""] for pairs in checks]
        rows = [
            ["fixed, of a step", *(f"{1e6 * model.seconds[0]:.1f} µs" for model in models)],
            ["of each image", *(f"{1e9 * model.seconds[1]:,.0f} ns" for model in models)],
            ["traffic of parameters", *(rate(model.seconds[2], "GB/s") for model in models)],
            ["the same from memory", *map(memory, models)],
            ["operations", *(rate(model.seconds[4], "GFLOP/s") for model in models)],
            ["off the steps: median, worst", *(f"{model.median_error:.0%}, {model.worst_error:.0%}" for model in models)],
            ["off whole epochs: median, worst", *(", ".join(filter(None, each)) for each in percent)],
        ]
        return table(["model of a step", *map(self.name, self.series)], rows)

    def devices(self):
        return self.break_evens() if self.gpu() else self.no_gpu()

    def break_evens(self):
        rows = []
        for depth in self.values("depth"):
            for batch in self.values("batch"):
                sizes = [self.break_even(series, depth, batch) for series in self.host()]
                rows.append([str(depth), count(batch), *(f"from {count(size)}" if size else "at no size" for size in sizes)])
        head = ["hidden layers", "batch", *(f"faster than {self.name(series)}" for series in self.host())]
        return f"Hidden outputs from which on {self.name(self.gpu())} is faster, by the models:\n\n" + table(head, rows)

    def no_gpu(self):
        """Without a measured GPU: the known step of each GPU in results/."""
        text = ("No GPU was measured by this study: the machine has none, or the program was built without CUDA. The curves and the models are "
                "the CPU's, and no break-even is computed from them.\n")
        known = {gpu: seconds for gpu, name in GPU_STEPS.items() if (seconds := gpu_step(RESULTS / name))}
        network = Network(128, 1, BATCH)
        if not known or any((network, IMAGES) not in self.wholes.get(series, {}) for series in self.series):
            return text
        steps = math.ceil(IMAGES / network.batch)
        rows = [[f"{gpu}, captured, batch already there ({GPU_STEPS[gpu]})", duration(seconds)] for gpu, seconds in known.items()]
        rows += [[f"this CPU, {self.name(series)}, of an epoch of {count(IMAGES)} images, loader included",
                  duration(self.wholes[series][network, IMAGES] / steps)] for series in self.series]
        return (text + "One step of one network is known of GPUs, from other machines, by `benchmarks/verbs`:\n\n" +
                table([f"a step of {network.name}, {network.batch} images", "time"], rows))

    def peers(self):
        """Epochs of Locus and PyTorch, in turns."""
        peer = self.peer
        if not peer:
            return "PyTorch was not measured.\n"
        theirs = {(network_of(row), row["images"], row["threads"]): min(row["seconds"]) for row in peer["rows"]}
        rows = []
        for row in sorted(peer["ours"], key=lambda row: (row["hidden"], row["batch"], row["threads"])):
            other = theirs[network_of(row), row["images"], row["threads"]]
            ours = min(row["seconds"])
            ratio = f"{other / ours:.2f}" if other >= ours else f"**{other / ours:.2f}**"
            rows.append([f"{network_of(row).name}, batch {row['batch']}, {self.name(('cpu', row['threads']))}", duration(ours), duration(other), ratio])
        head = [f"an epoch of {count(peer['ours'][0]['images'])} images", "Locus", peer["name"].split("+")[0], "PyTorch / Locus"]
        return table(head, rows)

    def machine(self):
        e = self.environment
        gpu = f"; {e['gpu']}, CUDA {e['cuda']}" if e["gpu"] else ""
        rounds = e.get("rounds", {})
        beside = "; threads bound to cores, beside other programs" if e.get("pinned") else ""
        return (f"{e['cpu']}, {e['cores']} cores{gpu}{beside}; {e['compiler']}; {e['data']}; {e['date'][:10]}, commit {e['commit']}. The fastest of "
                f"{rounds.get('steps', 1)} rounds counts, of whole epochs of {rounds.get('epochs', 1)}; medians are {statistics.median(self.spreads):.0%} "
                f"above, in the median of all sizes.\n")

    def parts(self):
        """The generated parts of the page, by the name in their comment."""
        return {"summary": self.summary(), "machine": self.machine(), "data sets": self.data_sets(), "depths": self.depths(),
                "batches": self.batches(), "model": self.model(), "devices": self.devices(), "peer": self.peers()}

    def text(self):
        return "\n".join(self.parts().values())

    def page(self, page):
        """The page with all current parts. raises ValueError if it lacks one"""
        for name, text in self.parts().items():
            blank = "" if name == "summary" else "\n"  # the summary is within the first five lines
            page = with_block(page, "training_times.py", name, text, blank)
        return page

    # The picture.

    def picture(self):
        hidden, batch, depth = self.values("hidden"), self.batch(), self.values("depth")[0]
        sizes = sorted({images for wholes in self.wholes.values() for _, images in wholes})
        networks = sorted({network for wholes in self.wholes.values() for network, _ in wholes}, key=lambda each: each.hidden)
        panels = [Panel(f"an epoch, by images (batch {batch})", "images", sizes), Panel(f"{count(IMAGES)} images, batch {batch}", "hidden outputs", hidden),
                  Panel(f"{count(IMAGES)} images, {depth} hidden layer", "hidden outputs", hidden)]
        for style, series in enumerate(self.series):
            model = self.models[series]
            for color, network in enumerate(networks):
                measured = [(images, seconds) for (of, images), seconds in self.wholes.get(series, {}).items() if of == network]
                panels[0].add(color, style, network.name, measured, lambda x, n=network, m=model: m.epoch(n, round(x)))
            for panel, name, values in ((panels[1], "depth", self.values("depth")), (panels[2], "batch", self.values("batch"))):
                for color, value in enumerate(values):
                    shape = {"depth": depth, "batch": batch, name: value}
                    measured = [(size, seconds) for size in hidden if (seconds := self.epoch(series, Network(size, **shape))) is not None]
                    label = f"{value} hidden layer{'s' * (value > 1)}" if name == "depth" else f"batch {count(value)}"
                    panel.add(color, style, label, measured, lambda x, s=shape, m=model: m.epoch(Network(round(x), **s), IMAGES))
        return drawing(panels, list(map(self.name, self.series)))


def gpu_step(path):
    """Wall seconds of the captured step of 784-128-10 and 128 images, from results of benchmarks/verbs, or None."""
    if not path.exists():
        return None
    for work in json.loads(path.read_text())["workloads"]:
        if work["group"] == "step" and work["sizes"] == [BATCH, training_costs.INPUTS, 128, training_costs.CLASSES]:
            return work["variants"]["locus captured"]["wall"]["median"]
    return None


LEFT, TOP, WIDTH, HEIGHT, GAP = 62, 34, 250, 280, 66
COLORS = ["#0f766e", "#b45309", "#6d28d9", "#be123c", "#1d4ed8"]
DASHES = ["", "6 4", "2 4", "8 3 2 3"]
STYLE = ("text{font:12px sans-serif;fill:#475569}.title{font-weight:600;fill:#1e293b}path{fill:none;stroke-width:1.8}"
         ".axis{stroke:#cbd5e1;stroke-width:1}circle{stroke-width:1.6}")


class Panel:
    """Seconds over a size, both logarithmic: measured points, and the model's curve."""

    def __init__(self, title, label, sizes):
        self.title, self.label, self.sizes, self.lines = title, label, sizes, []

    def add(self, color, style, name, measured, curve):
        low, high = self.sizes[0], self.sizes[-1]
        xs = [low * (high / low) ** (i / 48) for i in range(49)] if high > low else [low]
        self.lines.append((color, style, name, sorted(measured), [(x, curve(x)) for x in xs]))

    def seconds(self):
        return [y for *_, measured, curve in self.lines for _, y in measured + curve if y > 0]


def drawing(panels, names):
    body = "".join(panel_of(panel, LEFT + i * (WIDTH + GAP)) for i, panel in enumerate(panels))
    bottom = TOP + HEIGHT + 62 + 18 * max(len({line[0] for line in panel.lines}) for panel in panels)
    x = LEFT
    for style, name in enumerate(names):
        body += (f'<path stroke="#475569" stroke-dasharray="{DASHES[style % 4]}" d="M{x} {bottom}h34"/>{circle(x + 17, bottom, "#475569", style)}'
                 f'<text x="{x + 42}" y="{bottom + 4}">{name}</text>')
        x += 76 + 7 * len(name)
    body += f'<text x="{x}" y="{bottom + 4}">circles: measured; lines: the model</text>'
    width, height = LEFT + 3 * WIDTH + 2 * GAP + 24, bottom + 18
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
            f'aria-label="Seconds of an epoch over images, hidden outputs, depth and batch"><style>{STYLE}</style>'
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>{body}</svg>\n')


def circle(x, y, color, style):
    return f'<circle cx="{x}" cy="{y}" r="3.4" stroke="{color}" fill="{color if style == 0 else "#ffffff"}"/>'


def axis_seconds(decade):
    return duration(decade).replace("1e+03 s", "1,000 s")


def panel_of(panel, left):
    seconds = panel.seconds()
    low, high = (10.0 ** f(math.log10(limit(seconds))) for f, limit in ((math.floor, min), (math.ceil, max)))

    def at(x, y):
        right = along(x, panel.sizes[0], max(panel.sizes[-1], panel.sizes[0] * 2), WIDTH - 16)
        return round(left + 8 + right, 1), round(TOP + HEIGHT - along(y, low, high, HEIGHT), 1)

    body = f'<text class="title" x="{left}" y="{TOP - 14}">{panel.title}</text>'
    decade = low
    while decade <= high * 1.01:
        y = at(panel.sizes[0], decade)[1]
        body += f'<path class="axis" d="M{left} {y}h{WIDTH}"/><text x="{left - 6}" y="{y + 4}" text-anchor="end">{axis_seconds(decade)}</text>'
        decade *= 10
    for size in panel.sizes:
        x = at(size, low)[0]
        body += f'<text x="{x}" y="{TOP + HEIGHT + 17}" text-anchor="middle">{count(size)}</text>'
    body += f'<text x="{left + WIDTH / 2}" y="{TOP + HEIGHT + 35}" text-anchor="middle">{panel.label}</text>'
    for color, style, _, _, curve in panel.lines:
        points = " ".join(f"{x},{y}" for x, y in (at(*point) for point in curve))
        body += f'<path stroke="{COLORS[color % 5]}" stroke-dasharray="{DASHES[style % 4]}" d="M{points}"/>'
    for color, style, _, measured, _ in panel.lines:
        body += "".join(circle(*at(*point), COLORS[color % 5], style) for point in measured)
    y = TOP + HEIGHT + 58
    for color, name in sorted({(line[0], line[2]) for line in panel.lines}):
        body += f'<path stroke="{COLORS[color % 5]}" d="M{left} {y - 4}h24"/><text x="{left + 32}" y="{y}">{name}</text>'
        y += 18
    return body
