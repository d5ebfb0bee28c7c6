"""Accuracy on MNIST's test images over learning rates, depths, hidden sizes and numbers of images."""

import statistics

from learning_picture import Curve, Panel, drawing
from page_blocks import count, table
from study import Study, chosen, machine
from training_costs import Network

RATES = 1e-4, 1e-3, 1e-2, 3e-2, 1e-1, 3e-1, 5e-1, 1.0
OPTIMIZERS = {"sgd": "SGD", "adam": "Adam"}
DEPTHS, WIDTHS = (0, 1, 2, 3, 4), (32, 256)
SIZES, IMAGES = (16, 128, 512), (1000, 4000, 15000, 60000)
EPOCHS, SEEDS, BATCH, ALL = 5, 3, 128, 60000


class Accuracy(Study):
    name, program, facts, rounds = "training-accuracy", "training_accuracy", ("loss", "test_loss", "accuracy"), 1

    def arguments(self, options, folder):
        return [options.data] if options.data else []

    def requests(self, quick):
        """Each line with each seed."""
        if quick:
            return [({}, [f"2 {kind} 0.01 16 {depth} 400 16 3 0" for kind in OPTIMIZERS for depth in (0, 1)])]
        lines = [f"{kind} {rate:g} 32 1 {ALL}" for kind in OPTIMIZERS for rate in RATES]
        lines += [f"adam 0.001 {width} {depth} {ALL}" for width in WIDTHS for depth in DEPTHS]
        lines += [f"adam 0.001 {width} 1 {images}" for width in SIZES for images in IMAGES]
        return [({}, [f"2 {line} {BATCH} {EPOCHS} {seed}" for line in dict.fromkeys(lines) for seed in range(SEEDS)])]

    def blocks(self, host, gpu):
        return {("training-times.md", "learning rates"): self.rates(host), ("training-times.md", "depth and accuracy"): self.depths(host),
                ("training-times.md", "data and accuracy"): self.data(host) + "\n" + self.conditions(host, gpu)}

    def conditions(self, host, gpu):
        first = host["rows"][0]
        of_gpu = "" if gpu else " On a GPU the accuracy has not been measured yet: no GPU."
        return (f"Mean ± deviation of {SEEDS} seeds after {first['epochs']} epochs, batches of {first['batch']}.{of_gpu} " + machine(host, self.name))

    def rows(self, host, **values):
        found = chosen(host["rows"], **values)
        if not found:
            raise ValueError(f"the results have no rows with {values}; measure again")
        return found

    def cell(self, rows):
        """The accuracy, or how many runs diverged."""
        values = [100 * row["accuracy"] for row in rows if row["accuracy"] is not None]
        if len(values) < len(rows):
            return f"{len(rows) - len(values)} of {len(rows)} diverged"
        return f"{statistics.mean(values):.2f} % ± {statistics.stdev(values) if len(values) > 1 else 0:.2f}"

    def loss(self, rows):
        values = [row["test_loss"] for row in rows]
        return "" if None in values else f"{statistics.mean(values):.3f}"

    def of_rate(self, host, optimizer, rate):
        first = host["rows"][0]
        return self.rows(host, optimizer=optimizer, rate=rate, hidden=32, depth=1, images=first["images"])

    def of_depth(self, host, width, depth):
        return self.rows(host, optimizer="adam", rate=0.001, hidden=width, depth=depth, images=host["rows"][0]["images"])

    def rates(self, host):
        rows = [[f"{rate:g}", *(text for kind in OPTIMIZERS for text in (self.cell(self.of_rate(host, kind, rate)), self.loss(self.of_rate(host, kind, rate))))]
                for rate in RATES]
        head = ["learning rate, 784-32-10", *(text for name in OPTIMIZERS.values() for text in (f"{name}: accuracy", "loss"))]
        return table(head, rows)

    def depths(self, host):
        rows = [[str(depth), *(text for width in WIDTHS for text in (count(Network(width, depth, BATCH).parameters) if depth else count(785 * 10),
                                                                    self.cell(self.of_depth(host, width, depth))))] for depth in DEPTHS]
        head = ["hidden layers, Adam, rate 0.001", *(text for width in WIDTHS for text in (f"{width} outputs each: parameters", "accuracy"))]
        return table(head, rows)

    def data(self, host):
        rows = [[f"784-{width}-10", *(self.cell(self.rows(host, optimizer="adam", rate=0.001, hidden=width, depth=1, images=images)) for images in IMAGES)]
                for width in SIZES]
        return table(["Adam, rate 0.001", *(f"{count(images)} images" for images in IMAGES)], rows)

    def mean(self, rows):
        """In percent; None if a run diverged."""
        values = [row["accuracy"] for row in rows]
        return None if None in values else 100 * statistics.mean(values)

    def pictures(self, host, gpu):
        by_rate = [Curve(name, [(rate, self.mean(self.of_rate(host, kind, rate))) for rate in RATES]) for kind, name in OPTIMIZERS.items()]
        by_depth = [Curve(f"{width} outputs each", [(depth, self.mean(self.of_depth(host, width, depth))) for depth in DEPTHS]) for width in WIDTHS]
        by_data = [Curve(f"784-{width}-10", [(images, self.mean(self.rows(host, optimizer="adam", rate=0.001, hidden=width, depth=1, images=images)))
                                             for images in IMAGES]) for width in SIZES]
        panels = [Panel("784-32-10, by learning rate", "learning rate", by_rate, True, 0),
                  Panel("by depth", "hidden layers", by_depth, False, 90), Panel("by images", "images", by_data, True, 50)]
        return {"training-accuracy.svg": drawing(panels, "Accuracy on MNIST over the learning rate, the hidden layers and the images")}
