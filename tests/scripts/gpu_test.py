#!/usr/bin/env python3
"""scripts/gpu and its packs, with shell scripts in place of the programs. With a build folder, also checks that it has
the programs that the scripts look for by name.

usage: gpu_test.py [BUILD_DIR]
"""

import ast
import contextlib
import functools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / folder) for folder in ("tests/tools", "scripts/lib",
                                                                                         "tests/cuda")]
import cases  # noqa: E402
import common  # noqa: E402
import device_tests  # noqa: E402
import dry_run  # noqa: E402
import gpu_program_test  # noqa: E402
import machine  # noqa: E402
import measurements  # noqa: E402
import networks  # noqa: E402
import pack  # noqa: E402
import packed  # noqa: E402
import processes  # noqa: E402
import record  # noqa: E402
import targets  # noqa: E402

BUILD = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else None
LISTING = '<TestCase name="a&lt;locus::Cuda>" filename="../tests/{}_test.cpp" line="1"/>'
GOOD = 'echo "3 passed, 0 failed, 1 skipped"'
DRIVER = """
#include <cstdlib>
#include <cstring>
extern "C" int cuInit(unsigned) { return 0; }
extern "C" int cuDriverGetVersion(int* version) { return *version = 13000, 0; }
extern "C" int cuDeviceGetCount(int* count) { return *count = std::atoi(std::getenv("GPUS")), 0; }
extern "C" int cuDeviceGetName(char* name, int, int) { return std::strcpy(name, "Pretend 2"), 0; }
extern "C" int cuDeviceGetAttribute(int* value, int, int) { return *value = 9, 0; }
"""


@functools.cache
def driver_library():
    """The bytes of a libcuda.so.1 that shows the number of GPUs in the environment. It is compiled once."""
    with tempfile.TemporaryDirectory() as folder:
        source, library = pathlib.Path(folder) / "driver.cpp", pathlib.Path(folder) / "libcuda.so.1"
        source.write_text(DRIVER)
        status, output = common.run(["g++", "-shared", "-fPIC", source, "-o", library])
        if status:
            raise RuntimeError(output)
        return library.read_bytes()


class Pretended(cases.Scratch):
    """An invented machine: nvidia-smi, compute-sanitizer, test programs, example and benchmarks are scripts."""

    def program(self, path, body):
        self.write(path, "#!/bin/sh\n" + body).chmod(0o755)

    def sources(self, name, **sources):
        """A test program of several sources: {folder_name: shell code for this source}."""
        paths = {source.replace("_", "/", 1): body for source, body in sources.items()}
        listed = "".join(LISTING.format(path) for path in paths)
        choices = "\n".join(f"  *{path}_test.cpp*) {body} ;;" for path, body in paths.items())
        self.program(f"build/tests/{name}_cuda_test", f"""case "$*" in
  *--list-test-cases*) echo '{listed}' ;;
{choices}
  *) {next(iter(paths.values())) if len(paths) == 1 else "exit 3"} ;;
esac
""")

    def setUp(self):
        super().setUp()
        self.program("bin/nvidia-smi", 'case "$*" in -L) echo "GPU 0: Pretend";; *) echo "Pretend 1, 1.2, 9.0, 1, 1";; esac\n')
        self.sanitizer("")
        self.sources("device", ops_softmax=GOOD)
        self.train({"cpu": 0.5, "cuda": 0.5})
        self.program("build/benchmarks/matmul", 'while [ "$1" != --json ]; do shift; done; echo \'{"products": [1]}\' > "$2"\n')
        self.program("build/benchmarks/training_times", 'echo \'{"environment": {"gpu": "Pretend 1"}}\'; echo "{\\"asked\\": \\"$*\\"}"\n')
        self.program("bin/torch", f'echo "$*" >> {self.root}/asked\necho \'{{"unavailable": "not here"}}\'\n')
        self.networks()
        self.verbs({})

    def networks(self, launched=0.5):
        """examples/cifar10, whose averages have the accuracy 0.5 in captured steps, and examples/gpt2."""
        self.program("build/examples/cifar10", f"""accuracy=0.5
case "$*" in *--no-capture*) accuracy={launched};; esac
while [ "$1" != --output ]; do shift; done
echo "[{{\\"samples_per_second\\": 7.5, \\"train_loss\\": 1, \\"memory\\": {{\\"peak_bytes\\": 5}}, \\"metrics\\": {{\\"average accuracy\\": $accuracy}}}}]" > "$2/history.json"
""")
        self.program("build/examples/gpt2",
                     'echo "step      1: loss 3.5000, learning rate 0.1, 100 tokens/s, 1.5 % of peak, 2 MB at most"\n'
                     'echo "step      2: loss 3.2500, learning rate 0.1, 300 tokens/s, 4.5 % of peak, 3 MB at most"\n')

    def driver(self, gpus):
        """An environment without nvidia-smi, in which libcuda.so.1 shows this number of GPUs, whether or not the
        machine has another one."""
        (self.root / "bin/nvidia-smi").unlink(missing_ok=True)
        (self.root / "libcuda.so.1").write_bytes(driver_library())
        return {"LD_LIBRARY_PATH": str(self.root), "GPUS": str(gpus)}

    def sanitizer(self, body):
        """A compute-sanitizer that logs its call, executes `body` and runs the program."""
        self.program("bin/compute-sanitizer",
                     f'echo "pool=$LOCUS_CUDA_POOL $*" >> {self.root}/sanitized\n{body}\n'
                     'while [ "${1#/}" = "$1" ]; do shift; done; exec "$@"\n')

    def verbs(self, change, ending=""):
        """benchmarks/verbs, with a workload in every group; the first one answers with `change`."""
        works = [{"name": f"{group} x", "group": group, "operation": "product", "dtype": "f32", "sizes": [8, 8], "bytes": 256,
                  "flops": 0} for group in dict.fromkeys(target.group for target in targets.TARGETS)]
        good = {"problem": "", "error": 0.5, "bytes": 256, "wall": [2e-6, 3e-6], "gpu": [1e-6, 1e-6], "host": [1e-6]}
        answers = {work["name"]: {name: good for name in ("locus", "locus unfused", "copy")} for work in works}
        answers[works[0]["name"]] = {"locus": {**good, **change}}
        self.write("build/benchmarks/verbs", f"""#!/usr/bin/env python3
import json, sys
print(json.dumps({{"environment": {{}}, "workloads": {works}}}), flush=True)
for line in sys.stdin:
    {ending or "pass"}
    print(json.dumps({{"name": line.strip(), "variants": {answers}[line.strip()]}}), flush=True)
""").chmod(0o755)

    def train(self, losses):
        steps = "".join(f'{device}) loss={loss};; ' for device, loss in losses.items())
        self.program("build/examples/mnist",
                     f'case $2 in {steps} esac\nwhile [ $# -gt 1 ]; do case $1 in --history) echo "[]" > "$2";; '
                     '--steps-log) { printf "[%s" $loss; for i in $(seq 100); do printf ",%s" $loss; done; echo "]"; }'
                     ' > "$2";; esac; shift; done\n')


