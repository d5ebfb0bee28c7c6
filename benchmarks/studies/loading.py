"""Images per second of a loader, by its number of workers."""

from page_blocks import count, table
from study import NOT_YET, Study, chosen, machine

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
        rates = [self.rates(document) if document else {} for document in (host, gpu)]
        one = rates[0][1]
        rows = [[str(workers), count(round(rates[0][workers])), f"{rates[0][workers] / one:.2f}",
                 count(round(rates[1][workers])) if gpu else NOT_YET] for workers in WORKERS]
        first = host["rows"][0]
        each = min(row["processor_seconds"] for row in host["rows"]) / first["images"]
        head = ["`.workers`", "images/s", "of one worker", "images/s to a GPU"]
        size = f"{count(first['images'])} JPEGs of 500 x 375, {first['bytes_of_image'] / 1e3:.0f} KB each, batches of {first['batch']}; an image takes {1e3 * each:.1f} ms of processor time. "
        return table(head, rows) + "\n" + size + machine(host, self.name)

    def rates(self, document):
        return {row["workers"]: row["images"] / min(row["seconds"]) for row in chosen(document["rows"])}
