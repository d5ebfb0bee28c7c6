"""A study: requests that a program of benchmarks/ answers by lines of JSON, and blocks of pages made from the answers."""

import json
import os
import pathlib
import re
import subprocess
import sys

BENCHMARKS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(BENCHMARKS / "support"), str(BENCHMARKS.parent / "scripts" / "lib")]
import json_text  # noqa: E402
import this_processor  # noqa: E402
import whole_file  # noqa: E402

RESULTS = BENCHMARKS / "results"
HOST = "amd-zen-5"  # whose results the pages show
NOT_YET = "not measured yet: no GPU"


class Wrong(Exception):
    """A message for the caller."""


def fastest(seconds):
    return min(seconds) if isinstance(seconds, list) else seconds


class Study:
    """name: of the results, results/PROCESSOR/NAME.json. program: of benchmarks/. facts: members of an answer that are
    measured beside `seconds`; those of the fastest round count."""

    name, program, facts, libraries, rounds = "", "", (), ("-lz",), 3

    def requests(self, quick):
        """[(environment variables, lines)]"""
        raise NotImplementedError

    def blocks(self, host, gpu):
        """{(page, name of the block): text}. gpu: None if no GPU has been measured"""
        raise NotImplementedError

    def pictures(self, host, gpu):
        """{file of docs/: text}"""
        return {}

    def arguments(self, options, folder):
        """Of the program. folder: a temporary folder"""
        return []

    # Measuring.

    def compiled(self, folder):
        """Compiles the program for this processor, without CUDA."""
        target = pathlib.Path(folder) / self.program
        sources = [BENCHMARKS / f"{self.program}.cpp", BENCHMARKS / "support" / "environment.cpp"]
        found = [f"-DLOCUS_{library.upper()}={int(f'-l{flag}' in self.libraries)}"
                 for library, flag in (("zlib", "z"), ("jpeg", "jpeg"), ("png", "png"))]
        subprocess.run(["g++", "-std=c++20", "-O2", "-pthread", f'-DLOCUS_SOURCE_DIR="{BENCHMARKS.parent}"', *found,
                        f"-I{BENCHMARKS.parent / 'include'}", *map(str, sources), "-o", str(target), *self.libraries], check=True)
        return target

    def measured(self, program, options, folder):
        """The document of results."""
        environment, rows = None, {}
        for number in range(options.rounds or self.rounds):
            print(f"{self.name}: round {number + 1} of {options.rounds or self.rounds}", file=sys.stderr, flush=True)
            for variables, lines in self.requests(options.quick):
                command = [program, *self.arguments(options, folder)]
                environment, *answers = answers_of(command, lines, variables)
                for answer in answers:
                    self.add(rows, answer, " ".join(f"{name}={value}" for name, value in variables.items()))
        return {"environment": {**environment, "rounds": options.rounds or self.rounds}, "rows": list(rows.values())}

    def add(self, rows, answer, settings):
        """The row of this request gets the fastest seconds of one more round."""
        key = {name: value for name, value in answer.items() if name != "seconds" and name not in self.facts}
        row = rows.setdefault((settings, *key.values()), {**key, **({"settings": settings} if settings else {}), "seconds": []})
        row["seconds"].append(fastest(answer["seconds"]))
        if row["seconds"][-1] == min(row["seconds"]):
            row.update({name: answer[name] for name in self.facts})

    # Results.

    def folder_of(self, document):
        """Of a GPU, its name: "NVIDIA H200" becomes nvidia-h200."""
        gpu = document["environment"].get("gpu")
        return re.sub(r"[^a-z0-9]+", "-", gpu.lower()).strip("-") if gpu else this_processor.kind()

    def store(self, document, results):
        folder = results / self.folder_of(document)
        folder.mkdir(parents=True, exist_ok=True)
        whole_file.write(folder / f"{self.name}.json", json_text.text(document) + "\n")

    def host_results(self, results):
        path = results / HOST / f"{self.name}.json"
        if not path.exists():
            raise Wrong(f"{path} is missing; measure it first: measure_pages.py {self.name} --measure")
        return json.loads(path.read_text())

    def gpu_results(self, results):
        """The newest, or None."""
        found = [json.loads(path.read_text()) for path in results.glob(f"nvidia-*/{self.name}.json")]
        return max(found, key=lambda document: document["environment"]["date"], default=None)


def answers_of(command, lines, variables):
    """[the environment, an answer for each line]. raises Wrong"""
    try:
        done = subprocess.run(list(map(str, command)), input="\n".join(lines) + "\n", stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, env=os.environ | variables)
    except OSError as error:
        raise Wrong(f"{command[0]} cannot be run: {error.strerror}") from None
    if done.returncode:
        raise Wrong(done.stderr.strip() or f"{command[0]} ended with status {done.returncode}")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if len(answers) != 1 + len(lines):
        raise Wrong(f"{command[0]} answered {max(0, len(answers) - 1)} of {len(lines)} requests")
    return answers


def chosen(rows, **values):
    """The rows with these values; a missing setting is an empty one."""
    return [row for row in rows if all(row.get(name, "") == value for name, value in values.items())]


def the_row(rows, **values):
    """raises Wrong unless there is one"""
    found = chosen(rows, **values)
    if len(found) != 1:
        raise Wrong(f"the results have {len(found)} rows with {values}; expected one: measure again")
    return found[0]


def machine(document, name, folder=HOST):
    """The sentences under a table. name: of the study"""
    e = document["environment"]
    gpu = f"{e['gpu']}, CUDA {e['cuda']}; " if e.get("gpu") else ""
    rounds = f" The fastest of {e['rounds']} rounds counts." if e.get("rounds", 1) > 1 else ""
    return (f"{gpu}{e['cpu']}, {e['cores']} cores ([{folder}](../benchmarks/results/{folder}/{name}.json)); {e['compiler']}; "
            f"{e['date'][:10]}{', while other programs ran' if e['shared'] else ''}.{rounds}\n")
