"""The results of a run on a GPU: a JSON file that is rewritten after every result, and a log. Both keep the finished
results however the run ends."""

import json_text
import whole_file

LARGEST_LOG = 8 << 20  # bytes; later output goes to the terminal alone
NOT_RUN = "not run"


def write(path, results):
    path.parent.mkdir(parents=True, exist_ok=True)
    whole_file.write(path, json_text.text(results) + "\n")


def name_of(entry):
    """The name of a device test or of a run of compute-sanitizer."""
    return " ".join(entry[key] for key in ("tool", "program", "source") if entry.get(key))


def problem_of(work):
    """The problem of a workload of benchmarks/verbs, or None."""
    ours = {name: variant for name, variant in work["variants"].items() if name.startswith("locus")}
    if not ours:
        return f"{work['name']}: not measured: {'; '.join(work['problems'])}"
    wrong = [f"{work['name']}: {name}: {variant['problem']}" for name, variant in ours.items() if variant["problem"]]
    return "\n".join(wrong) or None


class Record:
    def __init__(self, path, log, head):
        self.path, self.results = path, {**head, "state": "cut off", "seconds": {}}
        log.parent.mkdir(parents=True, exist_ok=True)
        self.log = open(log, "w", encoding="utf-8", errors="replace")
        self.logged = 0
        self.write()

    def write(self):
        write(self.path, self.results)

    def show(self, text):
        """Prints to the terminal alone. If the terminal is closed, the files are still written."""
        try:
            print(text, flush=True)
        except OSError:
            pass

    def say(self, text):
        self.show(text)
        self.note(text)

    def note(self, text):
        """Writes to the log alone."""
        line = text.rstrip("\n") + "\n"
        if self.logged + len(line) > LARGEST_LOG:
            line = f"... {len(line)} characters left out: the log is full ...\n" if self.logged < LARGEST_LOG else ""
            self.logged = LARGEST_LOG
        self.logged += len(line)
        self.log.write(line)
        self.log.flush()

    def put(self, part, value):
        self.results[part] = value
        self.write()

    def extend(self, part, **found):
        """Adds to the results of the part."""
        self.put(part, {**self.results.get(part, {}), **found})

    def add(self, part, entry):
        self.results.setdefault(part, []).append(entry)
        self.write()

    def finish(self, state):
        """Prints failures, omissions and counts. Returns the counts."""
        failed, left_out, counts = failures(self.results), not_done(self.results), count(self.results)
        self.results.update(state=state, failures=failed, not_done=left_out, counts=counts)
        self.write()
        self.say("\n".join([*(f"FAILED {line}" for line in failed), *(f"skipped {line}" for line in left_out),
                            f"results in {self.path}",
                            f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped"]))
        return counts


def programs_of(results):
    """The entries of programs that count their cases."""
    return results.get("first", []) + results.get("tests", [])


def reason_of(entry):
    """Why some of its cases were skipped."""
    if entry["verdict"].startswith(NOT_RUN):
        return entry["verdict"]
    return f"{entry['skipped']} skipped: {'; '.join(entry['reasons']) or 'no reason given'}"


def parts_of(results):
    """[(name, results)] of the parts that ran or should have run: results["seconds"] names them, with None for one that
    did not end."""
    return [(name, results[name]) for name in results["seconds"] if name in results]


def failures(results):
    """Failures, one line each."""
    lines = [f"{name_of(entry)}: {entry['verdict']}" for entry in programs_of(results) if entry["failed"]]
    lines += [f"{name_of(entry)}: {entry['verdict']}" for entry in results.get("sanitizer_runs", []) if entry["failed"]]
    lines += [f"{name}: {part['error'].splitlines()[0]}" for name, part in parts_of(results) if "error" in part]
    lines += [problem for work in results.get("verbs", {}).get("workloads", []) if (problem := problem_of(work))]
    if results.get("training", {}).get("agrees") is False:
        training = results["training"]
        lines.append(f"losses on Cpu and Cuda differ by {training['largest_difference']:.2e}, from step {training['kink']} on by more "
                     "than rounding")
    if results.get("averages", {}).get("agrees") is False:
        lines.append("accuracies of averaged weights differ by "
                     f"{results['averages']['largest_difference']:.3f} between captured and launched steps")
    return lines


def not_done(results):
    """Work that was not done, one line each, with the reason."""
    lines = [f"{name_of(entry)}: {reason_of(entry)}" for entry in programs_of(results) if entry["skipped"]]
    lines += [f"{name_of(entry)}: {entry['verdict']}" for entry in results.get("sanitizer_runs", []) if entry["skipped"]]
    lines += [f"{name}: {part['unavailable']}" for name, part in parts_of(results) if "unavailable" in part]
    return lines + [f"benchmarks/verbs {name}: {NOT_RUN}: out of time"
                    for name in results.get("verbs", {}).get("left_out", [])]


def count(results):
    """Counts test cases, and one each for a run of compute-sanitizer, a measured part and a workload."""
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for entry in [*programs_of(results), *results.get("sanitizer_runs", [])]:
        for key in counts:
            counts[key] += entry[key]
    for name, part in parts_of(results):
        if "error" in part or part.get("agrees") is False:
            counts["failed"] += 1
        elif "unavailable" in part:
            counts["skipped"] += 1
        elif name in ("training", "averages", "cifar10", "gpt2", "matmul", "training times"):
            counts["passed"] += 1
    verbs = results.get("verbs", {})
    for work in verbs.get("workloads", []):
        counts["failed" if problem_of(work) else "passed"] += 1
    counts["skipped"] += len(verbs.get("left_out", []))
    return counts
