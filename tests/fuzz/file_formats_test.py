#!/usr/bin/env python3
"""Readers of files of weights and networks under libFuzzer, from small valid files that file_formats.cpp writes.

Without --seconds, each reader gets some hundred inputs, which shows that the program works. With it, each named format,
or each of them, is fuzzed for this time, with sanitizers and limits of memory; a corpus and the inputs that
failed stay in --keep. An input that failed is repeated by LOCUS_FUZZED=FORMAT KEEP/file_formats KEEP/FORMAT.failed/...

usage: file_formats_test.py [--seconds S] [--networks] [--keep FOLDER] [FORMAT...]
--networks adds the format "network": networks of ONNX that are run, which takes minutes to compile. Seeds of it beside
the program's are files *.onnx below KEEP/models.
"""

import argparse
import pathlib
import re
import shutil
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))
import common  # noqa: E402

RUNS = 300
LIMITS = ["-rss_limit_mb=1024", "-malloc_limit_mb=256", "-timeout=20"]
# Conversions of elements are those of C++, also of numbers that the other type cannot hold.
SANITIZED = ["-O1", "-g1", "-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=undefined",
             "-fno-sanitize=float-cast-overflow"]
LONGEST_MODEL = 4000  # bytes of a seed


def built(compiler, folder, options):
    """The program, or why there is none."""
    program = folder / "file_formats"
    status, output = common.run([compiler, *common.CXX, *(SANITIZED if options.seconds else ["-O0", "-fsanitize=fuzzer"]),
                                 *common.INCLUDES, f"-I{HERE.parent}", "-DLOCUS_ZLIB=1",
                                 f'-DLOCUS_GOLDEN="{HERE.parent / "golden"}"', f"-DLOCUS_FUZZ_NETWORKS={int(options.networks)}",
                                 HERE / "file_formats.cpp", "-lz", "-lpcre2-8", "-lutf8proc", "-o", program])
    return (program, None) if status == 0 else (None, output)


def fuzz(program, name, folder, seconds):
    """Fuzzes one format. Returns why it failed, or None."""
    corpus, failed = folder / f"{name}.corpus", folder / f"{name}.failed"
    corpus.mkdir(exist_ok=True)
    failed.mkdir(exist_ok=True)
    limit = f"-max_total_time={seconds}" if seconds else f"-runs={RUNS}"
    status, output, used = common.run_timed(
        [program, limit, *LIMITS, "-print_final_stats=1", f"-artifact_prefix={failed}/", corpus, folder / "seeds" / name],
        env={"LOCUS_FUZZED": name, "ASAN_OPTIONS": "detect_stack_use_after_return=1:allocator_may_return_null=1"})
    inputs = re.search(r"^stat::number_of_executed_units: *(\d+)", output, re.MULTILINE)
    print(f"{name}: {int(inputs[1]) if inputs else 0:,} inputs in {used:.0f} s of processor time")
    return output[-3000:] if status or not inputs or any(failed.iterdir()) else None


def check_all(report, options):
    compiler = shutil.which("clang++-14")
    if not compiler or not all(pathlib.Path("/usr/include", name).exists() for name in ("protozero", "pcre2.h", "utf8proc.h")):
        return report.skip("file formats", "needs clang++-14 with libFuzzer (libclang-rt-14-dev), libprotozero-dev, libpcre2-dev, libutf8proc-dev")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(options.keep or temporary).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        program, problem = built(compiler, folder, options)
        report.add("file_formats.cpp", problem)
        if problem:
            return None
        status, output = common.run([program], env={"LOCUS_FUZZ_SEEDS": str(folder / "seeds")})
        report.add("seeds", output if status else None)
        for path in (folder / "models").rglob("*.onnx"):
            if options.networks and path.stat().st_size < LONGEST_MODEL:
                shutil.copy(path, folder / "seeds" / "network" / "-".join(path.relative_to(folder / "models").parts))
        names = sorted(path.name for path in (folder / "seeds").iterdir())
        for name in options.formats or names:
            report.add(name, fuzz(program, name, folder, options.seconds) if name in names else f"expected one of {names}")
    return None


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=0)
    parser.add_argument("--networks", action="store_true")
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("formats", nargs="*", metavar="FORMAT")
    arguments = parser.parse_args()
    common.main(lambda report: check_all(report, arguments))