class Losses(unittest.TestCase):
    """As on an H200, where each step differed by rounding, and on an H100, where an input of ReLU changed its sign."""

    def of(self, differences):
        cpu = [2.0 / (step + 1) for step in range(100)]
        return measurements.compare_losses(cpu, [loss + differences.get(step, 1.2e-7) for step, loss in enumerate(cpu)])

    def test_rounding_agrees(self):
        compared = self.of({})
        self.assertTrue(compared["agrees"])
        self.assertIsNone(compared["kink"])

    def test_a_late_kink_agrees_and_is_named(self):
        compared = self.of({92: 8.1e-5, 95: 8.3e-5, 96: 7.1e-4, 99: 1.01e-3})
        self.assertTrue(compared["agrees"])
        self.assertEqual(compared["kink"], 92)

    def test_an_early_one_a_large_one_and_missing_steps_do_not(self):
        self.assertFalse(self.of({3: 8.1e-5})["agrees"])
        self.assertFalse(self.of({92: 0.05})["agrees"])
        self.assertFalse(self.of({50: float("nan")})["agrees"])
        self.assertFalse(measurements.compare_losses([1.0] * 99, [1.0] * 99)["agrees"])


class GpuScript(Pretended):
    def run_script(self, *options, env={}):
        out = self.root / "out.json"
        path = f"{self.root / 'bin'}:/usr/bin:/bin"
        status, output = common.run([common.ROOT / "scripts" / "gpu", "--prebuilt", self.root / "build", "--out", out,
                                     "--torch", self.root / "bin" / "torch", *options], env={"PATH": path, **env})
        return status, output, json.loads(out.read_text()) if out.exists() else None

    def test_a_good_machine(self):
        status, output, results = self.run_script()
        self.assertEqual(status, 0, output)
        self.assertEqual(output.splitlines()[-1], "25 passed, 0 failed, 10 skipped")
        self.assertEqual(results["gpus"][0]["name"], "Pretend 1")
        self.assertEqual({run["tool"] for run in results["sanitizer_runs"] if run["passed"]}, {"memcheck", "racecheck"})
        self.assertTrue(results["training"]["agrees"])
        self.assertEqual(results["matmul"]["products"], [1])
        self.assertEqual(results["training times"]["environment"]["gpu"], "Pretend 1")
        steps, epochs = (line["asked"] for line in results["training times"]["lines"])
        self.assertRegex(steps, r"^--device both --budget [0-9.]+ --hidden 16,")
        self.assertIn("--images 1000,60000", epochs)
        first = results["verbs"]["workloads"][0]
        self.assertEqual(first["variants"]["locus"]["gpu"], {"median": 1e-6, "p10": 1e-6, "p90": 1e-6, "samples": 6})
        self.assertEqual(results["verbs"]["peer"], {"unavailable": "not here"})

    def test_failures_are_told_and_the_file_is_written_all_the_same(self):
        self.program("build/tests/device_map_cuda_test", 'echo "1 passed, 2 failed, 0 skipped"; exit 1\n')
        self.program("build/benchmarks/matmul", "exit 3\n")
        self.train({"cpu": 0.5, "cuda": 0.502})
        status, output, results = self.run_script("--quick")
        self.assertEqual(status, 1, output)
        self.assertEqual(len(results["failures"]), 3, results["failures"])
        self.assertFalse(results["training"]["agrees"])

    def test_a_sanitizer_that_finds_nothing_because_it_could_not_run(self):
        self.program("bin/compute-sanitizer", "exit 4\n")
        status, output, results = self.run_script()
        self.assertEqual(status, 1, output)
        self.assertEqual(sorted(results["failures"]), ["memcheck device_cuda_test ops/softmax: ended with status 4",
                                                       "racecheck device_cuda_test ops/softmax: ended with status 4"])

    def test_parts_that_fail(self):
        results = {"seconds": {"device tests": 1.0, "something new": 1.0, "sanitizer": None}, "something new": {"error": "new"},
                   "sanitizer": {"error": "boom"}, "device tests": {"error": "bang\nmore"}}
        self.assertEqual(record.failures(results), ["device tests: bang", "something new: new", "sanitizer: boom"])
        self.assertEqual(record.count(results), {"passed": 0, "failed": 3, "skipped": 0})

    def test_networks_are_measured(self):
        status, output, results = self.run_script("--quick")
        self.assertEqual(status, 0, output)
        images, = results["cifar10"]["batches"]
        texts, = results["gpt2"]["batches"]
        self.assertEqual({name: run["per_second"] for name, run in images["runs"].items()},
                         {name: 7.5 for name, *_ in networks.PRECISIONS})
        self.assertEqual(texts["runs"]["bfloat16"], {"per_second": 300.0, "share_of_peak": 0.045, "loss": 3.25, "peak_bytes": 3e6})
        self.assertEqual(images["runs"]["float"]["peak_bytes"], 5)
        self.assertEqual(results["averages"]["largest_difference"], 0)
        self.assertEqual(images["peer"], {"unavailable": '{"unavailable": "not here"}'})

    def test_a_long_run_measures_more(self):
        status, output, results = self.run_script("--quick", "--long")
        self.assertEqual(status, 0, output)
        for part, sizes in (("cifar10", networks.LONG_IMAGES), ("gpt2", networks.LONG_TOKENS)):
            self.assertEqual([found["batch"] for found in results[part]["batches"]],
                             [size[1] if part == "cifar10" else size[0] for size in sizes])

    def test_averages_that_differ(self):
        self.networks(launched=0.4)
        status, output, results = self.run_script("--quick")
        self.assertEqual((status, results["failures"]),
                         (1, ["accuracies of averaged weights differ by 0.100 between captured and launched steps"]), output)

    def test_networks_beside_pytorch(self):
        self.program("bin/torch", 'case "$*" in *torch_networks.py*) '
                     'echo \'{"variant": "bfloat16", "per_second": 5.0}\';; *) echo \'{"unavailable": "not here"}\';; esac\n')
        status, output, results = self.run_script("--quick")
        self.assertEqual(status, 0, output)
        self.assertIn("bfloat16, batches of 128: 8 images/s, 0 MB; PyTorch 5: 1.50", output)
        self.assertIn("bfloat16, batches of 4: 300 tokens/s, 3 MB; PyTorch 5: 60.00", output)

    def test_a_wrong_result_voids_its_time(self):
        self.verbs({"problem": "wrong: off by 7 times"})
        status, output, results = self.run_script()
        self.assertEqual((status, results["failures"]), (1, ["gemm x: locus: wrong: off by 7 times"]), output)
        self.assertNotIn("gpu", results["verbs"]["workloads"][0]["variants"]["locus"])

    def test_no_time_left(self):
        status, output = common.run([sys.executable, common.ROOT / "scripts" / "lib" / "dry_run.py", "--budget", "0", "--build",
                                     self.root / "build", "--torch", self.root / "bin" / "torch"])
        self.assertEqual(status, 1, output)
        self.assertIn("FAILED verbs\n    not run: out of time", output)

    def test_dry_run(self):
        self.program("bin/nvidia-smi", "exit 9\n")
        status, output, results = self.run_script("--dry-run")
        self.assertEqual(status, 0, output)
        self.assertEqual(output.splitlines()[-1], f"{len(results['verbs']['workloads']) + 7} passed, 0 failed, 1 skipped")
        for line in ("transfer: all of it", "gemm: product, full sizes (locus, PyTorch eager, cuBLASLt)",
                     "target: Adam, at least 0.93 x copy"):
            self.assertIn(line, results["awaits_hardware"])
            self.assertIn(line, output)

    def test_a_dry_run_finds_faults(self):
        for change, ending, why in (({"problem": "wrong: off by 7 times"}, "", "wrong: off by 7 times"),
                                    ({"error": 2}, "", "was not found right"),
                                    ({"wall": [0.0, 0.0]}, "", "no positive number of seconds"),
                                    ({"wall": []}, "", "is no median"),
                                    ({}, "if 'gemm' in line: sys.exit('broken')", "verbs ended early: broken"),
                                    ({}, "if 'gemm' in line: print('what?')", "which is no JSON")):
            self.verbs(change, ending)
            status, output, results = self.run_script("--dry-run")
            self.assertEqual((status, results["verbs"]["workloads"][0]["name"]), (1, "gemm x"), output)
            self.assertIn(why, output)
            self.assertRegex(output.splitlines()[-1], r"\d+ passed, 1 failed, 1 skipped")

    def test_a_target_that_nothing_is_held_against(self):
        report = {"peer": {"torch": "2"}, "workloads": [{"group": target.group, "variants": {"locus": {}}}
                                                        for target in targets.TARGETS if target.group != "rows"]}
        lines = "\n".join(dry_run.problems_of_targets(report))
        self.assertIn("no workload is in the group rows", lines)
        self.assertIn("nothing is called copy", lines)

    def test_targets(self):
        def work(**seconds):
            return {"name": "x", "group": "optimizer", "operation": "adam", "sizes": [1], "bytes": 28,
                    "variants": {name.replace("_", " "): {"bytes": {"copy": 14}.get(name, 28), "gpu": {"median": time}}
                                 for name, time in seconds.items()}}

        def verdicts(**seconds):
            return [entry["met"] for entry in targets.judge(work(**seconds))]

        self.assertEqual(verdicts(locus=1.0, copy=0.5, PyTorch_fused=1.2), [True, True])
        self.assertEqual(verdicts(locus=1.0, copy=0.45, PyTorch_fused=1.0), [False, False])
        self.assertEqual(verdicts(locus=1.0), [None, None])
        self.assertEqual(targets.byte_ratio({"sizes": [5, 1]}), 13 / 3)
        at_most = targets.Target("optimizer", "fast", 2.0)
        self.assertEqual([targets.judge(work(locus=time), (at_most,))[0]["met"] for time in (1.0, 3.0)], [True, False])

    def test_no_gpu(self):
        status, output, results = self.run_script(env=self.driver(0))
        self.assertEqual((status, results), (77, None), output)
        self.assertIn(f"no GPU answers ({self.root}/libcuda.so.1 lists no GPU); nothing was built", output)

    def test_a_gpu_that_the_driver_alone_shows(self):
        """Without nvidia-smi."""
        status, output, results = self.run_script("--quick", env=self.driver(1))
        self.assertEqual((status, results["gpus"]), (0, [{"name": "Pretend 2", "compute_cap": "9.9"}]), output)

    def test_programs_that_need_a_gpu_know_whether_there_is_one(self):
        with unittest.mock.patch.dict(os.environ, self.driver(1)):
            self.assertTrue(gpu_program_test.has_gpu())
            os.environ["GPUS"] = "0"
            self.assertFalse(gpu_program_test.has_gpu())

    def test_a_build_that_takes_all_the_time(self):
        status, output, results = self.run_script(env={"SECONDS": "600"})  # bash counts SECONDS from this value
        self.assertEqual((status, results), (1, None), output)
        self.assertRegex(output, r"gpu: building took 6\d\d s, .*Run this again: what is built stays")

    def test_a_build_that_lists_no_program(self):
        self.program("bin/meson", "case $1 in --version) echo 1.3.0;; introspect) echo '[]';; esac\n")
        for name in ("ninja", "dpkg-query"):
            self.program(f"bin/{name}", "echo installed\n")
        path = f"{self.root / 'bin'}:/usr/bin:/bin"
        status, output = common.run([common.ROOT / "scripts" / "gpu", "--build-dir", self.root / "build"], env={"PATH": path})
        self.assertEqual(status, 1, output)
        self.assertIn(f"meson lists no program of {self.root}/build that a run on a GPU needs", output)


