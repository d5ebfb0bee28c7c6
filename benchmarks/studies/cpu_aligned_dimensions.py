"""Sizes that are no multiple of a tile: the results of aligned_dimensions.py, of each processor."""

import json
import statistics

import aligned_dimensions
from page_blocks import table
from study import HOST, NOT_YET, Study, Wrong


class CpuAlignedDimensions(Study):
    name = "cpu-aligned-dimensions"

    def compiled(self, folder):
        raise Wrong(f"{self.name} is measured by aligned_dimensions.py --write")

    def measured(self, program, options, folder):
        return self.compiled(folder)

    def host_results(self, results):
        """{folder: document} of all processors."""
        found = {path.parent.name: json.loads(path.read_text()) for path in sorted(results.glob(f"*/{self.name}.json"))}
        if HOST not in found:
            raise Wrong(f"{results / HOST / self.name}.json is missing; measure it first: aligned_dimensions.py --write")
        return found

    def blocks(self, host, gpu):
        return {("watching.md", self.name): self.table(host)}

    def table(self, documents):
        rows = []
        for folder, document in documents.items():
            for kind, ratios in document["ratios"].items():
                tiles = document["tiles"][kind]
                measured = [statistics.median(turns) for turns in ratios.values()]
                modelled = [aligned_dimensions.model_of_padding(int(size), tiles) for size in ratios]
                rows.append([f"{document['processor']} ([{folder}](../benchmarks/results/{folder}/{self.name}.json)), {document['date']}", kind,
                             str(max(tiles)), f"{statistics.median(measured):.3f}", f"{max(measured):.3f}", f"{statistics.median(modelled):.3f}"])
        head = ["square products of 1,000 to 1,056, one thread", "type", "next multiple of", "median of sizes", "worst size", "modelled median"]
        return table(head, [*rows, ["GPU", "", "", *[NOT_YET] * 2, ""]])
