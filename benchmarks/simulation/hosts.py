"""Ranks of one machine that share its cores: an event-driven simulation of their threads.

A stream of the recorded program is a thread of its rank: the rank's own, and the one that makes asynchronous
collectives. Threads that can run share the cores evenly; threads that wait use none. Used to compare the simulation with
measurements on the host."""


class Threads:
    """run(threads) -> seconds. A thread is a list of ("run", seconds), ("set", event), ("wait", event) and ("meet",
    name, count): it goes on when `count` threads have come to the name."""

    def __init__(self, cores, slowdown=1.0):
        self.cores, self.slowdown = cores, slowdown
        self.now, self.events, self.met = 0.0, set(), {}

    def rate(self, running):
        """Of each of `running` threads; two cores that compute slow each other down."""
        return min(1.0, self.cores / running) / (self.slowdown if running > 1 else 1.0)

    def __advance(self, thread):
        """Goes on until the thread runs, waits or ends. Whether anything changed."""
        changed = False
        while thread["at"] < len(thread["entries"]):
            entry = thread["entries"][thread["at"]]
            if entry[0] == "run":
                if entry[1] > 0:
                    thread["left"] = entry[1]
                    thread["at"] += 1
                    return True
            elif entry[0] == "set":
                self.events.add(entry[1])
            elif entry[0] == "wait":
                if entry[1] not in self.events:
                    return changed
            else:
                come = self.met.setdefault(entry[1], set())
                come.add(id(thread))
                if len(come) < entry[2]:
                    return changed
            thread["at"] += 1
            changed = True
        return changed

    def run(self, lists):
        threads = [{"entries": entries, "at": 0, "left": 0.0} for entries in lists]
        while True:
            changed = True
            while changed:
                changed = False
                for thread in threads:
                    if thread["left"] <= 0:
                        changed |= self.__advance(thread)
            running = [thread for thread in threads if thread["left"] > 0]
            if not running:
                stuck = [t["entries"][t["at"]] for t in threads if t["at"] < len(t["entries"])]
                if stuck:
                    raise RuntimeError(f"threads wait for each other, at {stuck[:4]}")
                return self.now
            rate = self.rate(len(running))
            seconds = min(thread["left"] for thread in running) / rate
            self.now += seconds
            for thread in running:
                thread["left"] -= seconds * rate
                if thread["left"] < 1e-12:
                    thread["left"] = 0.0


class Host:
    """A machine of `cores` cores, calibrated by measurements. one: seconds of a step of one rank; slowdown: of ranks that
    compute beside each other; call(bytes, ranks): entries of one rank for an all_reduce, in which "meet" has no name."""

    def __init__(self, cores, one, slowdown, call):
        self.cores, self.one, self.slowdown, self.call = cores, one, slowdown, call

    def threads_of(self, program, rank, ranks, steps):
        """The threads of a rank, by streams. Seconds of launches are shares of `one` by their bytes and operations."""
        costs = [cost_on_host(entry) for entry in program.entries]
        scale = self.one / sum(costs)
        lists = {}
        for step in range(steps):
            for at, (entry, cost) in enumerate(zip(program.entries, costs)):
                of_stream = lists.setdefault(entry[1], [])
                name = (rank, step, entry[2])
                if entry[0] == "launch":
                    of_stream.append(("run", cost * scale))
                elif entry[0] == "record":
                    of_stream.append(("set", name))
                elif entry[0] == "wait":
                    of_stream.append(("wait", name))
                else:
                    for number, part in enumerate(self.call(entry[2], ranks)):
                        of_stream.append(("meet", (step, at, number), ranks) if part[0] == "meet" else part)
            lists[0].append(("set", (rank, step, "end")))
            for stream in lists:
                if stream > 0:
                    lists[stream].append(("wait", (rank, step, "end")))
        lists[0].append(("meet", "end", ranks))
        return list(lists.values())

    def seconds_of_step(self, program, ranks, steps=4):
        lists = [entries for rank in range(ranks) for entries in self.threads_of(program, rank, ranks, steps)]
        return Threads(self.cores, self.slowdown).run(lists) / steps

    def seconds_of_call(self, data, ranks):
        entries = [("meet", number, ranks) if part[0] == "meet" else part
                   for number, part in enumerate(self.call(data, ranks))]
        return Threads(self.cores, self.slowdown).run([list(entries) for _ in range(ranks)])


def cost_on_host(entry):
    """Relative time of a launch on a core: bytes at 10 GB/s, or operations at 100 GFLOP/s. Only ratios matter."""
    return max(entry[2] / 10e9, entry[3] / 100e9) if entry[0] == "launch" else 0.0
