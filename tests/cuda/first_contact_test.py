#!/usr/bin/env python3
"""The programs that run first on a GPU, on the simulated Cuda device: examples/self_check passes and reports faults;
each experiment of first_run answers independently.

The device is the one of simulated_test.py; LOCUS_SIMULATED_FAULT injects a fault. Takes about 60 seconds.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import simulated_test  # noqa: E402
import common  # noqa: E402  (simulated_test adds its folder)

PASSED, FAILED, NO_GPU = 0, 1, 77
PARTS = 17
VERSIONS = r"cuda:0: Simulated GPU, sm_90; driver .*, for CUDA \d+\.\d\nCUDA runtime \d+\.\d+; cuBLASLt \d+\.\d+\.\d+\n"


def part(name, state):
    """A regex for a line of the program's report."""
    return rf"^{re.escape(name)} +{state}"


# {fault: (exit status, regexes of the report)}
FAULTS = {
    "": (PASSED, [rf"\A{VERSIONS}", part("map, contiguous", "ok "), part("a captured training step, replayed", "ok "),
                  r"^all parts passed$"]),
    "lost_shuffle": (FAILED, [rf"\A{VERSIONS}", part("map, contiguous", "ok "),
                              part("for_each_row, short rows", r"FAILED  error \S+; at most 1e-05 was expected"),
                              r"parts failed: cuda:0 does not compute what the host computes$"]),
    "wrong_product": (FAILED, [part("map, contiguous", "ok "), part("gemm, float32", "FAILED  error "),
                               part("gemm, bfloat16", "FAILED "), part("sort", "ok "),
                               part("linear layers, forward and backward", "FAILED ")]),
    "illegal_address": (FAILED, [rf"\A{VERSIONS}", part("map, contiguous", "FAILED .*cudaErrorIllegalAddress.*compute-sanitizer"),
                                 r"^The GPU no longer answers this program: the parts after this one did not run\.$",
                                 r"^1 part failed: cuda:0"]),
    "no_device": (NO_GPU, [r"\Acuda:0: none; ", r"no usable GPU: cuda:0: the NVIDIA driver \(CUDA .*\) shows no GPU to this "
                           r"program: check nvidia-smi and CUDA_VISIBLE_DEVICES"]),
    "no_driver": (NO_GPU, [r"\Acuda:0: none; driver ", r"no NVIDIA driver answers .*needs one for CUDA \d+\.\d or newer: install it, or run on Cpu"]),
    "old_driver": (NO_GPU, [r"driver .*, for CUDA 11\.8$", r"the NVIDIA driver is for CUDA 11\.8 and this program for CUDA "
                            r"(\d+\.\d): update the driver to one for CUDA \1 or newer"]),
    "no_code": (NO_GPU, [r"\Acuda:0: Simulated GPU, sm_70; ", part("copy", "ok "), part("map, contiguous", "not possible$"),
                         r"no usable GPU: .*this program has no code that cuda:0, of architecture sm_70, can run: compile "
                         r"with .*nvcc -arch=sm_70 .*, or run on Cpu"]),
}


def problem_of(program, fault, expected):
    """How the report of a run differs from the expected one, or None."""
    wanted_status, wanted = expected
    status, output = common.run([program], env={"LOCUS_SIMULATED_FAULT": fault, "ASAN_OPTIONS": "detect_leaks=0"})
    missing = [text for text in wanted if not re.search(text, output, re.MULTILINE)]
    if status == wanted_status and not missing and (fault or output.count(" ok ") == PARTS):
        return None
    return f"status {status}, expected {wanted_status}; not found: {missing}\n{output}"


def last_part(program, fault, seconds):
    """(exit status or None after a time-out, last line) of a program that crashes or hangs in a part."""
    with open(program.parent / f"{fault}.log", "w+") as log:
        try:
            status = subprocess.run([program], env={"LOCUS_SIMULATED_FAULT": fault}, stdout=log, stderr=log,
                                    timeout=seconds).returncode
        except subprocess.TimeoutExpired:
            status = None
        log.seek(0)
        return status, log.read().splitlines()[-1].strip()


