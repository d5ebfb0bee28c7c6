"""The simulation of this host beside its measurements."""

import bisect
import dataclasses
import math

import hosts

QUIET = 0.05  # share of the cores that other processes used at most; see measure_host.py
ONE_SHOT = 16 << 10  # algorithm_limits(Links::shared_memory)


class Calibration:
    """Of one way, "threads" or "processes", which sum by messages, by three measurements alone: a step of one rank, a step of two ranks that
    reduce nothing, and all_reduce of two ranks. The cost of a byte depends on the bytes that all ranks touch, which are in
    a cache or not; between measured sizes it is interpolated."""

    def __init__(self, way, kept, recorder, cores=2):
        self.way, self.recorder, self.cores = way, recorder, cores
        steps = [run["rows"] for key, run in kept.items() if key.startswith(f"ddp {way} 2 ")]
        self.one = min(row["least"] for rows in steps for row in rows if row["way"] == "one rank")
        apart = min(row["least"] for rows in steps for row in rows if row["way"] == "no reduction")
        self.slowdown = max(1.0, apart / self.one)
        calls = {row["bytes"]: row["least"] for row in kept[f"all_reduce {way} 2"]["rows"] if is_locus(row["way"], way)}
        self.latency = calls[min(calls)] / self.meetings(min(calls), 2)
        self.costs = sorted((math.log(2 * size), math.log(max(seconds - self.meetings(size, 2) * self.latency, 1e-9) / self.moved(size, 2)))
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
    """The Case of each measurement."""
    result = []
    for way in ("threads", "processes"):
        quiet = {key: run for key, run in kept.items() if is_quiet(run)}
        is_calibrated = f"all_reduce {way} 2" in quiet and any(key.startswith(f"ddp {way} 2 ") for key in quiet)
        host = Calibration(way, quiet, recorder).host() if is_calibrated else None
        for key, run in kept.items():
            what, of_way, ranks, *bucket = key.split()
            if of_way == way:
                result += cases_of(what, way, int(ranks), [int(size) for size in bucket], run, host if is_quiet(run) else None, recorder)
    return result


def cases_of(what, way, ranks, bucket, run, host, recorder):
    for row in run["rows"]:
        if what == "all_reduce" and ranks > 2 and is_locus(row["way"], way) and row["bytes"] >= 1 << 16:
            yield Case(f"all_reduce, {size_text(row['bytes'])}", way, ranks, row["least"],
                       host and host.seconds_of_call(row["bytes"], ranks))
        if what == "ddp" and row["way"] in ("threads", "MPI"):
            program = recorder.step("perceptron", batch=64, bucket_bytes=bucket[0], first_bucket_bytes=FIRST[bucket[0]],
                                    overlap=row["overlap"])
            yield Case(f"step, buckets of {size_text(bucket[0])}" + (", overlap" if row["overlap"] else ""), way, ranks,
                       row["least"], host and host.seconds_of_step(program, ranks))


FIRST = {25 << 20: 1 << 20, 1 << 20: 1 << 20, 1 << 18: 1 << 16, 1 << 30: 1 << 30}


def size_text(count):
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count / unit:g} {name}"
    return f"{count} bytes"
