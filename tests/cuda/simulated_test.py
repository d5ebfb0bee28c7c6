#!/usr/bin/env python3
"""Runs the Cuda device on the host: the real kernels, rewritten for a C++ compiler, on simulated threads.

simulated_test.py [--sanitize | --threads] [test source...]     (default: all sources)

It proves: the element that every thread accesses, barriers and shuffles, launch configurations, plans, epilogues, the
memory pool, and the waits between streams. It cannot prove: the GPU compiler's code, the concurrency of blocks, and
cuBLASLt, cuSOLVER and CUB themselves, which stand-ins in simulated/ replace.

--sanitize checks memory and undefined behaviour, --threads data races (by default in simulated/threads.cpp and tests of
streams).

All programs together must execute 97 % of the lines of cuda_kernels that they compile; the other lines are listed.
"""

import argparse
import collections
import os
import pathlib
import re
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import common  # noqa: E402
import together  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent / "simulated"
TESTS = HERE.parents[1]
# The longest first, so that the last one does not run alone.
DEFAULT = [*(TESTS / "cuda" / f"{name}_test.cpp" for name in ("verbs", "training", "sorting", "stream_order")),
           *(TESTS / "tensor" / f"{name}_test.cpp" for name in ("copy", "copy_async")),
           *(TESTS / "device" / f"{name}_test.cpp" for name in ("capture", "launch_trace", "phase_trace", "device_info")),
           *(TESTS / "distributed" / f"{name}_test.cpp" for name in ("gpus", "distributed_gpus", "checkpoint_gpus")),
           *(TESTS / "autograd" / f"{name}_test.cpp" for name in ("hooks", "checkpoint")),
           *(TESTS / "ops" / f"{name}_test.cpp" for name in ("attention", "complex", "linear", "scan", "scatter", "dropout", "pad", "pool", "interpolate", "unfold", "conv", "channels_last", "linear_cross_entropy")),
           TESTS / "models" / "gpt2_test.cpp",
           TESTS / "nn" / "batch_norm_test.cpp", *(TESTS / "data" / f"{name}_test.cpp" for name in ("transformed", "dataset", "to")),
           *(TESTS / "optim" / f"{name}_test.cpp" for name in ("grad_scaler", "groups", "masters", "skip")), TESTS / "autograd" / "flat_test.cpp",
           *(HERE / f"{name}.cpp" for name in ("plans", "errors", "memory", "streams", "tables", "norms", "exponentials", "cudnn", "fft", "linalg", "nccl", "nvtx",
                                         "timeline", "threads"))]
WITH_THREADS = [HERE / "threads.cpp", TESTS / "tensor" / "copy_async_test.cpp", HERE / "streams.cpp", HERE / "timeline.cpp"]
LEAST_COVERAGE = 97  # % of lines
# A line of gcov: execution count, line number, text.
COUNTED = re.compile(r"^ *(-|#+|=+|\d+\*?): *(\d+):(.*)$", re.MULTILINE)

# Runs of a program in addition to its plain one: arguments and environment.
ONLY_PRODUCTS, ONLY_MEMORY = ["--test-case=*gemm*"], ["--test-case=*memory*,*copies*,*second GPU*"]
CHANCE = {"LOCUS_SIMULATED_CHANCE": "1"}  # streams progress at random: a missing wait reads values too early
NO_POOLS = {"LOCUS_SIMULATED_POOLS": "0"}
NO_POOL = {"LOCUS_CUDA_POOL": "0"}
REFUSALS = {"LOCUS_SIMULATED_REFUSALS": "1"}
MODES = {
    # These products have every layout, which must also be timed correctly, and computed correctly when cuBLASLt rejects
    # a layout.
    "verbs_test": [(ONLY_PRODUCTS, {"LOCUS_AUTOTUNE": "1"}), (ONLY_PRODUCTS, REFUSALS), ([], {**CHANCE, **NO_POOLS}),
                   (ONLY_MEMORY, NO_POOL)],
    "streams": [(["--test-case=memory of another library*"], CHANCE)],
    "fft": [([], {**CHANCE, **NO_POOLS})],
    "linalg": [([], {**CHANCE, **NO_POOLS})],
    "training_test": [([], {**CHANCE, **NO_POOL})],
    "linear_test": [([], REFUSALS), ([], {**CHANCE, **NO_POOLS})],
    "capture_test": [([], {**CHANCE, **NO_POOLS}), ([], NO_POOL)],
    "copy_test": [([], {**CHANCE, **NO_POOL})],
    "scatter_test": [([], CHANCE)],  # an index error is found after the host went on
    "copy_async_test": [([], {**CHANCE, **NO_POOL})],
}


def toolkit_headers():
    nvcc = common.find_nvcc()
    if not nvcc:
        return None
    root = pathlib.Path(nvcc).resolve().parents[1]
    for folder in [root / "include", *sorted(root.glob("targets/*/include"))]:
        if (folder / "cuda_runtime_api.h").exists():
            return folder
    return None


def closing(text, start):
    """Index of the parenthesis that closes the one at start."""
    depth = 0
    for index in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        if depth == 0:
            return index
    raise ValueError("unbalanced parentheses")