def check_self_check(report, program):
    for fault, problem in common.parallel(lambda item: problem_of(program, *item), FAULTS.items()):
        report.add(f"self-check, broken: {fault[0] or 'nothing'}", problem)
    # The last line names the part in which the program crashes or hangs.
    for fault, wanted in {"crash": -11, "hang": None}.items():
        found = last_part(program, fault, 5)
        report.add(f"self-check, broken: {fault}", None if found == (wanted, "map, contiguous") else f"{found}")


# Experiments of first_run: (how it ends, some of its answers).
EXPERIMENTS = {
    "machine": ("answered", {"multiprocessors": "4", "libraries": r"CUDA runtime .*; cuBLASLt .*"}),
    "memory_pools": ("answered", {"cudaMemPoolCreate": ".+"}),
    "memory_sizes": ("answered", {"2^52 bytes by cudaMalloc": "cudaErrorInvalidValue",
                                  "2^62 bytes by cudaHostAlloc": "cudaErrorInvalidValue"}),
    "blas_float32": ("answered", {"RELU_AUX_BIAS, aligned": r"\d candidates, first .*, error \d\S*e-0[678], kept 0$",
                                  "DRELU_BGRAD, odd columns": r".*, error \d\S*e-0[678], sums \d\S*e-0[678]",
                                  "DEFAULT, odd address": r".*, error \d\S*e-0[678]"}),
    "blas_bfloat16": ("answered", {"GELU_AUX, aligned": r".*, error 0\.00\d+, kept 0\.00\d+",
                                   "DGELU, aligned": r".*, error 0\.00\d+",
                                   "BGRADB, aligned": r".*, sums 0\.00\d+"}),
    "bias_gradients_float32": ("answered", {"BGRADB, op(A) N, op(B) T, one column of c": r".*, sums \d\S*e-\d+"}),
    "relu_values_float32": ("answered", {"RELU_AUX, 1": "1, bit 1", "RELU_AUX, -1": "0, bit 0",
                                         "DRELU of those bits, 1": "1", "DRELU of those bits, -1": "0"}),
    "relu_values_float16": ("answered", {"RELU_AUX, 1": "1, bit 1", "DRELU of those bits, -1": "0"}),
    "k1_GELU_AUX_float32": ("answered", {"GELU_AUX, k = 1": r"\d candidates, first .*, error \d\S*e-0[678], kept"}),
    "clusters": ("answered", {"rows of 32768": r"error \d\S*e-0\d; .*: 2 blocks of 512 threads, shared memory, .*",
                              "rows of 400000": r"error \d\S*e-0\d; .*: 8 blocks of 512 threads, shared memory, .*"}),
    "capture_in_flight": ("answered", {"round 2": "right"}),
    "cub_in_a_capture": ("answered", {"call 3 (a replay)": "right"}),
}


def experiment_problem(experiment):
    """How an experiment in the report differs from the expected one, or None."""
    end, answers = EXPERIMENTS[experiment["name"]]
    wrong = [f"{name}: {experiment['answers'].get(name)}, expected {wanted}" for name, wanted in answers.items()
             if not re.match(wanted, experiment["answers"].get(name, ""))]
    return "\n".join(wrong) or (None if experiment["end"] == end else f"{experiment}")


def answers_of(program, file, name, fault):
    """(exit status, answers) of one experiment."""
    file.unlink(missing_ok=True)
    status, _ = common.run([program, "--json", file, name], env={"LOCUS_SIMULATED_FAULT": fault})
    return status, json.loads(file.read_text())["experiments"][0]["answers"]


