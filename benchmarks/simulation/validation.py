"""The simulation of this host beside its measurements."""

import bisect
import dataclasses
import math

import hosts

QUIET = 0.05  # share of the cores that other processes used at most; see measure_host.py
ONE_SHOT = 16 << 10  # algorithm_limits(Links::shared_memory)


class Calibration:
    """Of so many ranks of one way, "threads" or "processes", which sum by messages, by three measurements alone: a step of
    one rank, a step of all ranks that reduce nothing, and all_reduce. The cost of a byte depends on the bytes that all
    ranks touch, which are in a cache or not; between measured sizes it is interpolated."""

    def __init__(self, way, ranks, steps, calls, recorder, cores=2):
        """steps, calls: the rows of ddp, in turns with the steps that are compared, and of all_reduce."""
        self.way, self.recorder, self.cores = way, recorder, cores
        self.one, apart = (next(row["least"] for row in steps if row["way"] == name) for name in ("one rank", "no reduction"))
        share = max(1.0, ranks / cores)  # ranks of a core
        self.slowdown = max(1.0, apart / self.one / share)
        calls = {row["bytes"]: row["least"] / share for row in calls if is_locus(row["way"], way)}
        self.latency = calls[min(calls)] / self.meetings(min(calls), ranks)
        self.costs = sorted((math.log(ranks * size), math.log(max(seconds - self.meetings(size, ranks) * self.latency, 1e-9)
                                                              / self.moved(size, ranks)))
                            for size, seconds in calls.items() if size > min(calls))

    def steps(self, data, ranks):
        """Steps of a rank: ("meet",), ("bytes", number)."""
        if self.way == "threads":
            if data <= ONE_SHOT:
                return [("bytes", data), ("meet",), ("bytes", ranks * data)]
            return [("meet",), ("bytes", 2 * data), ("meet",)]
        result, received, counted, begun = [], 0, 0, []
        for what, _, number in self.recorder.messages("all_reduce", data, ranks, ranks):
            if what in ("send", "receive"):
                begun.append(number if what == "receive" else 0)
            elif what == "work":
                result.append(("bytes", number))
            else:
                received, counted = sum(begun[counted:number]), number
                result += [("meet",), ("bytes", received)]
        return result

    def meetings(self, data, ranks):
        return self.steps(data, ranks).count(("meet",))

    def moved(self, data, ranks):
        return sum(step[1] for step in self.steps(data, ranks) if step[0] == "bytes")

    def of_byte(self, touched):
        """Seconds of a byte while the ranks touch `touched` bytes."""
        at = math.log(touched)
        sizes = [size for size, _ in self.costs]
        i = min(max(bisect.bisect_left(sizes, at), 1), len(sizes) - 1)
        (x0, y0), (x1, y1) = self.costs[i - 1], self.costs[i]
        share = min(max((at - x0) / (x1 - x0), 0.0), 1.0)
        return math.exp(y0 + share * (y1 - y0))

    def call(self, data, ranks):
        """Entries of hosts.Threads. Ranks that share memory bandwidth slow each other down in the measured costs, too."""
        of_byte = self.of_byte(ranks * max(data, 1)) / self.slowdown
        result = []
        for step in self.steps(data, ranks):
            if step[0] == "meet":
                result += [("run", self.latency / self.slowdown), ("meet",)]
            else:
                result.append(("run", step[1] * of_byte))
        return result

    def host(self):
        return hosts.Host(self.cores, self.one, self.slowdown, self.call)


def is_locus(name, way):
    return name == ("locus, threads" if way == "threads" else "locus, messages")


@dataclasses.dataclass(frozen=True)
class Case:
    """A measured case that is no calibration; simulated: None where other processes disturbed it or its calibration."""
    what: str
    way: str
    ranks: int
    measured: float
    simulated: float

    @property
    def error(self):
        return self.simulated / self.measured - 1


def is_quiet(run):
    """Also where the share of other processes was not observed."""
    return run["others"] is None or run["others"] < QUIET


def compared(kept, recorder):
    """The Case of each measured step that reduces gradients."""
    for key, run in kept.items():
        what, way, ranks, *bucket = key.split()
        if what != "ddp":
            continue
        calls = kept.get(f"all_reduce {way} {ranks}")
        host = None
        if is_quiet(run) and calls and is_quiet(calls):
            host = Calibration(way, int(ranks), run["rows"], calls["rows"], recorder).host()
        yield from cases_of(way, int(ranks), int(bucket[0]), run, host, recorder)


def cases_of(way, ranks, bucket, run, host, recorder):
    for row in run["rows"]:
        if row["way"] in ("threads", "MPI"):
            program = recorder.step("perceptron", batch=64, bucket_bytes=bucket, first_bucket_bytes=FIRST[bucket],
                                    overlap=row["overlap"])
            yield Case(f"step, buckets of {size_text(bucket)}" + (", overlap" if row["overlap"] else ""), way, ranks,
                       row["least"], host and host.seconds_of_step(program, ranks))


FIRST = {25 << 20: 1 << 20, 1 << 20: 1 << 20, 1 << 18: 1 << 16, 1 << 30: 1 << 30}


def size_text(count):
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count / unit:g} {name}"
    return f"{count} bytes"
