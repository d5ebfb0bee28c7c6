#!/usr/bin/env python3
"""Checks a trace of LOCUS_TRACE=json by Chrome's Trace Event Format, and prints what it has.

usage: trace_events.py [--cut] [--awaited=PHASE,PHASE] FILE

--cut is for the file of a killed process, which may lack its end. --awaited names phases that wait for the GPU: work
that is queued in them has an event, which ends before the phase. Faults are printed, and the exit status is 1. Without
faults, a line for each category counts its events, and a line for each track names it:

    launch: 45
    track of locus: python3
"""

import collections
import json
import sys

NUMBER = (int, float)
CLOCK_ERROR = 1_000_000  # of a GPU's clock by the host's, in ns: GpuClock::longest_try
COMPLETE, COUNTER, METADATA = "X", "C", "M"
MEMBERS = {  # phase: the members that it must have, beside name, ph and pid
    COMPLETE: {"cat": str, "tid": int, "ts": NUMBER, "dur": NUMBER},
    COUNTER: {"cat": str, "ts": NUMBER, "args": dict},
    METADATA: {"tid": int, "args": dict},
}
ARGUMENT = {"process_name": ("name", str), "thread_name": ("name", str), "process_labels": ("labels", str),
            "process_sort_index": ("sort_index", int), "thread_sort_index": ("sort_index", int)}
# Categories of Locus: the arguments of their events, and which of these every event has.
ARGUMENTS = {
    "phase": ({}, ()),
    "launch": ({"verb": str, "device": str, "extents": str, "bytes": int, "flops": int, "grid": str}, ("verb", "device")),
    "gpu": ({"verb": str, "device": str, "extents": str, "bytes": int, "flops": int, "grid": str}, ("device",)),
    "copy": ({"device": str, "bytes": int}, ("device", "bytes")),
    "communication": ({"engine": str, "type": str, "bytes": int, "op": str, "rank": int}, ("engine", "type", "bytes")),
    "memory": ({"allocated bytes": int}, ("allocated bytes",)),
}


def events_of(text, cut):
    """The events of a file, without the event in which a killed process left it; throws ValueError."""
    if not cut:
        return json.loads(text)
    lines = text.rstrip().removesuffix("]").rstrip().removesuffix(",").split("\n")
    try:
        return json.loads("\n".join(lines) + "]")
    except ValueError:
        return json.loads("\n".join(lines[:-1]).rstrip().removesuffix(",") + "]")


def is_of(value, kind):
    return isinstance(value, kind) and not isinstance(value, bool)


def fault_of(event):
    """The first fault of an event by itself, or None."""
    if not isinstance(event, dict):
        return "is no object"
    phase = event.get("ph")
    if phase not in MEMBERS:
        return f"has the phase {phase!r}"
    for member, kind in {"name": str, "pid": int, **MEMBERS[phase]}.items():
        if not is_of(event.get(member), kind):
            return f"has {member} {event.get(member)!r}"
    if not event["name"] or not event["name"].isascii() or not event["name"].isprintable():
        return "has a name that some readers refuse"
    if any(not 0 <= event.get(member, 0) < 2**32 for member in ("pid", "tid")):
        return "has an id beyond 32 bits"
    if any(event.get(member, 0) < 0 for member in ("ts", "dur")):
        return "has a negative time"
    return fault_of_metadata(event) if phase == METADATA else fault_of_arguments(event)


def fault_of_metadata(event):
    if event["name"] not in ARGUMENT:
        return "is metadata of an unknown kind"
    name, kind = ARGUMENT[event["name"]]
    return None if is_of(event["args"].get(name), kind) else f"has {name} {event['args'].get(name)!r}"


def fault_of_arguments(event):
    if event["cat"] not in ARGUMENTS:
        return f"has the category {event['cat']!r}"
    kinds, needed = ARGUMENTS[event["cat"]]
    given = event.get("args", {})
    for name in needed:
        if name not in given:
            return f"lacks the argument {name}"
    for name, value in given.items():
        if not is_of(value, kinds.get(name, ())):
            return f"has {name} {value!r}"
        if is_of(value, int) and value < 0:
            return f"has a negative {name}"
    return None


def nanoseconds(microseconds):
    return round(1000 * microseconds)


def faults_of_track(events):
    """Complete events of a thread nest: each lies within the event around it, or after it."""
    around = []
    for event in sorted(events, key=lambda e: (nanoseconds(e["ts"]), -nanoseconds(e["dur"]))):
        begin = nanoseconds(event["ts"])
        end = begin + nanoseconds(event["dur"])
        while around and around[-1][1] <= begin:
            around.pop()
        if around and around[-1][1] < end:
            yield f"{event['name']!r} begins within {around[-1][0]!r} and ends {end - around[-1][1]} ns after it"
        around.append((event["name"], end))