def check_special_values(report, program, file):
    """A row named -0 is -0 if cuBLASLt sums in float, and is absent if the bits were not kept."""
    for name, expected in {"relu_values_float32": "-0", "relu_values_bfloat16": "-0", "relu_values_float16": None}.items():
        _, answers = answers_of(program, file, name, "float_sums")
        found = (answers.get("product, -0"), answers["product, 0"], answers["RELU_AUX, 1"])
        report.add(f"first_run {name}, -0", None if found == (expected, "0", "1, bit 1") else f"{answers}")
    status, answers = answers_of(program, file, "relu_values_float32", "no_relu_aux")
    of_bits = {name: answer for name, answer in answers.items() if name.startswith("DRELU")}
    right = status == 0 and of_bits == {"DRELU of those bits": "not asked: RELU_AUX left none"}
    report.add("first_run without bits of relu", None if right else f"status {status}, {answers}")


# System calls that fail once or always: the first call named in FAILING, that number of times.
FAILING_CALLS = """
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <unistd.h>
#include <sys/syscall.h>

static bool fails(const char* call) {
  static int left = std::getenv("FAILING_TIMES") ? std::atoi(std::getenv("FAILING_TIMES")) : 0;
  const char* const failing = std::getenv("FAILING");
  return failing && std::strcmp(failing, call) == 0 && left-- > 0;
}
extern "C" int poll(pollfd* files, nfds_t count, int milliseconds) {
  if (fails("poll")) return errno = EINTR, -1;
  const timespec time{milliseconds / 1000, milliseconds % 1000 * 1000000L};
  return static_cast<int>(syscall(SYS_ppoll, files, count, milliseconds < 0 ? nullptr : &time, nullptr, 0));
}
extern "C" pid_t fork() noexcept {
  if (fails("fork")) return errno = EAGAIN, -1;
  return static_cast<pid_t>(syscall(SYS_clone, 17 /* SIGCHLD */, nullptr, nullptr, nullptr, nullptr));
}
extern "C" int rename(const char* from, const char* to) noexcept {
  if (fails("rename")) return errno = ENOSPC, -1;
  return static_cast<int>(syscall(SYS_renameat2, -100 /* AT_FDCWD */, from, -100, to, 0));
}
"""


def check_faults_of_the_system(report, program, file):
    """A failure to start, await or write one experiment affects no other experiment."""
    library = program.parent / "failing.so"
    source = program.parent / "failing.cpp"
    source.write_text(FAILING_CALLS)
    status, output = common.run(["g++", "-shared", "-fPIC", source, "-o", library])
    if status:
        return report.fail("first_run where calls of the system fail", output)

    def tried(call, times, *arguments, fault=""):
        file.unlink(missing_ok=True)
        env = [f"LD_PRELOAD={library}", f"FAILING={call}", f"FAILING_TIMES={times}", f"LOCUS_SIMULATED_FAULT={fault}"]
        status, output = common.run(["timeout", "-s", "KILL", "20", "env", *env, program, "--json", file, *arguments])
        ends = [one["end"] for one in json.loads(file.read_text())["experiments"]] if file.exists() else None
        return status, ends, output

    cases = {
        "poll is interrupted": (("poll", 3, "machine"), "", (0, ["answered"]), "1 experiments, 0 of which"),
        "poll is interrupted, and the program hangs": (
            ("poll", 1, "--seconds", "1", "cub_in_a_capture"), "hang", (1, ["did not end within 1 seconds"]), "=> FAULT: did not"),
        "fork fails once": (("fork", 1, "memory_pools", "machine"), "", (1, [
            "could not be started: fork: Resource temporarily unavailable", "answered"]), "=> FAULT: could not be started"),
        "the disk is full once": (("rename", 1, "memory_pools", "machine"), "", (0, ["answered", "answered"]),
                                  "free some space or choose another disk"),
        "the disk is full": (("rename", 9, "memory_pools", "machine"), "", (1, None), "2 experiments, 0 of which"),
    }
    for name, (arguments, fault, expected, said) in cases.items():
        status, ends, output = tried(*arguments, fault=fault)
        right = (status, ends) == expected and said in output
        report.add(f"first_run where {name}", None if right else f"status {status}, {ends}\n{output}")


