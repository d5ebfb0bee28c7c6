"""Runs the device tests, compute-sanitizer, the Cpu-Cuda comparison and the benchmarks of one build folder, and writes
one JSON file. Called by scripts/gpu, which says what it does and what its exit status means."""

import argparse
import datetime
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "tools"))
import common  # noqa: E402

import alternate  # noqa: E402
import dry_run  # noqa: E402
import targets  # noqa: E402

STEPS = 100
TOLERANCE = 1e-3
RACECHECK = ("rows", "reduce")  # programs with these words in their name share memory between threads
SANITIZER_SHARE = 0.35  # of the time that is left when it begins


def run(command, timeout=300):
    """(exit status or None after a time-out, output, seconds)."""
    started = time.monotonic()
    try:
        done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", timeout=timeout)
        status, output = done.returncode, done.stdout
    except subprocess.TimeoutExpired as late:
        status, output = None, (late.stdout or b"").decode(errors="replace")
    except OSError as error:
        status, output = 127, str(error)
    return status, output, round(time.monotonic() - started, 3)


def read(command):
    status, output, _ = run(command, timeout=30)
    return output.strip() if status == 0 else None


def describe_machine():
    names = ("name", "driver_version", "compute_cap", "memory.total", "clocks.max.sm")
    answer = read(["nvidia-smi", f"--query-gpu={','.join(names)}", "--format=csv,noheader"]) or ""
    gpus = [dict(zip(names, (part.strip() for part in line.split(",")))) for line in answer.splitlines()]
    processor = re.search(r"model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text())
    nvcc = common.find_nvcc()
    release = re.search(r"release (\S+?),", read([nvcc, "--version"]) or "") if nvcc else None
    return {
        "gpus": gpus,
        "processor": processor.group(1) if processor else None,
        "processors": os.cpu_count(),
        "toolkit": release.group(1) if release else None,
        "commit": read(["git", "-C", ROOT, "rev-parse", "HEAD"]),
        "modified": bool(read(["git", "-C", ROOT, "status", "--porcelain", "--untracked-files=no"])),
    }


def run_tests(programs):
    """Every device test, one after another: they measure launches and memory of the one GPU."""
    results = []
    for program in programs:
        status, output, seconds = run([program])
        found = common.COUNTS.findall(output)
        passed, failed, skipped = map(int, found[-1]) if found else (0, 0, 0)
        good = status == 0 and failed == 0 and found
        results.append({"program": program.name, "passed": passed, "failed": failed if good else max(failed, 1),
                        "skipped": skipped, "seconds": seconds})
        if not good:
            print(f"FAILED {program.name} (status {status})\n{output[-4000:]}")
    return results


def run_sanitizer(programs, deadline):
    """memcheck and racecheck of the programs, one after the other as long as there is time."""
    sanitizer = shutil.which("compute-sanitizer") or shutil.which("/usr/local/cuda/bin/compute-sanitizer")
    if not sanitizer:
        return {"unavailable": "compute-sanitizer is not here"}
    jobs = [("memcheck", program) for program in programs]
    jobs += [("racecheck", program) for program in programs if any(word in program.name for word in RACECHECK)]

    def check(job):
        tool, program = job
        left = deadline - time.monotonic()
        if left < 5:
            return {"tool": tool, "program": program.name, "verdict": "left out", "seconds": 0.0}
        status, output, seconds = run([sanitizer, "--tool", tool, "--error-exitcode", "9", program], timeout=min(180, left + 30))
        if "Device not supported" in output:
            verdict = "device not supported"
        else:
            verdict = {0: "clean", None: "ran out of time"}.get(status, "errors")
        if verdict == "errors":
            print(f"FAILED {tool} {program.name}\n{output[-4000:]}")
        return {"tool": tool, "program": program.name, "verdict": verdict, "seconds": seconds}

    with ThreadPoolExecutor(4) as pool:
        return {"runs": list(pool.map(check, jobs))}


def train(program, device, scratch):
    """On the digits that Locus draws: the losses of the first steps, and the history of a whole training."""
    history, steps = scratch / f"{device}-history.json", scratch / f"{device}-steps.json"
    seconds = 0.0
    for options in (["--steps", STEPS, "--steps-log", steps], ["--history", history]):
        status, output, taken = run([program, "--device", device, "--seed", "1", *options])
        seconds += taken
        if status != 0:
            raise RuntimeError(f"mnist --device {device} ended with {status}:\n{output[-4000:]}")
    return {"losses": json.loads(steps.read_text()), "history": json.loads(history.read_text()),
            "seconds": round(seconds, 3)}


def compare_training(program):
    """Losses on Cuda and on Cpu, step by step; the largest difference is relative where a loss exceeds 1."""
    with tempfile.TemporaryDirectory() as scratch:
        runs = {device: train(program, device, pathlib.Path(scratch)) for device in ("cpu", "cuda")}
    pairs = list(zip(runs["cpu"]["losses"], runs["cuda"]["losses"]))
    difference = max(abs(a - b) / max(1.0, abs(a)) for a, b in pairs)
    return {**runs, "steps": len(pairs), "largest_difference": difference, "tolerance": TOLERANCE,
            "agrees": len(pairs) >= STEPS and difference <= TOLERANCE}


def run_benchmark(program, options):
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch) / "matmul.json"
        status, output, seconds = run([program, *options, "--json", out])
        if status != 0:
            raise RuntimeError(f"matmul ended with {status}:\n{output[-4000:]}")
        print(output)
        return {"seconds": seconds, **as_object(json.loads(out.read_text()))}