def names(events, kind):
    """{process, or (process, thread): the name that metadata give it}"""
    key = (lambda e: e["pid"]) if kind == "process_name" else (lambda e: (e["pid"], e["tid"]))
    return {key(e): e["args"]["name"] for e in events if e["ph"] == METADATA and e["name"] == kind}


def faults_of(events):
    if not isinstance(events, list):
        return ["the file is no array of events"]
    faults = [f"event {i}, {event!r}: {fault}" for i, event in enumerate(events) if (fault := fault_of(event))]
    if faults:
        return faults
    processes, threads = names(events, "process_name"), names(events, "thread_name")
    tracks = collections.defaultdict(list)
    for event in events:
        if event["ph"] == COMPLETE:
            tracks[event["pid"], event["tid"]].append(event)
    for track, of_track in tracks.items():
        faults += faults_of_track(of_track)
        if track[0] not in processes or track not in threads:
            faults.append(f"the track {track} has no name, or its process has none")
        on_gpu = threads.get(track, "").startswith("cuda:")
        faults += [f"{e['name']!r} is of category {e['cat']} on the track {threads.get(track)!r}" for e in of_track
                   if (e["cat"] == "gpu") != on_gpu]
    return faults + list(faults_of_gpus(events))


def calls_and_works(events):
    """For each process, device and name: calls that queue work on a GPU, and the work, each in the order of begins. The
    n-th work begins after the n-th call, whatever their streams and threads, and although some calls have no work."""
    found = collections.defaultdict(lambda: ([], []))
    for event in sorted((e for e in events if e["ph"] == COMPLETE), key=lambda e: e["ts"]):
        if event["cat"] in ("launch", "copy", "gpu"):
            found[event["pid"], event["args"]["device"], event["name"]][event["cat"] == "gpu"].append(event)
    return found


def end_of(event):
    return nanoseconds(event["ts"]) + nanoseconds(event["dur"])


def faults_of_gpus(events):
    """Each piece of work on a GPU takes time, and follows the begin of its call."""
    for (_, device, name), (calls, works) in calls_and_works(events).items():
        if len(works) > len(calls):
            yield f"{name!r} ran {len(works)} times on {device}, and was called {len(calls)} times"
        for n, (call, work) in enumerate(zip(calls, works), 1):
            if nanoseconds(work["dur"]) <= 0:
                yield f"{name!r} took no time on {device}, as work {n} of this name"
            if nanoseconds(work["ts"]) < nanoseconds(call["ts"]):
                yield f"{name!r} ran on {device} before call {n} of this name"


def faults_of_awaited(events, names):
    """All work that is queued in phases of these names ends before the phase."""
    phases = [e for e in events if e["ph"] == COMPLETE and e["cat"] == "phase" and e["name"] in names]
    count = 0
    for (_, device, name), (calls, works) in calls_and_works(events).items():
        for n, call in enumerate(calls):
            phase = next((p for p in phases if (p["pid"], p["tid"]) == (call["pid"], call["tid"])
                          and nanoseconds(p["ts"]) <= nanoseconds(call["ts"]) < end_of(p)), None)
            if not phase or not device.startswith("cuda:"):
                continue
            count += 1
            if len(works) != len(calls):
                yield f"{name!r} was called {len(calls)} times, and ran {len(works)} times on {device}"
            elif (late := end_of(works[n]) - end_of(phase)) > CLOCK_ERROR:
                yield f"{name!r} ends on {device} {late} ns after {phase['name']!r}, which waits for it"
    if not count:
        yield f"no work is queued in phases {', '.join(names)}"


def summary(events):
    counts = collections.Counter(e["cat"] for e in events if e["ph"] != METADATA)
    processes, threads = names(events, "process_name"), names(events, "thread_name")
    return [*(f"{category}: {count}" for category, count in sorted(counts.items())),
            *(f"track of {processes[process]}: {name}" for (process, _), name in sorted(threads.items()))]


def main(arguments):
    if not arguments or "--help" in arguments:
        print(__doc__)
        return 0 if arguments else 2
    cut = "--cut" in arguments
    awaited = [names for each in arguments if (names := each.removeprefix("--awaited=")) != each]
    with open(arguments[-1], encoding="ascii") as file:
        text = file.read()
    try:
        events = events_of(text, cut)
        faults = faults_of(events)
        for phases in awaited if not faults else []:
            faults += faults_of_awaited(events, phases.split(","))
    except ValueError as error:
        faults = [f"no JSON: {error}"]
    print("\n".join(faults[:20] or summary(events)))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