def rewrite_launches(text):
    """kernel<<<configuration>>>(arguments) -> simulated::Launch(configuration)(a call of the kernel, arguments)"""
    while (at := text.find("<<<")) >= 0:
        begin = max(text.rfind(mark, 0, at) for mark in ";{}") + 1
        begin += len(text[begin:]) - len(text[begin:].lstrip())
        end_of_configuration = text.index(">>>(", at)
        last = closing(text, end_of_configuration + 3)
        kernel, configuration = text[begin:at], text[at + 3:end_of_configuration]
        arguments = text[end_of_configuration + 4:last]
        call = f"[=](const auto&... values) {{ {kernel}(values...); }}"
        text = f"{text[:begin]}simulated::Launch({configuration})({call}, {arguments}){text[last + 1:]}"
    return text


def rewrite(text, name):
    text = re.sub(r"//.*", "", text)
    text = re.sub(r"extern __shared__ [^;]*?(\w+)\[\];", r"unsigned char* const \1 = simulated::dynamic_shared;", text)
    text = re.sub(r"__shared__ alignas\((\w+)\)", r"static __attribute__((aligned(\1)))", text)
    text = text.replace("__shared__", "static")
    if name == "config.hpp":
        text = text.replace("#if defined(__CUDACC__)\n#define LOCUS_NVCC 1\n#define LOCUS_HD __host__ __device__",
                            "#if 1\n#define LOCUS_NVCC 1\n#define LOCUS_HD")
        text = text.replace("LOCUS_ON_DEVICE LOCUS_DEVICE_PASS", "LOCUS_ON_DEVICE 1")
        assert text.count("#if 1\n") == 1 and text.count("LOCUS_ON_DEVICE 1\n") == 1, \
            "core/config.hpp no longer says what this expects"
    return rewrite_launches(text)


class Simulator:
    """Builds test programs over rewritten sources, and runs them."""

    def __init__(self, folder, toolkit, *, sanitize=False, threads=False, counts_lines=False):
        """counts_lines: of cuda_kernels alone, which is cheap, for coverage(); needs clang++ and llvm-cov."""
        self.folder = folder
        # Optimizing takes longer than it saves, and g++ twice as long as clang. The sanitizers are g++'s: runtime.cpp
        # announces fibers to them if the macros of g++ are defined.
        clang = common.find_compilers().get("clang")
        self.driver = "g++" if sanitize or threads else clang or "g++"
        self.flags = ["-O0", "-gline-tables-only" if self.driver != "g++" else "-g1"]  # lines, for stream_order_test.cpp
        if sanitize:
            self.flags = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
        if threads:
            self.flags = ["-O0", "-g", "-fsanitize=thread"]
        self.cov = shutil.which("llvm-cov-14") or shutil.which("llvm-cov") if counts_lines and clang else None
        if self.cov:
            self.flags += ["--coverage", "-fprofile-filter-files=.*/cuda_kernels/.*", "-DLOCUS_SIMULATED_COVERAGE=1"]
        self.compiler = [self.driver, *common.CXX, "-w", *self.flags, "-DLOCUS_CUDA=1", "-DLOCUS_SIMULATED_CUDA=1",
                         "-DLOCUS_TEST_DEVICES=locus::Cuda", "-include", HERE / "simulator.hpp",
                         f"-I{folder / 'include'}", f"-I{folder / 'cuda_kernels'}", f"-I{common.ROOT / 'tests'}",
                         f"-I{HERE}", "-isystem", toolkit]
        for tree in ("include", "cuda_kernels"):
            for file in common.sources(tree):
                target = folder / file.relative_to(common.ROOT)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(rewrite(file.read_text(), file.name))

    def build_runtime(self):
        """Builds the objects that all programs share; returns the error or None."""
        self.objects = [self.folder / "main.o", self.folder / "runtime.o"]
        for source, target in zip((common.ROOT / "tests" / "main.cpp", HERE / "runtime.cpp"), self.objects):
            status, output = common.run([*self.compiler, "-O2", "-c", source, "-o", target])
            if status:
                return output
        return None

    def compile(self, unit):
        """Compiles sources as one program; returns the program and the error or None."""
        program = self.folder / unit[0].stem
        source, object_file = program.with_suffix(".cpp"), program.with_suffix(".o")
        source.write_text(together.in_one_file(unit, devices_given=True))
        status, output = common.run([*self.compiler, "-c", source, "-o", object_file], env=common.HUGE_PAGES)
        if not status:
            status, output = self.link([object_file, *self.objects], program)
        return program, "\n".join(output.splitlines()[:40]) or "failed" if status else None

    def link(self, objects, program):
        """Exit status and output."""
        return common.run([self.driver, *self.flags, *objects, "-lpthread", "-lz", "-o", program])

    def run(self, program, source, mode):
        """Exit status and output of the tests of one source in one mode."""
        arguments, environment = mode
        of_source = [] if together.includes_sources(source) else [f"--source-file=*{source.parent.name}/{source.name}"]
        return common.run([program, *of_source, *arguments], env={"ASAN_OPTIONS": "detect_leaks=0", "LOCUS_CHECK_STREAMS": "1", "LOCUS_TEST_DIR": str(TESTS), **environment})

    def coverage(self):
        """{file of cuda_kernels: {line: whether any instantiation of any program executed it}}"""
        lines = collections.defaultdict(lambda: collections.defaultdict(bool))
        kernels = self.folder / "cuda_kernels"
        for data in sorted(self.folder.glob("*.gcda")):
            status, output = common.run([self.cov, "gcov", "--stdout", data], cwd=self.folder)
            if status:
                raise RuntimeError(f"{self.cov} gcov {data.name}: {output[:1000]}")
            file = None
            for count, number, text in COUNTED.findall(output):
                if number == "0":  # about the file, such as its name
                    if text.startswith("Source:"):
                        path = pathlib.Path(self.folder, text.removeprefix("Source:")).resolve()
                        file = path.relative_to(kernels) if path.is_relative_to(kernels) else None
                elif file and count != "-":  # a line with code
                    lines[file][int(number)] |= not count.startswith("#")
        return lines