class Driven(Pretended):
    def run_gpu(self, *options, budget=60, timeout=1):
        """Runs scripts/lib/gpu.py with short time-outs; programs are started even shortly before the deadline."""
        driver = (f"import sys, device_tests; device_tests.TIMEOUT, device_tests.SHORT_TIMEOUT = {timeout}, {timeout / 4};"
                  "import processes; processes.SHORTEST = 0.3; import gpu; sys.exit(gpu.main())")
        out = self.root / "out.json"
        command = [sys.executable, "-c", driver, "--build", self.root / "build", "--out", out, "--budget", budget,
                   "--torch", self.root / "bin" / "torch", *options]
        path = f"{common.ROOT / 'scripts' / 'lib'}:{common.ROOT / 'tests' / 'tools'}"
        status, output = common.run(command, env={"PATH": f"{self.root / 'bin'}:/usr/bin:/bin", "PYTHONPATH": path})
        return status, output, json.loads(out.read_text()) if out.exists() else None


class DeviceTests(Driven):
    """Every source of tests runs by itself with a time-out; every result is written when it ends."""

    def test_a_source_that_crashes_or_hangs_hides_no_other(self):
        self.sources("many", ops_a="kill -SEGV $$", ops_b="sleep 60", ops_c=GOOD, ops_d="echo 1 passed, 2 failed, 0 skipped; exit 1",
                   ops_e="echo skipped: no device; echo 0 passed, 0 failed, 2 skipped", ops_f="echo hello")
        status, output, results = self.run_gpu("--quick")
        self.assertEqual(status, 1, output)
        found = {entry["source"]: entry for entry in results["tests"]}
        self.assertEqual({source: entry["verdict"] for source, entry in found.items()}, {
            "ops/softmax": "passed", "ops/a": "crashed: SIGSEGV", "ops/b": "timed out after 1 s", "ops/c": "passed",
            "ops/d": "2 failed", "ops/e": "skipped", "ops/f": "counted no test"})
        self.assertEqual((found["ops/d"]["passed"], found["ops/d"]["failed"]), (1, 2))
        self.assertIn("skipped many_cuda_test ops/e: 2 skipped: no device", output)
        self.assertEqual(len(results["failures"]), 4, results["failures"])
        self.assertEqual(results["training"]["agrees"], True)
        self.assertEqual(results["state"], "complete")

    def test_the_newest_sources_run_first(self):
        self.sources("many", ops_a=GOOD, ops_attention=GOOD, ops_b=GOOD)
        status, output, results = self.run_gpu("--quick")
        self.assertEqual([entry["source"] for entry in results["tests"]], ["ops/attention", "ops/softmax", "ops/a", "ops/b"], output)

    def test_the_log_has_what_the_programs_print(self):
        self.sources("device", ops_softmax=f"echo a table; {GOOD}")
        self.run_gpu("--quick")
        self.assertIn("a table", (self.root / "build" / "gpu.log").read_text())

    def test_little_patience_after_two_that_hang(self):
        self.sources("many", ops_a="sleep 60", ops_b="sleep 60", ops_c="sleep 60")
        status, output, results = self.run_gpu("--quick", timeout=1)
        seconds = {entry["source"]: entry["seconds"] for entry in results["tests"]}
        self.assertTrue(seconds["ops/a"] > 0.9 < seconds["ops/b"] and seconds["ops/c"] < 0.7, output)

    def test_no_time_is_no_failure(self):
        self.sources("many", ops_a=GOOD, ops_b=GOOD)
        status, output, results = self.run_gpu(budget=0)
        self.assertEqual({entry["verdict"] for entry in results["tests"]}, {"not run: out of time"})
        self.assertIn("not run: out of time", results["matmul"]["unavailable"])

    def test_a_gpu_that_programs_do_not_see(self):
        self.sources("device", ops_softmax="echo skipped: no CUDA device answers; echo 2 passed, 0 failed, 3 skipped")
        status, output, results = self.run_gpu("--quick")
        self.assertEqual((status, len(results["failures"])), (1, 1), output)
        self.assertIn("Pretend 1 is here, but tests were skipped: no CUDA device answers", results["failures"][0])
        self.assertIn(f'SKIP_TEST("{device_tests.NO_DEVICE}")', (common.ROOT / "tests/support/skip.hpp").read_text())

    def test_first_programs(self):
        name = device_tests.FIRST[0][0]
        self.program(f"build/examples/{name}", "echo 4 passed, 0 failed, 0 skipped\n")
        status, output, results = self.run_gpu("--quick")
        self.assertEqual([(entry["program"], entry["passed"]) for entry in results["first"]], [(name, 4)], output)
        self.assertLess(output.index(name), output.index("ops/softmax"))
        for ending, verdict in (("true", "passed"), ("echo no GPU; exit 77", "skipped"), ("exit 3", "ended with status 3: it printed nothing")):
            self.program(f"build/examples/{name}", ending + "\n")
            self.assertEqual(self.run_gpu("--quick")[2]["first"][0]["verdict"], verdict)
        self.program(f"build/examples/{name}", "echo no cuBLASLt; exit 1\n")
        status, output, results = self.run_gpu("--quick")
        self.assertEqual((status, results["failures"]), (1, [f"{name}: ended with status 1: no cuBLASLt"]), output)
        self.assertEqual([entry["verdict"] for entry in results["tests"]], ["passed"])


    def test_a_spent_budget_starts_nothing(self):
        name = device_tests.FIRST[0][0]
        self.program(f"build/examples/{name}", f"touch {self.root}/started; echo 1 passed, 0 failed, 0 skipped\n")
        self.sources("device", ops_softmax=f"touch {self.root}/started; {GOOD}")
        status, output, results = self.run_gpu(budget=-5)
        self.assertEqual((status, results["failures"]), (0, []), output)
        self.assertFalse((self.root / "started").exists(), output)
        self.assertEqual([entry["verdict"] for entry in results["first"] + results["tests"]], ["not run: out of time"] * 2)

    def test_what_the_budget_cuts_off_did_not_fail(self):
        self.program(f"build/examples/{device_tests.FIRST[0][0]}", "sleep 60\n")
        self.sources("device", ops_softmax="sleep 60")
        self.program("build/examples/mnist", "sleep 60\n")
        self.program("build/benchmarks/matmul", "sleep 60\n")
        self.program("build/benchmarks/training_times", "sleep 60\n")
        self.verbs({}, "__import__('time').sleep(60)")
        begun = time.monotonic()
        status, output, results = self.run_gpu(budget=10, timeout=60)
        self.assertLess(time.monotonic() - begun, 20)
        self.assertEqual((status, results["failures"]), (0, []), output)
        self.assertEqual([entry["verdict"] for entry in results["first"] + results["tests"]], ["not run: out of time"] * 2)
        self.assertEqual([results[part]["unavailable"] for part in ("training", "matmul", "training times")],
                         ["not run: out of time"] * 3)
        self.assertEqual((results["verbs"]["workloads"], results["verbs"]["left_out"][0]), ([], "gemm x"))

    def test_benchmarks_that_say_nothing_until_the_end(self):
        self.program("build/benchmarks/verbs", "sleep 60\n")
        begun = time.monotonic()
        status, output, results = self.run_gpu("--quick", budget=3)
        self.assertLess(time.monotonic() - begun, 10)
        self.assertEqual((status, results["verbs"]), (0, {"unavailable": "not run: out of time"}), output)

    def test_a_report_of_a_first_program(self):
        report = """while [ $# -gt 1 ]; do case $1 in --json) echo '{"experiments": [1]}' > "$2";; esac; shift; done"""
        self.program("build/tests/cuda_first_run", f"{report}; exit 1\n")
        status, output, results = self.run_gpu("--quick")
        self.assertEqual(results["first"][0]["report"], {"experiments": [1]}, output)
        self.assertEqual([path.name for path in self.root.rglob("*.json")], ["out.json"])

    def test_a_build_without_device_tests(self):
        (self.root / "build/tests/device_cuda_test").unlink()
        status, output, results = self.run_gpu()
        self.assertIn("no device test ran", results["sanitizer"]["unavailable"])
        self.assertEqual((status, len(results["failures"])), (1, 1), output)


