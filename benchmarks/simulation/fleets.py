"""Runs the recorded program of a training step on all ranks of a cluster.

Entries are queued in one order on all ranks, streams are queues, and a collective begins when its last rank has come.
So the time of each event is a maximum over earlier ones, and one pass over the program in its order computes the times
of all. Ranks that are alike are one rank; with stragglers, each has times of its own."""

import random


class Stragglers:
    """Speeds of ranks: the time of a computation is multiplied by 1 + |normal| of deviation `steady` for each rank, and
    by as much of deviation `passing` for each rank and step."""

    def __init__(self, steady, passing, seed=1):
        self.steady, self.passing, self.seed = steady, passing, seed

    def of_steps(self, ranks, steps):
        drawn = random.Random(self.seed)
        always = [1 + abs(drawn.gauss(0, self.steady)) for _ in range(ranks)]
        return [[rank * (1 + abs(drawn.gauss(0, self.passing))) for rank in always] for _ in range(steps)]


def segments(program, gpu):
    """The entries with neighbouring launches of a stream in one: ["launch", stream, seconds, number of launches]."""
    result = []
    for entry in program.entries:
        if entry[0] != "launch":
            result.append(entry)
            continue
        seconds = gpu.seconds(entry[2], entry[3])
        if result and result[-1][0] == "launch" and result[-1][1] == entry[1]:
            result[-1][2] += seconds
            result[-1][3] += 1
        else:
            result.append(["launch", entry[1], seconds, 1])
    return result


def latest(a, b):
    """The later of the times of each rank. Times that all ranks have in common are one number in a list."""
    if len(a) == 1 == len(b):
        return [max(a[0], b[0])]
    if len(a) < len(b):
        a, b = b, a
    return [max(a_r, b[0]) for a_r in a] if len(b) == 1 else list(map(max, a, b))


class Fleet:
    """Times of all ranks. The host queues an entry, and streams run it."""

    def __init__(self, gpu, way, ranks):
        self.gpu, self.way, self.ranks = gpu, way, ranks
        self.host, self.streams, self.events = [0.0], {}, {}

    def stream(self, number):
        return self.streams.get(number, [0.0])

    def launch(self, number, seconds, count, speeds):
        before, self.host = self.host, [host + count * self.gpu.queue for host in self.host]
        begin = latest(self.stream(number), [host + self.gpu.queue for host in before])
        if len(begin) < len(speeds):
            begin = begin * len(speeds)
        self.streams[number] = latest([at + seconds * speed for at, speed in zip(begin, speeds)], self.host)

    def collective(self, kind, number, data, ranks, stride):
        """It begins when the last rank has come, also to a collective of a group: groups are not told apart."""
        self.host = [host + self.gpu.queue for host in self.host]
        seconds = self.way.seconds(kind, data, ranks, stride)
        self.streams[number] = [max(max(self.stream(number)), max(self.host)) + seconds]

    def step(self, entries, speeds, recorded):
        """speeds: for each rank, the factor of its times of computing; one for all if they are alike. recorded: the ranks
        of the recording, which stand for all."""
        for entry in entries:
            what = entry[0]
            if what == "launch":
                self.launch(entry[1], entry[2], entry[3], speeds)
            elif what == "record":
                self.events[entry[2]] = latest(self.stream(entry[1]), self.host)
            elif what == "wait":
                self.streams[entry[1]] = latest(self.stream(entry[1]), self.events.get(entry[2], [0.0]))
            elif what == "host waits":
                self.host = latest(self.host, self.events.get(entry[1], [0.0]))
            elif what == "device waits":
                for stream in self.streams.values():
                    self.host = latest(self.host, stream)
            else:
                self.collective(what, entry[1], entry[2], self.ranks if entry[3] == recorded else entry[3], entry[4])

    def end(self):
        return max([max(self.host)] + [max(stream) for stream in self.streams.values()])


def seconds_of_step(program, gpu, way, ranks, stragglers=None, steps=3):
    """Seconds of a step among `ranks` ranks: the mean of `steps` after the first."""
    entries = segments(program, gpu)
    speeds = stragglers.of_steps(ranks, steps + 1) if stragglers else [[1.0]] * (steps + 1)
    fleet = Fleet(gpu, way, ranks)
    fleet.step(entries, speeds[0], program.ranks)
    first = fleet.end()
    for of_ranks in speeds[1:]:
        fleet.step(entries, of_ranks, program.ranks)
    return (fleet.end() - first) / steps


class Alone:
    """No other ranks: collectives take no time."""
    name = "one rank"

    def seconds(self, kind, data, ranks, stride=1):
        return 0.0


def efficiency(program, gpu, way, ranks, **how):
    """Samples per second of `ranks` ranks over `ranks` times those of one."""
    return seconds_of_step(program, gpu, Alone(), 1) / seconds_of_step(program, gpu, way, ranks, **how)
