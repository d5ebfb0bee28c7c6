"""Runs the benchmarks on Cpu with tiny sizes, to test every step of scripts/gpu that needs no GPU, and lists the steps
that need one. Called by scripts/gpu --dry-run."""

import math
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "tools"))
import common  # noqa: E402

import alternate  # noqa: E402
import device_tests  # noqa: E402
import machine  # noqa: E402
import measurements  # noqa: E402
import networks  # noqa: E402
import targets  # noqa: E402
from context import parse, parser_of_build, start  # noqa: E402

CHECKS = ("device tests on Cuda, those of graph replay among them", "compute-sanitizer: memcheck and racecheck",
          "losses of training on Cuda beside those on Cpu")
NUMBERS = ("median", "p10", "p90")
TINY_AVERAGE = ("--images", "8", "--test-images", "8", "--epochs", "1", "--batch", "4", "--width", "4")


def problems_of_numbers(measured):
    if set(measured) != {*NUMBERS, "samples"} or not isinstance(measured["samples"], int) or measured["samples"] < 1:
        return ["is no median, p10 and p90 of samples"]
    wrong = [name for name in NUMBERS
             if not (isinstance(measured[name], (int, float)) and math.isfinite(measured[name]) and measured[name] > 0)]
    if wrong:
        return [f"{', '.join(wrong)}: no positive number of seconds"]
    return [] if measured["p10"] <= measured["median"] <= measured["p90"] else ["p10, median and p90 are in no order"]


def problems_of_workload(work):
    """Problems of an entry of the report, one line each."""
    lines = list(work["problems"])
    if not isinstance(work.get("name"), str) or not all(isinstance(size, int) and size > 0 for size in work["sizes"]):
        lines.append("has no name, or sizes that are no numbers")
    if not work["bytes"] > 0:
        lines.append("has no bytes to move")
    if targets.OURS not in work["variants"]:
        lines.append("was not measured with Locus")
    for name, variant in work["variants"].items():
        if variant["problem"]:
            lines.append(f"{name}: {variant['problem']}")
            continue
        if not 0 <= variant["error"] <= 1:
            lines.append(f"{name}: was not found right")
        lines += [f"{name}: {problem}" for problem in problems_of_numbers(variant.get("wall", {}))]
    return lines


def problems_of_targets(report):
    """Targets that match no listed workload, or name a variant that nothing measures."""
    groups = {}
    for work in report["workloads"]:
        groups.setdefault(work["group"], set()).update(work["variants"])
    peers = {targets.EAGER, targets.FUSED_ADAM, targets.CHANNELS_LAST} if "unavailable" in report["peer"] else set()
    lines = []
    for target in targets.TARGETS:
        if target.group not in groups:
            lines.append(f"target '{target.text}': no workload is in the group {target.group}")
            continue
        known = groups[target.group] | set(targets.ONLY_ON_GPU.get(target.group, ())) | peers
        lines += [f"target '{target.text}': nothing is called {name}" for name in target.against if name not in known]
    return lines


def awaits_hardware(report):
    """Every check and workload that still needs a GPU, one line each: after a dry run, all of them."""
    lines = list(CHECKS) + ["benchmarks/matmul on Cuda", "benchmarks/training_times on Cuda",
                            "averages of weights in captured and in launched steps"]
    lines += [f"images per second of ResNet-18: {name}" for name, *_ in networks.PRECISIONS] + ["tokens per second of GPT-2 124M"]
    theirs = [targets.EAGER] if "unavailable" in report["peer"] else []
    operations = {}
    for work in report["workloads"]:
        operations.setdefault((work["group"], work["operation"]), []).append(work)
    for (group, operation), works in operations.items():
        names = sorted({name for work in works for name in work["variants"]}, key=lambda name: (not name.startswith("locus"), name))
        names += [name for name in theirs + targets.ONLY_ON_GPU.get(group, []) if name not in names]
        lines.append(f"{group}: {operation}, full sizes ({', '.join(names)})")
    lines += [f"{group}: all of it" for group in targets.ONLY_ON_GPU_GROUPS]
    return lines + [f"target: {target.text}" for target in targets.TARGETS]


def why(part, otherwise="nothing was measured"):
    """Why a part has no results."""
    return part.get("error") or part.get("unavailable") or otherwise


def run(context):
    """The exit status."""
    report = common.Report()
    context.attempt("libraries", device_tests.find_libraries, context)
    sizes = ["--sizes", "16,33", "--device", "cpu", "--min-time", "0.001"]
    matmul = context.attempt("matmul", measurements.run_matmul, context, sizes)
    matmul = context.record.results["matmul"] if matmul is None else matmul
    context.record.put("matmul", matmul)
    report.add("matmul", None if matmul.get("products") else why(matmul, "its JSON holds no products"))
    times = context.attempt("training times", measurements.run_training_times, context, "cpu", measurements.TINY_STUDY)
    times = context.record.results["training times"] if times is None else times
    context.record.put("training times", times)
    report.add("training times", None if times.get("lines") else why(times, "it printed no lines"))
    for name, function, *arguments in (("averages", networks.run_averages, "cpu", TINY_AVERAGE),
                                       ("cifar10", networks.run_cifar10, "cpu", True), ("gpt2", networks.run_gpt2, "cpu", True)):
        found = context.attempt(name, function, context, *arguments)
        report.add(name, None if found else why(context.record.results.get(name, {})))
        if found:
            context.record.put(name, found)
    verbs = context.attempt("verbs", measurements.run_verbs, context, "cpu", True)
    if not verbs:
        report.fail("verbs", why(context.record.results["verbs"]))
        return report.finish()
    for work in verbs["workloads"]:
        report.add(work["name"], "\n".join(problems_of_workload(work)))
    report.add("targets", "\n".join(problems_of_targets(verbs)))
    report.add("time", "left out: " + ", ".join(verbs["left_out"]) if verbs["left_out"] else None)
    if "unavailable" in verbs["peer"]:
        report.skip("torch_gpu.py", verbs["peer"]["unavailable"])
    awaiting = awaits_hardware(verbs)
    context.record.results.update(dry_run=True, verbs=verbs, awaits_hardware=awaiting, state="complete")
    context.record.write()
    print("\nThe numbers above are of tiny sizes on Cpu, and mean nothing. This awaits hardware:")
    print("".join(f"  {line}\n" for line in awaiting), end="")
    return report.finish()


def main():
    options = parse(parser_of_build())
    facts = machine.describe(ROOT, common.find_nvcc())
    path = options.out or options.build / "dry-run.json"
    return run(start(ROOT, options, facts, path, options.build / "dry-run.log"))


if __name__ == "__main__":
    sys.exit(main())
