"""Alternates measurements between our program and a peer: both run on the same machine, never at the same time. Each
program measures the workload that a line of its input names, and keeps it in memory until asked for another one."""

import json
import math
import queue
import statistics
import subprocess
import threading
import time

import processes
from processes import OutOfTime

MEASURES = ("wall", "gpu", "host")


class Ended(RuntimeError):
    """A program that no longer answers."""


class Server:
    """A program whose first line of output describes it, and which then answers each line of input with a line of JSON.
    By default its threads sleep between requests. Requests wait until the deadline, but at most `patience` seconds."""

    def __init__(self, command, name, patience=60, environment=None, deadline=math.inf):
        self.command, self.name, self.patience, self.deadline = command, name, patience, deadline
        self.environment = {"OMP_WAIT_POLICY": "passive"} if environment is None else environment
        self.start()

    def start(self):
        if self.deadline - time.monotonic() < processes.SHORTEST:
            raise OutOfTime
        self.process = processes.start(self.command, self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True, errors="replace")
        self.lines, self.complaints = queue.Queue(), []
        self.readers = [threading.Thread(target=self.read_answers, args=(self.process.stdout, self.lines), daemon=True),
                        threading.Thread(target=self.read_complaints, args=(self.process.stderr, self.complaints), daemon=True)]
        for reader in self.readers:
            reader.start()
        self.hello = self.answer(self.patience)

    @staticmethod
    def read_answers(stream, lines):
        for line in stream:
            lines.put(line)
        lines.put(None)

    @staticmethod
    def read_complaints(stream, complaints):
        for line in stream:
            complaints.append(line.rstrip())
            del complaints[:-20]

    def answer(self, patience):
        left = self.deadline - time.monotonic()
        try:
            line = self.lines.get(timeout=max(0.1, min(patience, left)))
        except queue.Empty:
            if left < patience:
                self.stop()
                raise OutOfTime from None
            raise self.ended(f"did not answer within {patience:.0f} s") from None
        if line is None:
            raise self.ended("ended early")
        try:
            return json.loads(line)
        except ValueError:
            raise self.ended(f"answered {line[:80]!r}, which is no JSON") from None

    def ended(self, why):
        self.stop()
        said = f": {self.complaints[-1]}" if self.complaints else ""
        return Ended(f"{self.name} {why}{said}")

    def ask(self, line, patience):
        """The answer; restarts a program that ended. throws Ended, OutOfTime"""
        if self.deadline - time.monotonic() < processes.SHORTEST:
            raise OutOfTime
        if self.process.poll() is not None:
            self.start()
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except OSError:
            raise self.ended("ended early") from None
        return self.answer(patience)

    def stop(self):
        processes.end(self.process)
        for reader in self.readers:
            reader.join(timeout=5)


def spread(samples):
    """Summary statistics of the samples."""
    if not samples:
        return None
    cuts = statistics.quantiles(samples, n=10, method="inclusive") if len(samples) > 1 else [samples[0]] * 9
    return {"median": statistics.median(samples), "p10": cuts[0], "p90": cuts[-1], "samples": len(samples)}


def merge(answers):
    """Joins the variants of several answers: all samples, and the first problem."""
    merged = {}
    for answer in answers:
        for name, variant in answer["variants"].items():
            known = merged.setdefault(name, {**variant, **{measure: [] for measure in MEASURES}})
            known["problem"] = known["problem"] or variant["problem"]
            for measure in MEASURES:
                known[measure] = known[measure] + variant.get(measure, [])
    for variant in merged.values():
        for measure in MEASURES:
            samples = [] if variant["problem"] else variant[measure]
            variant.pop(measure)
            if samples:
                variant[measure] = spread(samples)
    return merged


def in_order(workloads):
    """Interleaves the groups, so that a run that is out of time has measured an equal share of each."""
    sizes, seen = {}, {}
    for work in workloads:
        sizes[work["group"]] = sizes.get(work["group"], 0) + 1
    shares = []
    for work in workloads:
        seen[work["group"]] = seen.get(work["group"], 0) + 1
        shares.append((seen[work["group"]] / sizes[work["group"]], work))
    return [work for _, work in sorted(shares, key=lambda pair: pair[0])]


def take_turns(servers, work, rounds):
    """The workload with the variants of all servers. throws OutOfTime"""
    answers = []
    problems = {}
    for _ in range(rounds):
        for server, line in ((servers[0], work["name"]), *((peer, json.dumps(work)) for peer in servers[1:])):
            if server.name in problems:
                continue
            try:
                answer = server.ask(line, server.patience)
                answers.append(answer)
                if answer.get("problem"):
                    problems[server.name] = answer["problem"]
            except Ended as error:
                problems[server.name] = str(error)
    return {**work, "variants": merge(answers), "problems": list(problems.values())}


def measure(ours, peer, *, rounds, deadline, environment=None, progress=lambda text: None, measured=lambda report: None):
    """Measures every workload that `ours` lists, in turns with `peer`, until the deadline. Both are commands;
    `environment` is for `ours`. The report names the workloads left out, and why there is no peer. `measured(report)`
    is called after each workload. throws Ended, OutOfTime: before `ours` has listed its workloads"""
    servers = [Server(ours, "verbs", environment={"OMP_WAIT_POLICY": "passive", **(environment or {})}, deadline=deadline)]
    report = {"environment": servers[0].hello["environment"], "workloads": [], "left_out": []}
    try:
        try:
            other = Server(peer, "torch_gpu.py", patience=240, deadline=deadline)  # max-autotune takes minutes
            report["peer"] = other.hello
            if "unavailable" in other.hello:
                other.stop()
            else:
                servers.append(other)
        except (Ended, OSError, OutOfTime) as error:
            report["peer"] = {"unavailable": str(error)}
        for work in in_order(servers[0].hello["workloads"]):
            progress(work["name"])
            try:
                report["workloads"].append(take_turns(servers, work, rounds))
                measured(report)
            except OutOfTime:
                report["left_out"].append(work["name"])
    finally:
        for server in servers:
            server.stop()
    order = {work["name"]: at for at, work in enumerate(servers[0].hello["workloads"])}
    report["workloads"].sort(key=lambda work: order[work["name"]])
    return report


def torch_command(root, python, device, dry_run, compiles=True):
    script = root / "benchmarks" / "peers" / "torch_gpu.py"
    return [python, script, "--device", device, *(["--dry-run"] if dry_run else ["--turns", "5"]),
            *([] if compiles else ["--no-compile"])]
