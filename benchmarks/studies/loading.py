"""Images per second of a loader, by its number of workers."""

from page_blocks import count, table
from study import NOT_YET, Study, machine, the_row

WORKERS = 0, 1, 2, 4, 8
IMAGES, BATCH = 128, 16


class Loading(Study):
    name, program, facts, rounds = "loader", "loader", ("processor_seconds",), 8
    libraries = "-ljpeg", "-lpng", "-lz"

    def arguments(self, options, folder):
        return [options.images or f"{folder}/images", 8 if options.quick else IMAGES]

    def requests(self, quick):
        return [({}, [f"2 {workers} {4 if quick else BATCH}" for workers in WORKERS])]

    def blocks(self, host, gpu):
        return {("data.md", "workers"): self.workers(host, gpu)}

    def workers(self, host, gpu):
        rows = [[str(workers), *self.cells(host, workers), self.cells(gpu, workers)[0] if gpu else NOT_YET] for workers in WORKERS]
        first = host["rows"][0]
        head = ["`.workers`", "images/s", "processor time of an image", "cores in use", "images/s to a GPU"]
        size = f"{count(first['images'])} JPEGs of 500 x 375, {first['bytes_of_image'] / 1e3:.0f} KB each, batches of {first['batch']}. "
        return table(head, rows) + "\n" + size + self.limit(host) + machine(host, self.name)

    def limit(self, host):
        """The rate of all cores by the processor time of an image, and whether other programs kept the rows from it."""
        cores = host["environment"]["cores"]
        each = min(row["processor_seconds"] / row["images"] for row in host["rows"])
        most = max(row["processor_seconds"] / min(row["seconds"]) for row in host["rows"])
        kept = f"Other programs left {most:.1f} cores at most, so the rates do not show the gain of a second worker. " if most < 0.9 * cores else ""
        return f"By the processor time of an image, {cores} idle cores prepare at most {cores / each:,.0f} images/s. {kept}"

    def cells(self, document, workers):
        row = the_row(document["rows"], workers=workers)
        seconds = min(row["seconds"])
        return [count(round(row["images"] / seconds)), f"{1e3 * row['processor_seconds'] / row['images']:.1f} ms",
                f"{row['processor_seconds'] / seconds:.1f}"]