def run_verbs(program, python, device, *, deadline, tiny=False):
    """benchmarks/verbs in turns with PyTorch, and what is to be said of the targets."""
    ours = [program, "--device", device, "--serve", *(["--sizes", "tiny"] if tiny else ["--turns", "5"])]
    report = alternate.measure(ours, alternate.torch_command(ROOT, python, device, tiny), rounds=2 if tiny else 3,
                               deadline=deadline, progress=lambda name: print(f"   {name}", file=sys.stderr, flush=True))
    for work in report["workloads"]:
        work["targets"] = targets.judge(work) if device != "cpu" else []  # all are a GPU's
    print(targets.table(report))
    if "unavailable" in report["peer"]:
        print(f"PyTorch was not measured: {report['peer']['unavailable']}")
    return report


def print_verdicts(report):
    print(f"{'met':>5} {'missed':>7} {'unmeasured':>11}  target")
    for text, met, missed, unmeasured in targets.verdicts(report):
        print(f"{met:5} {missed:7} {unmeasured:11}  {text}")
    if report["left_out"]:
        print("left out, for want of time: " + ", ".join(report["left_out"]))


def as_object(value):
    return value if isinstance(value, dict) else {"results": value}


def attempt(name, function, *arguments):
    """The function's result, or {"error": ...}, so that one failing part leaves the others their place in the file."""
    print(f"-- {name}", flush=True)
    try:
        return function(*arguments)
    except Exception as error:
        print(f"FAILED {name}: {error}")
        return {"error": str(error) or type(error).__name__}


def tests_of(results):
    """What the device tests reported; none where they could not be run."""
    return results["tests"] if isinstance(results["tests"], list) else []


def failures(results):
    """What went wrong, one line each."""
    tests = tests_of(results)
    lines = [f"{test['program']}: {test['failed']} failed" for test in tests if test["failed"]]
    if not any(test["passed"] for test in tests):
        lines.append("no device test passed")
    lines += [f"{run['tool']} {run['program']}: {run['verdict']}" for run in results["sanitizer"].get("runs", [])
              if run["verdict"] not in ("clean", "device not supported", "left out")]
    lines += [f"{part}: {results[part]['error'].splitlines()[0]}" for part in ("tests", "sanitizer", "training", "matmul", "verbs")
              if "error" in results[part]]
    lines += [f"{work['name']}: {name}: {variant['problem']}" for work in results["verbs"].get("workloads", [])
              for name, variant in work["variants"].items() if name in targets.ours_of(work) and variant["problem"]]
    lines += [f"{work['name']}: not measured: {'; '.join(work['problems'])}"
              for work in results["verbs"].get("workloads", []) if not targets.ours_of(work)]
    if results["training"].get("agrees") is False:
        lines.append(f"losses on Cpu and Cuda differ by {results['training']['largest_difference']:.2e}")
    return lines


def share_of(deadline, share):
    now = time.monotonic()
    return now + share * max(0.0, deadline - now)


def write(path, results):
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(json.dumps(results, indent=1) + "\n")
    temporary.rename(path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--torch", default=sys.executable, help="the Python that has PyTorch")
    parser.add_argument("--budget", type=float, default=570, help="seconds to be done in")
    options = parser.parse_args()
    deadline = time.monotonic() + options.budget
    if options.dry_run:
        sys.exit(dry_run.main(options, deadline))
    toolkit = "/usr/local/cuda/lib64"
    os.environ["LD_LIBRARY_PATH"] = ":".join(filter(None, [os.environ.get("LD_LIBRARY_PATH"), toolkit]))

    now = datetime.datetime.now(datetime.timezone.utc)
    programs = sorted(options.build.glob("tests/*_cuda_test"))
    results = {"date": now.isoformat(timespec="seconds"), **describe_machine()}
    results["tests"] = attempt("device tests", run_tests, programs)
    results["sanitizer"] = {"unavailable": "--quick"} if options.quick else \
        attempt("compute-sanitizer", run_sanitizer, programs, share_of(deadline, SANITIZER_SHARE))
    results["training"] = attempt("training on Cpu and Cuda", compare_training, options.build / "examples" / "mnist")
    results["matmul"] = attempt("benchmarks/matmul", run_benchmark, options.build / "benchmarks" / "matmul",
                                ["--sizes", "128,256,512,1024,2048"] if options.quick else [])
    results["verbs"] = attempt("benchmarks/verbs beside PyTorch",
                               lambda: run_verbs(options.build / "benchmarks" / "verbs", options.torch, "cuda",
                                                 deadline=deadline - 20))
    if "workloads" in results["verbs"]:
        print_verdicts(results["verbs"])
    results["failures"] = failures(results)

    gpu = results["gpus"][0]["name"] if results["gpus"] else "gpu"
    name = f"{now:%Y-%m-%d}-{re.sub(r'[^a-z0-9]+', '-', gpu.lower()).strip('-')}.json"
    path = options.out or ROOT / "benchmarks" / "results" / name
    write(path, results)
    counts = [sum(test[key] for test in tests_of(results)) for key in ("passed", "failed", "skipped")]
    print("\n".join([*results["failures"], f"results in {path}",
                     f"{counts[0]} passed, {counts[1]} failed, {counts[2]} skipped"]))
    return 1 if results["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
