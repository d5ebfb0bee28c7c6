"""Images per second of one process with replicas (DataParallel), and of ranks as threads and as processes (DDP)."""

import json
import os
import pathlib
import shutil
import subprocess

from page_blocks import count, table
from study import BENCHMARKS, NOT_YET, Study, Wrong, machine

WAYS = [("one rank", False, "one rank"), ("DataParallel", False, "`dist::DataParallel`"),
        ("threads", True, "`dist::distributed`, ranks as threads"), ("MPI", True, "`dist::distributed`, ranks as processes, over MPI"),
        ("no reduction", False, "ranks as threads that reduce nothing")]
RANKS = 2


class Ranks(Study):
    name, program, facts, rounds = "ranks", "ddp", (), 3

    def compiled(self, folder):
        """With MPI, if there is a compiler for it."""
        target = pathlib.Path(folder) / self.program
        has_mpi = shutil.which("mpicxx") is not None
        flags = {part: subprocess.run(["mpicxx", f"--showme:{part}"], check=True, capture_output=True, text=True).stdout.split()
                 if has_mpi else [] for part in ("compile", "link")}
        subprocess.run(["g++", "-std=c++20", "-O2", "-pthread", f"-DLOCUS_MPI={int(has_mpi)}", "-DLOCUS_ZLIB=1",
                        f'-DLOCUS_SOURCE_DIR="{BENCHMARKS.parent}"', f"-I{BENCHMARKS.parent / 'include'}", *flags["compile"],
                        str(BENCHMARKS / "ddp.cpp"), str(BENCHMARKS / "support" / "environment.cpp"), "-o", str(target), *flags["link"],
                        "-lz"], check=True)
        return target

    def measured(self, program, options, folder):
        """In each round threads and replicas, then processes, if mpirun starts them and the program was built with MPI."""
        sizes = ["--width", "32", "--steps", "1", "--samples", "1"] if options.quick else ["--steps", "1", "--samples", "60"]
        starts = [[program, "--ranks", RANKS]]
        if shutil.which("mpirun"):
            starts.append(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", RANKS, program])
        rows, environment = {}, {}
        for _ in range(options.rounds or self.rounds):
            for start in starts:
                document = self.run([*start, *sizes], pathlib.Path(folder) / "ddp.json")
                environment = document["environment"]
                for row in document["rows"]:
                    if (row["way"] == "MPI") == (start[0] == "mpirun"):
                        self.add(rows, row)
        return {"environment": {**environment, "rounds": options.rounds or self.rounds}, "rows": list(rows.values())}

    def run(self, command, target):
        variables = os.environ | {"LOCUS_NUM_THREADS": "1"}
        done = subprocess.run([*map(str, command), "--json", str(target)], capture_output=True, text=True, env=variables)
        if done.returncode:
            raise Wrong(done.stderr.strip() or f"{command[0]} ended with status {done.returncode}")
        return json.loads(target.read_text())

    def add(self, rows, answer, settings=""):
        """The row of this way gets the fastest sample of one more round."""
        key = (answer["way"], answer["overlap"])
        row = rows.setdefault(key, {**{name: answer[name] for name in ("way", "ranks", "overlap", "batch", "gradient_bytes")}, "seconds": []})
        row["seconds"].append(answer["least"])

    def blocks(self, host, gpu):
        return {("distributed.md", "ranks"): self.ways(host, gpu)}

    def ways(self, host, gpu):
        rates = [self.rates(document) for document in (host, gpu) if document]
        rows = []
        for way, overlap, name in WAYS:
            key = (way, overlap)
            if key in rates[0]:
                cells = [count(round(rates[0][key])), f"{rates[0][key] / rates[0]['one rank', False]:.2f}"]
                of_gpu = [count(round(rates[1][key])) if key in rates[1] else ""] if gpu else [NOT_YET]
                rows.append([name, str(1 if way == "one rank" else RANKS), *cells, *of_gpu])
        first = host["rows"][0]
        head = ["784-1024-1024-10, 64 images a rank", "ranks or replicas", "images/s", "of one rank", "images/s on GPUs"]
        text = f"Gradients take {first['gradient_bytes'] / 1e6:.1f} MB. Each rank and each replica computes with one thread. "
        return table(head, rows) + "\n" + text + machine(host, self.name)

    def rates(self, document):
        return {(row["way"], row["overlap"]): row["ranks"] * row["batch"] / min(row["seconds"]) for row in document["rows"]}
