"""Programs of one rank, as record_steps writes them, and messages of collectives, as record_messages does."""

import dataclasses
import functools
import json
import pathlib
import subprocess


@dataclasses.dataclass(frozen=True)
class Program:
    """A training step of one of `ranks` ranks. parameter_bytes: of the model's type; kept_bytes: of all tensors between two steps;
    peak_bytes: their maximum within a step. entries: [name, numbers...], see recording.hpp."""
    name: str
    ranks: int
    parameters: int
    parameter_bytes: int
    kept_bytes: int
    peak_bytes: int
    entries: list

    @property
    def flops(self):
        return sum(entry[3] for entry in self.entries if entry[0] == "launch")

    @property
    def buckets(self):
        """Bytes of the sums of gradients, in their order. The sum of flags comes after them."""
        return [entry[2] for entry in self.entries if entry[0] == "all_reduce" and entry[2] > 4096]


class Recorder:
    """Runs the two programs of a folder."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def __run(self, *command):
        done = subprocess.run([self.folder / command[0], *command[1:]], stdout=subprocess.PIPE, check=True, text=True)
        return json.loads(done.stdout)

    @functools.lru_cache(maxsize=None)
    def step(self, name, **options):
        """options: of record_steps, as bucket_bytes=1 << 20."""
        words = [str(word) for option, value in sorted(options.items()) for word in ("--" + option.replace("_", "-"), int(value))]
        recorded = self.__run("record_steps", name, *words)
        entries = recorded.pop("program")
        return Program(entries=entries, **recorded)

    @functools.lru_cache(maxsize=None)
    def messages(self, collective, data, ranks, of_machine, rank=0):
        """Steps of a rank: ["send" or "receive", peer, bytes], ["wait", -1, mark], ["work", -1, bytes]."""
        words = [str(word) for word in (int(data), ranks, min(of_machine, ranks), rank)]
        return self.__run("record_messages", collective, *words)