class Sanitizing(Driven):
    def calls(self):
        return (self.root / "sanitized").read_text().splitlines()

    def verdicts(self, results, tool):
        return {run["source"]: run["verdict"] for run in results["sanitizer_runs"] if run["tool"] == tool}

    def test_how_it_is_called(self):
        self.sources("many", cuda_verbs=GOOD, ops_matmul=GOOD)
        status, output, results = self.run_gpu()
        self.assertEqual(self.verdicts(results, "memcheck"), dict.fromkeys(("ops/softmax", "cuda/verbs", "ops/matmul"), "clean"))
        racecheck = self.verdicts(results, "racecheck")
        self.assertEqual({source for source, verdict in racecheck.items() if verdict == "clean"}, {"ops/softmax", "cuda/verbs"})
        self.assertEqual(racecheck["ops/reduce"], "not run: the build has no such test")
        for call in self.calls():
            memcheck = "--tool memcheck" in call
            self.assertEqual("pool=0 " in call, memcheck, call)
            self.assertEqual("--report-api-errors no" in call, memcheck, call)
        self.assertTrue(any("--tool racecheck" in call and "--source-file=../tests/cuda/verbs_test.cpp" in call
                            for call in self.calls()))

    def test_errors(self):
        self.sanitizer("exit 9")
        status, output, results = self.run_gpu()
        self.assertEqual(status, 1, output)
        self.assertEqual(self.verdicts(results, "memcheck"), {"ops/softmax": "errors"})
        self.assertEqual(len(results["failures"]), 2, results["failures"])

    def test_out_of_time_is_not_run(self):
        self.sanitizer("sleep 60")
        status, output, results = self.run_gpu(budget=5)
        self.assertEqual(self.verdicts(results, "memcheck"), {"ops/softmax": "not run: out of time"}, output)
        self.assertEqual((status, results["failures"]), (0, []), output)

    def test_an_unsupported_device_is_asked_no_more(self):
        self.sanitizer("echo Device not supported; exit 1")
        self.sources("many", **{f"ops_{name}": GOOD for name in "abcdefgh"})
        status, output, results = self.run_gpu()
        self.assertEqual(set(self.verdicts(results, "memcheck").values()), {"not run: Device not supported by memcheck"})
        self.assertEqual((status, results["failures"]), (0, []), output)
        self.assertLess(len(self.calls()), 9)

    def test_an_output_names_no_folder_of_whoever_compiled_the_programs(self):
        said = "/home/me/its/tests/ops/a_test.cpp:3: ERROR in /home/me/include/locus/x.hpp, see /etc/nv/y"
        self.sources("device", ops_softmax=f'echo "{said}"; echo "2 passed, 1 failed, 0 skipped"; exit 1')
        status, output, results = self.run_gpu("--quick")
        entry = next(entry for entry in results["tests"] if entry["failed"])
        self.assertIn("\ntests/ops/a_test.cpp:3: ERROR in include/locus/x.hpp, see /etc/nv/y\n", "\n" + entry["output"])

    def test_pytorch_is_measured_without_compiling_on_request(self):
        for options, compiles in ((["--quick"], True), (["--quick", "--no-compile"], False)):
            (self.root / "asked").unlink(missing_ok=True)
            self.run_gpu(*options)
            asked = [line for line in (self.root / "asked").read_text().splitlines() if "torch_gpu.py" in line]
            self.assertEqual(["--no-compile" not in line for line in asked], [compiles])

    def test_tests_that_fail_are_not_sanitized(self):
        self.sources("device", ops_softmax="sleep 60")
        status, output, results = self.run_gpu()
        self.assertNotIn("ops/softmax", self.verdicts(results, "memcheck"))

    @unittest.skipUnless(BUILD and list(BUILD.glob("tests/*_cuda_test")), "no build folder with CUDA")
    def test_the_tests_that_racecheck_runs_are_in_the_build(self):
        programs = device_tests.test_programs(BUILD)
        environment, _, _ = machine.library_environment(programs, None)
        known = {unit.source for program in programs for unit in device_tests.units_of(
            program, lambda command, seconds: processes.run(command, seconds, environment))}
        for translated in BUILD.glob("tests/*.ptx"):  # without a GPU, most are translated only
            unit = translated.with_name(f"{translated.stem}_unit.cpp")
            known.update(re.findall(r'^#line 1 ".*/tests/(.*)_test\.cpp"$', unit.read_text() if unit.exists() else "", re.MULTILINE))
        self.assertLessEqual(set(device_tests.RACECHECK), known)