def check_first_run(report, program):
    file = program.parent / "report.json"
    status, output = common.run([program, "--json", file, *EXPERIMENTS])
    experiments = json.loads(file.read_text())["experiments"] if file.exists() else []
    found = [experiment["name"] for experiment in experiments]
    report.add("first_run", None if status == 0 and found == list(EXPERIMENTS) else f"status {status}\n{output[-4000:]}")
    for experiment in experiments:
        report.add(f"first_run {experiment['name']}", experiment_problem(experiment))
    check_special_values(report, program, file)
    check_faults_of_the_system(report, program, file)
    # A crash or hang in one experiment does not affect the next one; the report has both.
    for fault, end in {"crash": "ended by signal 11, Segmentation fault", "hang": "did not end within 2 seconds"}.items():
        status, output = common.run([program, "--seconds", "2", "--json", file, "cub_in_a_capture", "machine"],
                                    env={"LOCUS_SIMULATED_FAULT": fault})
        ends = [experiment["end"] for experiment in json.loads(file.read_text())["experiments"]]
        right = status == 1 and ends == [end, "answered"] and f"=> FAULT: {end}" in output
        report.add(f"first_run, broken: {fault}", None if right else f"status {status}, {ends}\n{output}")
    # After a sticky CUDA error, the remaining rows of a table are still answered.
    status, output = common.run([program, "--json", file, "blas_float32"],
                                env={"LOCUS_SIMULATED_FAULT": "illegal_product"})
    answers = json.loads(file.read_text())["experiments"][0]["answers"]
    right = (status == 0 and len(answers) == 48 and "cudaErrorIllegalAddress" in answers["DRELU, odd columns"]
             and re.search("error .*, sums", answers["BGRADB, odd address"]))
    report.add("first_run, broken: a row of a table", None if right else f"status {status}\n{output}")
    status, output = common.run([program], env={"LOCUS_SIMULATED_FAULT": "no_device"})
    says_why = "first_run: no usable GPU: the NVIDIA driver" in output
    report.add("first_run without a GPU", None if status == NO_GPU and says_why else f"status {status}\n{output}")
    for arguments, said in {("--json",): "--json: expected a value", ("nothing",): "'nothing' is no experiment",
                            ("--seconds", "x"): "--seconds x: expected a whole number",
                            ("--json", "/no/such/folder/x"): "there is no folder"}.items():
        status, output = common.run([program, *arguments])
        report.add(f"first_run {' '.join(arguments)}", None if status == 2 and said in output else f"{status}\n{output}")


# Programs, their sources, and the checks of each.
PROGRAMS = {
    "self_check": (["examples/self_check.cpp"], check_self_check),
    "first_run": (["tests/cuda/first_run.cpp",
                   *(f"tests/cuda/first_run/{name}.cpp" for name in ("machine", "blas", "kernels"))], check_first_run),
}


def check(report):
    toolkit = simulated_test.toolkit_headers()
    if not toolkit or not shutil.which("g++"):
        return [report.skip(program, "needs g++ and the headers of a CUDA toolkit") for program in PROGRAMS]
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        simulator = simulated_test.Simulator(folder, toolkit)

        def compiled(source):
            return common.run([*simulator.compiler, "-c", source, "-o", folder / f"{source.stem}.o"])

        runtime = simulated_test.HERE / "runtime.cpp"
        sources = {name: [common.ROOT / source for source in listed] for name, (listed, _) in PROGRAMS.items()}
        results = common.parallel(compiled, [runtime, *(source for listed in sources.values() for source in listed)])
        for source, (status, output) in results:
            if status:
                return report.fail(f"{source.name} (compiling)", "\n".join(output.splitlines()[:40]))
        for name, (_, check_program) in PROGRAMS.items():
            objects = [folder / f"{source.stem}.o" for source in (runtime, *sources[name])]
            program = folder / name
            status, output = simulator.link(objects, program)
            if status:
                report.fail(f"{name} (linking)", output)
            else:
                check_program(report, program)


if __name__ == "__main__":
    common.main(check)