def units_of(sources):
    """Groups sources into programs: one program of several sources compiles faster than one per source. The longest
    sources come first, so that the last one does not run alone."""
    # addr2line, which stream_order_test.cpp waits for, takes seconds on a large program.
    alone = [source for source in sources if together.includes_sources(source) or source.stem == "stream_order_test"]
    others = [source for source in sources if source not in alone]
    units = [[] for _ in range(max(os.cpu_count(), len(others) // 4))]

    def lines(unit):
        return sum(source.read_text().count("\n") for source in unit)

    for source in sorted(others, key=lambda source: -lines([source])):
        min(units, key=lines).append(source)
    return sorted(filter(None, [*units, *([source] for source in alone)]), key=lambda unit: -lines(unit))


def modes_of(source):
    """The modes of a source. Operations run in plain mode alone, except those in MODES: all launch, wait and copy
    through a few shared functions, which other tests run with streams that progress at random."""
    more = [] if source.parent == HERE or source.parent.name in ("ops", "nn") else [([], CHANCE)]
    return [([], {}), *MODES.get(source.stem, more)]


def ranges(numbers):
    """[1, 2, 3, 7] -> 1-3, 7"""
    parts = []
    for number in sorted(numbers):
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)


def check_coverage(report, lines):
    total = sum(len(executed) for executed in lines.values())
    executed = sum(sum(of_file.values()) for of_file in lines.values())
    share = 100 * executed / total if total else 0
    print(f"{executed} of {total} lines of cuda_kernels are executed, {share:.1f} %; not:")
    for file, of_file in sorted(lines.items()):
        if missed := [number for number, is_executed in of_file.items() if not is_executed]:
            print(f"    {file}: {ranges(missed)}")
    report.add("coverage", None if share >= LEAST_COVERAGE else f"{share:.1f} %; expected {LEAST_COVERAGE}")


def count(report, name, status, output):
    """Adds the counts of a program."""
    counts = common.COUNTS.findall(output)
    if not counts:
        return report.fail(name, output[-4000:])
    passed, failed, skipped = map(int, counts[-1])
    if not passed + failed + skipped:
        return report.fail(name, "no test ran")
    report.passed += passed
    report.skipped += skipped
    report.failed += failed or status != 0
    if failed or status:
        print(output[-6000:])


def check(report, options):
    toolkit = toolkit_headers()
    usual = WITH_THREADS if options.threads else DEFAULT
    sources = [pathlib.Path(source).resolve() for source in options.sources or usual]
    if not toolkit or not shutil.which("g++"):
        return [report.skip(source.name, "needs g++ and the headers of a CUDA toolkit") for source in sources]
    with tempfile.TemporaryDirectory() as temporary:
        counts_lines = not (options.sanitize or options.threads or options.sources)
        simulator = Simulator(pathlib.Path(temporary).resolve(), toolkit, sanitize=options.sanitize,
                              threads=options.threads, counts_lines=counts_lines)
        if problem := simulator.build_runtime():
            return report.fail("the simulated runtime (compiling)", problem)
        jobs = []
        for unit, (program, problem) in common.parallel(simulator.compile, units_of(sources)):
            if problem:
                report.fail(f"{', '.join(source.name for source in unit)} (compiling)", problem)
            else:
                jobs += [(program, source, mode) for source in unit for mode in modes_of(source)]
        jobs.sort(key=lambda job: sources.index(job[1]))  # in the order of DEFAULT: the longest first
        for (_, source, _), result in common.parallel(lambda job: simulator.run(*job), jobs):
            count(report, source.name, *result)
        if not counts_lines:
            return
        if not simulator.cov:
            return report.skip("coverage", "needs clang++ and llvm-cov")
        check_coverage(report, simulator.coverage())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    instrumented = parser.add_mutually_exclusive_group()
    instrumented.add_argument("--sanitize", action="store_true")
    instrumented.add_argument("--threads", action="store_true")
    parser.add_argument("sources", nargs="*")
    options = parser.parse_args()
    common.main(lambda report: check(report, options))