class Packs(Pretended):
    FACTS = {"commit": "abc", "modified": False, "toolkit": "13.0", "date": "2026-01-01", "architectures": ["sm_90"]}

    def make(self, name="pack"):
        pack.make(self.root / "build", self.root / name, self.FACTS)
        return self.root / name

    def command(self, folder, *options):
        return [folder / "run", "--out", self.root / "out", "--torch", self.root / "bin" / "torch", *options]

    def environment(self):
        return {"PATH": f"{self.root / 'bin'}:/usr/bin:/bin", "TMPDIR": str(self.root), "PYTHONDONTWRITEBYTECODE": ""}

    def run_pack(self, folder, *options, env={}):
        status, output = common.run(self.command(folder, *options), env={**self.environment(), **env}, cwd="/")
        results = self.root / "out" / "results.json"
        return status, output, json.loads(results.read_text()) if results.exists() else None

    def test_a_pack_runs_where_the_sources_are_not(self):
        self.sources("many", ops_a="kill -SEGV $$", ops_c=GOOD)
        moved = self.make().rename(self.root / "elsewhere")
        shutil.rmtree(self.root / "build")
        status, output, results = self.run_pack(moved)
        self.assertEqual(status, 1, output)
        self.assertEqual({entry["source"]: entry["verdict"] for entry in results["tests"]},
                         {"ops/softmax": "passed", "ops/a": "crashed: SIGSEGV", "ops/c": "passed"})
        self.assertEqual((results["commit"], results["pack"]["architectures"]), ("abc", ["sm_90"]))
        self.assertEqual(results["matmul"]["products"], [1])
        self.assertEqual(output.splitlines()[-1], "29 passed, 1 failed, 11 skipped")
        self.assertEqual(sorted(path.name for path in (self.root / "out").iterdir()), ["results.json", "results.log"])
        self.assertEqual(list(self.root.glob("locus-pack-*")), [])
        self.assertEqual(list(moved.rglob("__pycache__")), [])

    def test_a_machine_without_a_gpu(self):
        self.sources("device", ops_softmax="echo skipped: no CUDA device answers; echo 0 passed, 0 failed, 4 skipped")
        status, output, results = self.run_pack(self.make(), env=self.driver(0))
        self.assertEqual(status, 77, output)
        self.assertEqual(output.splitlines()[-1], "0 passed, 0 failed, 12 skipped")
        self.assertIn("skipped device_cuda_test ops/softmax: 4 skipped: no CUDA device answers", output)
        for part in ("training", "sanitizer", "matmul", "training times", "verbs"):
            self.assertIn("libcuda.so.1 lists no GPU", results[part]["unavailable"])

    def test_on_a_bare_machine(self):
        self.sources("device", ops_softmax="echo skipped: no CUDA device answers; echo 0 passed, 0 failed, 4 skipped")
        status, output = common.run([sys.executable, pathlib.Path(__file__).with_name("bare_machine.py"), self.make()])
        if "skipped bare machine" in output:
            self.skipTest(output)
        self.assertEqual(status, 0, output)
        self.assertIn("skipped training: nvidia-smi lists none, and there is no libcuda.so.1", output)

    def hangs(self):
        """Shell code that records its process and a child, and hangs."""
        return f"sleep 60 & echo $$ $! > {self.root}/pid; wait"

    def cut_off(self, number):
        """A pack with a hanging program, ended by a signal; (status, output, results, whether the program and its child
        ended)."""
        with subprocess.Popen([str(part) for part in self.command(self.make())], stdout=subprocess.PIPE, text=True,
                              env={**os.environ, **self.environment()}) as process:
            for _ in range(300):
                if (self.root / "pid").exists() and (self.root / "pid").read_text().strip():
                    break
                time.sleep(0.1)
            process.send_signal(number)
            output = process.communicate(timeout=30)[0]
        pids = (self.root / "pid").read_text().split()
        time.sleep(0.2)
        return (process.returncode, output, json.loads((self.root / "out" / "results.json").read_text()),
                not any(map(is_alive, pids)))

    def test_killed(self):
        self.sources("many", ops_a=GOOD, ops_b=self.hangs(), ops_c=GOOD)
        status, output, results, ended = self.cut_off(signal.SIGKILL)
        self.assertEqual((status, results["state"]), (-signal.SIGKILL, "cut off"))
        self.assertEqual([entry["verdict"] for entry in results["tests"]], ["passed", "passed"])
        self.assertTrue(ended, "the test outlived the run")
        self.assertIn("ops/a", (self.root / "out" / "results.log").read_text())

    def test_terminated(self):
        self.sources("many", ops_a=GOOD, ops_b=self.hangs(), ops_c=GOOD)
        status, output, results, ended = self.cut_off(signal.SIGTERM)
        self.assertEqual((status, results["state"]), (1, "cut off by SIGTERM"), output)
        self.assertTrue(ended, "the test outlived the run")
        self.assertEqual({entry["source"]: entry["verdict"] for entry in results["tests"]},
                         {"ops/softmax": "passed", "ops/a": "passed", "ops/b": "not run: cut off by SIGTERM",
                          "ops/c": "not run: cut off by SIGTERM"})
        self.assertEqual(results["device tests"]["unavailable"], "not run to its end: cut off by SIGTERM")
        self.assertEqual(results["matmul"]["unavailable"], "not run: cut off by SIGTERM")
        self.assertEqual(output.splitlines()[-1], "6 passed, 0 failed, 13 skipped")
        self.assertEqual(list(self.root.glob("locus-pack-*")), [])

    def test_terminated_under_the_sanitizer(self):
        self.sanitizer(self.hangs())
        status, output, results, ended = self.cut_off(signal.SIGTERM)
        self.assertEqual((status, results["state"], ended), (1, "cut off by SIGTERM", True), output)
        self.assertEqual(results["sanitizer"]["unavailable"], "not run to its end: cut off by SIGTERM")
        self.assertTrue(results["training"]["agrees"])

    def test_terminated_while_it_measures(self):
        self.verbs({}, f"if 'linear' in line: __import__('os').system('{self.hangs()}')")
        status, output, results, ended = self.cut_off(signal.SIGTERM)
        self.assertEqual((status, results["state"], ended), (1, "cut off by SIGTERM", True), output)
        self.assertEqual([work["name"] for work in results["verbs"]["workloads"]], ["gemm x"])
        self.assertEqual(results["verbs"]["unavailable"], "not run to its end: cut off by SIGTERM")

    def test_a_damaged_pack(self):
        folder = self.make()
        with open(folder / "programs.tar.xz", "ab") as archive:
            archive.write(b"x")
        status, output, results = self.run_pack(folder)
        self.assertEqual((status, results["state"]), (1, "ended early: programs"), output)
        self.assertIn("programs.tar.xz: damaged or missing; copy the pack again", output)

    def test_programs_are_as_they_were_packed(self):
        """Stripped ones."""
        shutil.copy(shutil.which("true"), self.root / "build/tests/unstripped_cuda_test")
        section = ["objcopy", "--add-section", f".note.x={__file__}", self.root / "build/tests/unstripped_cuda_test"]
        self.assertEqual(common.run(section)[0], 0)
        folder = self.make()
        manifest = json.loads((folder / "manifest.json").read_text())
        (self.root / "work").mkdir()
        packed.unpack(folder, manifest, self.root / "work")
        self.assertEqual(len(manifest["programs"]), 8)
        name = "tests/unstripped_cuda_test"
        manifest["programs"][name] = manifest["programs"]["tests/device_cuda_test"]
        with self.assertRaisesRegex(RuntimeError, f"{name}: not in .*/work as packed; free some space"):
            packed.unpack(folder, manifest, self.root / "work")

    def test_its_python_is_understood_by_3_9(self):
        for path in self.make().rglob("*.py"):
            ast.parse(path.read_text(), feature_version=(3, 9))

    def test_a_python_that_is_too_old(self):
        folder = self.make()
        self.program("bin/python3", 'case "$*" in *version_info*) exit 1;; --version) echo Python 3.8.10;; *) exit 5;; esac\n')
        status, output, _ = self.run_pack(folder)
        self.assertEqual(status, 1)
        self.assertIn("bin/python3 is Python 3.8.10; 3.9 or newer is needed. Put the folder of one first in PATH: ", output)

    def test_the_toolkit_is_that_of_the_build(self):
        """nvcc is searched for where Meson searches: in PATH, in CUDA_HOME, in /usr/local/cuda."""
        self.program("home/bin/nvcc", "echo Cuda compilation tools, release 12.9, V12.9.1\n")
        self.program("bin/meson", """echo '[{"name": "gpu_arch", "value": ["sm_90"]}]'\n""")
        (self.root / "build/meson-info").mkdir()
        place = {"PATH": f"{self.root / 'bin'}:/usr/bin:/bin", "CUDA_HOME": str(self.root / "home")}
        with unittest.mock.patch.dict(os.environ, place):
            os.environ.pop("LOCUS_NVCC", None)
            self.assertEqual(pack.facts_of(self.root / "build")["toolkit"], "12.9")
            os.environ["CUDA_HOME"] = "/nowhere"
            if os.access("/usr/local/cuda/bin/nvcc", os.X_OK):
                self.assertEqual(common.find_nvcc(), "/usr/local/cuda/bin/nvcc")

    def test_a_work_folder_that_is_not_there(self):
        status, output, results = self.run_pack(self.make(), "--work", "/nowhere")
        self.assertEqual((status, results), (1, None))
        self.assertIn("/nowhere: No such file or directory. Name one: --work DIR", output)

    def test_help(self):
        status, output, _ = self.run_pack(self.make(), "--help")
        self.assertEqual(status, 0)
        for word in ("--out DIR", "--torch PYTHON", "--budget SECONDS", "Exits with 0"):
            self.assertIn(word, output)
        order = [name for name, *_ in device_tests.FIRST] + ["device tests", "training", "compute-sanitizer", "benchmarks"]
        self.assertEqual(sorted(order, key=output.index), order)
        self.assertIn("DIR/cuda_first_run.json", output)

    def test_the_same_programs_give_the_same_pack(self):
        first, second = self.make("first"), self.make("second")
        files = sorted(path.relative_to(first) for path in first.rglob("*"))
        self.assertEqual(files, sorted(path.relative_to(second) for path in second.rglob("*")))
        for path in files:
            self.assertTrue((first / path).is_dir() or (first / path).read_bytes() == (second / path).read_bytes(), path)

    def test_what_is_replaced(self):
        self.write("other/file", "mine")
        with self.assertRaisesRegex(pack.Refused, "other is there and is no pack"):
            self.make("other")
        self.assertEqual((self.root / "other" / "file").read_text(), "mine")
        (self.root / "empty").mkdir()
        self.make("empty")
        self.write("empty/old", "old")
        self.make("empty")
        self.assertFalse((self.root / "empty" / "old").exists())
        self.assertEqual(list(self.root.glob(".*")), [])

    def test_a_pack_that_grew_too_large(self):
        self.make("earlier")
        with unittest.mock.patch.object(pack, "LARGEST", 100), self.assertRaisesRegex(pack.Refused, "at most 0.0 MiB"):
            self.make("earlier")
        self.assertTrue((self.root / "earlier" / "run").exists())

    def test_a_program_that_needs_more(self):
        shutil.copy(shutil.which("git"), self.root / "build/tests/linked_cuda_test")
        with self.assertRaisesRegex(pack.Refused, r"linked_cuda_test: needs lib"):
            self.make()
        with unittest.mock.patch.object(pack, "GLIBC", 2), self.assertRaisesRegex(pack.Refused, r"needs glibc 2\.\d+; expected"):
            self.make()

    def test_a_build_without_programs(self):
        (self.root / "build/benchmarks/verbs").unlink()
        (self.root / "build/tests/device_cuda_test").unlink()
        with self.assertRaisesRegex(pack.Refused, r"has no verbs, \*_cuda_test"):
            self.make()


    def test_a_reader_that_left(self):
        process = subprocess.Popen([str(part) for part in self.command(self.make())], stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, env={**os.environ, **self.environment()})
        process.stdout.close()
        process.wait(timeout=60)
        self.assertEqual(json.loads((self.root / "out" / "results.json").read_text())["state"], "complete")


