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
        """Whether other programs kept the program from using all cores."""
        cores = host["environment"]["cores"]
        most = max(row["processor_seconds"] / min(row["seconds"]) for row in host["rows"])
        return f"Other programs left {most:.1f} cores at most, so the rates do not show the gain of a second worker. " if most < 0.9 * cores else ""

    def cells(self, document, workers):
        row = the_row(document["rows"], workers=workers)
        seconds = min(row["seconds"])
        return [count(round(row["images"] / seconds)), f"{1e3 * row['processor_seconds'] / row['images']:.1f} ms",
                f"{row['processor_seconds'] / seconds:.1f}"]