class Libraries(Pretended):
    def test_what_a_program_needs(self):
        names = machine.elf_names(pathlib.Path(shutil.which("ls")))
        self.assertIn("libc.so.6", names)
        self.assertEqual(machine.elf_names(self.write("text", "text")), [])
        self.assertEqual(machine.cuda_needs([pathlib.Path(shutil.which("git"))]), [])  # git needs other libraries only

    def library(self, path):
        """A file with the header of a library of this machine."""
        with open("/proc/self/exe", "rb") as program:
            self.write(path, "").write_bytes(program.read(64))
        return self.root / path

    def test_in_the_packages_of_a_python(self):
        library = self.library("site/nvidia/cu13/lib/libfor_this_test.so.13")
        self.program("bin/python3.99", f"echo '[\"{self.root}/site\"]'\n")
        found, looked = machine.find_libraries([library.name], machine.cuda_folders(str(self.root / "bin" / "python3.99")))
        self.assertEqual(found, {library.name: str(library)})
        self.assertEqual(len(looked), 3)

    def test_a_toolkit_comes_first(self):
        toolkit = self.library("cuda/lib64/libfor_this_test.so.13")
        with unittest.mock.patch.dict(os.environ, {"CUDA_HOME": str(self.root / "cuda")}):
            found, _ = machine.find_libraries([toolkit.name], machine.cuda_folders(None))
        self.assertEqual(found, {toolkit.name: str(toolkit)})

    def test_where_the_loader_is_told_to_look(self):
        library = self.library("loader/libfor_this_test.so.13")
        with unittest.mock.patch.dict(os.environ, {"LD_LIBRARY_PATH": str(library.parent)}), \
                unittest.mock.patch.object(machine, "cuda_needs", lambda programs: [library.name]):
            environment, found, problem = machine.library_environment([], None)
        self.assertEqual((environment, found, problem),
                         ({"LD_LIBRARY_PATH": str(library.parent)}, {library.name: str(library)}, None))

    def linked(self, name, *options):
        """A program that needs libcublasLt.so.13, which is in own/."""
        self.write("own/library.cpp", 'extern "C" int f() { return 0; }\n')
        self.write("program.cpp", 'extern "C" int f(); int main() { return f(); }\n')
        library, program = self.root / "own/libcublasLt.so.13", self.root / name
        soname = ["-shared", "-fPIC", "-Wl,-soname,libcublasLt.so.13"]
        for command in (["g++", *soname, self.root / "own/library.cpp", "-o", library],
                        ["g++", self.root / "program.cpp", library, *options, "-o", program]):
            status, output = common.run(command)
            self.assertEqual(status, 0, output)
        return program

    def found_for(self, programs, **environment):
        environment = {"LD_LIBRARY_PATH": "", **environment}
        with unittest.mock.patch.dict(os.environ, environment), \
                unittest.mock.patch.object(machine, "driver_library", lambda: None), \
                unittest.mock.patch.object(machine, "cuda_folders", lambda _: [("here", [str(self.root / "other")])]):
            return machine.library_environment(programs, None)

    def test_where_the_program_itself_looks(self):
        self.library("other/libcublasLt.so.13")
        own = str(self.root / "own" / "libcublasLt.so.13")
        for at, options in enumerate((["-Wl,--enable-new-dtags,-rpath,$ORIGIN/own"], ["-Wl,--disable-new-dtags,-rpath,/x:"
                                                                                   f"{self.root}/own"])):
            program = self.linked(f"with{at}", *options)
            self.assertEqual(self.found_for([program]), ({}, {"libcublasLt.so.13": own}, None))
        other = str(self.root / "other" / "libcublasLt.so.13")
        # As in the loader: LD_LIBRARY_PATH comes before RUNPATH, and after RPATH.
        told = {"LD_LIBRARY_PATH": f"/x:{self.root}/other"}
        self.assertEqual(self.found_for([self.root / "with0"], **told), ({}, {"libcublasLt.so.13": other}, None))
        self.assertEqual(self.found_for([self.root / "with1"], **told), ({}, {"libcublasLt.so.13": own}, None))
        without = self.linked("without")
        self.assertEqual(self.found_for([self.root / "with1", without]),
                         ({"LD_LIBRARY_PATH": f"{self.root}/other"}, {"libcublasLt.so.13": other}, None))

    def test_libraries_loaded_at_run_time_are_found_for_programs_that_name_them_and_missed_by_none(self):
        program = self.linked("with", "-Wl,-rpath,$ORIGIN/own")
        own = {"libcublasLt.so.13": str(self.root / "own" / "libcublasLt.so.13")}
        for name in ("libcudnn.so.9", "libnccl.so.2"):
            looking = self.write(f"looking_for_{name}", "")
            looking.write_bytes(program.read_bytes() + name.encode() + b"\0")
            self.assertEqual(self.found_for([looking]), ({}, own, None))
            library = self.library(f"other/{name}")
            self.assertEqual(self.found_for([program]), ({}, own, None))
            self.assertEqual(self.found_for([looking]),
                             ({"LD_LIBRARY_PATH": f"{self.root}/other"}, {**own, name: str(library)}, None))

    def test_one_for_other_processors_is_passed_over(self):
        library, other = self.library("b/libfor_this_test.so.13"), self.library("a/libfor_this_test.so.13")
        other.write_bytes(other.read_bytes()[:4] + b"\x01" + other.read_bytes()[5:])
        found, _ = machine.find_libraries([library.name], [("here", [str(self.root / "a"), str(self.root / "b")])])
        self.assertEqual(found, {library.name: str(library)})

    def test_one_that_is_nowhere(self):
        with unittest.mock.patch.object(machine, "cuda_needs", lambda programs: ["libnowhere.so.13"]):
            _, _, problem = machine.library_environment([], None)
        for word in ("libnowhere.so.13: not found", "where the loader looks", "packages of Python", "CUDA_HOME=FOLDER"):
            self.assertIn(word, problem)


class Processes(cases.Scratch):
    def test_nothing_that_a_program_started_outlives_it(self):
        done = processes.run(["sh", "-c", f"sleep 60 & echo $! > {self.root}/pid; sleep 60"], timeout=0.5)
        self.assertRegex(done.ending, "timed out after [01] s")
        time.sleep(0.2)
        self.assertFalse(is_alive(int((self.root / "pid").read_text())))

    def test_a_program_that_starts_while_all_are_ended(self):
        begun = subprocess.Popen

        def late(command, **options):
            process = begun(command, **options)
            if command[0] == "sleep":
                self.pid = process.pid
                processes.end_all()
            return process

        self.addCleanup(setattr, processes, "stopped", False)
        with unittest.mock.patch.object(subprocess, "Popen", late):
            done = processes.run(["sleep", "60"], timeout=3)
        self.assertEqual((done.status, done.output), (127, "not started: this run was ended"))
        self.assertFalse(is_alive(self.pid))

    def test_a_long_output_keeps_its_ends(self):
        with unittest.mock.patch.object(processes, "KEPT", 20):
            output = processes.run(["sh", "-c", "echo begin; seq 1000; echo end"]).output
        self.assertTrue(output.startswith("begin") and output.endswith("end\n"), output)
        self.assertIn("characters left out", output)

    def test_a_log_that_is_full(self):
        with unittest.mock.patch.object(record, "LARGEST_LOG", 200), contextlib.redirect_stdout(None):
            kept = record.Record(self.root / "r.json", self.root / "r.log", {})
            for _ in range(20):
                kept.note("x" * 50)
        self.assertLess((self.root / "r.log").stat().st_size, 300)
        self.assertIn("the log is full", (self.root / "r.log").read_text())


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


if __name__ == "__main__":
    common.main(cases.check)
