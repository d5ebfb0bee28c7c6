#!/usr/bin/env python3
"""benchmarks/training_times: the fit recovers the numbers of a known model, the study runs to its end with tiny sizes,
and invalid options are reported. Takes about five seconds.

usage: training_times_test.py PROGRAM
"""

import json
import math
import pathlib
import random
import sys
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve()
BENCHMARKS = HERE.parents[2] / "benchmarks"
sys.path[:0] = [str(HERE.parents[1] / "tools"), str(BENCHMARKS), str(BENCHMARKS / "support")]
import cases  # noqa: E402
import common  # noqa: E402
import training_costs  # noqa: E402
import training_times_page as pages  # noqa: E402
from training_costs import Model, Network  # noqa: E402

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
DRIVER = BENCHMARKS / "training_times.py"
PAGE = HERE.parents[2] / "docs" / "training-times.md"
MIB = 1 << 20
CPU = Model((10e-6, 500e-9, 1 / 100e9, 1 / 50e9, 1 / 100e9), 16 * MIB, 0.0, 0.0)
GPU = Model((60e-6, 5e-9, 1 / 2000e9, 0.0, 1 / 20000e9), 16 * MIB, 0.0, 0.0)
NETWORKS = [Network(hidden, depth, batch) for hidden in (16, 64, 256, 1024, 4096) for depth in (1, 2, 3) for batch in (16, 128, 1024)]


def line(device, network, step, images=0, noise=1.0):
    """A line as the program prints it."""
    steps = -(-images // network.batch) if images else 10
    return {"device": device, "threads": 1, "hidden": network.hidden, "depth": network.depth, "batch": network.batch, "whole": images > 0,
            "images": images or 10 * network.batch, "steps": steps, "loss": 1.0, "seconds": [steps * step * noise, steps * step * 2],
            "waiting": [0.0, 0.0]}


def document(**models):
    lines = [line(device, network, model.step(network)) for device, model in models.items() for network in NETWORKS]
    lines += [line(device, network, model.epoch(network, images) / -(-images // 128), images)
              for device, model in models.items() for network in (Network(hidden, 1, 128) for hidden in (16, 128, 1024)) for images in (1000, 60000)]
    environment = {"date": "2026-01-01T00:00:00Z", "commit": "abc", "compiler": "g++", "cpu": "A processor", "cores": 1, "threads": 1,
                   "gpu": "A GPU" if "cuda:0" in models else "", "cuda": "13.0", "data": "random images"}
    return {"environment": environment, "rows": pages.rows_of([lines])}


class Fit(cases.Scratch):
    def test_counts_are_those_of_the_formula(self):
        network = Network(32, 2, 10)
        self.assertEqual(network.name, "784-32-32-10")
        self.assertEqual(network.parameters, 784 * 32 + 32 + 32 * 32 + 32 + 32 * 10 + 10)
        self.assertEqual(network.operations, 10 * (4 * 784 * 32 + 6 * (32 * 32 + 32 * 10)))

    def test_known_numbers_are_found(self):
        for known in (CPU, GPU, Model((0.0, 0.0, 0.0, 0.0, 1 / 5e9), 16 * MIB, 0.0, 0.0)):
            found = training_costs.fit({network: known.step(network) for network in NETWORKS})
            for a, b in zip(found.seconds, known.seconds):
                self.assertTrue(math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-17), (found, known))
            self.assertLess(found.worst_error, 1e-6)
        self.assertEqual(training_costs.fit({network: CPU.step(network) for network in NETWORKS}).cache, 16 * MIB)

    def test_noise_shows_as_error(self):
        draw = random.Random(1)
        found = training_costs.fit({network: CPU.step(network) * draw.uniform(0.9, 1.1) for network in NETWORKS})
        self.assertTrue(0.01 < found.median_error < 0.1 and found.median_error < found.worst_error < 0.25, found)
        self.assertTrue(math.isclose(found.seconds[4], CPU.seconds[4], rel_tol=0.1), found)

    def test_no_number_is_negative(self):
        steps = {network: max(1e-9, CPU.step(network) - 30e-6) for network in NETWORKS}
        self.assertGreaterEqual(min(training_costs.fit(steps).seconds), 0.0)

    def test_too_few_steps(self):
        with self.assertRaisesRegex(ValueError, "a model of 5 measured steps; expected at least 6"):
            training_costs.fit({network: CPU.step(network) for network in NETWORKS[:5]})

    def test_the_last_batch_of_an_epoch_is_smaller(self):
        network = Network(64, 1, 100)
        self.assertEqual(CPU.epoch(network, 250), 2 * CPU.step(network) + CPU.step(Network(64, 1, 50)))

    def test_the_size_from_which_on_a_gpu_wins(self):
        size = training_costs.faster_from(GPU, CPU, 1, 32)
        self.assertLess(GPU.step(Network(size, 1, 32)), CPU.step(Network(size, 1, 32)))
        self.assertGreaterEqual(GPU.step(Network(size - 1, 1, 32)), CPU.step(Network(size - 1, 1, 32)))
        self.assertIsNone(training_costs.faster_from(CPU, GPU, 1, 32))
        self.assertEqual(training_costs.faster_from(GPU, CPU, 1, 4096), 1)  # loading alone takes a CPU longer


class Page(cases.Scratch):
    def test_conclusions_are_in_the_first_five_lines(self):
        page = pages.Study(document(cpu=CPU)).page(PAGE.read_text())
        first = "\n".join(page.splitlines()[:5])
        for said in (r"\*\*Data set\*\*: .*60,000, 60 times as many as 1,000, take \d+ times as long",
                     r"\*\*Model\*\*: .*from 16 to 256 hidden outputs by less than its operations \(16 times as many take [\d.]+ times as long\)",
                     r"\*\*GPU\*\*: none was measured"):
            self.assertRegex(first, said)
        self.assertIn("No GPU was measured by this study", page)
        self.assertEqual(pages.Study(document(cpu=CPU)).page(page), page)

    def test_growth_is_compared_with_that_of_the_size(self):
        for growth, said in (7.9, "by less than"), (10, "in proportion to"), (12.6, "by more than"):
            self.assertEqual(pages.beside(growth, 10), said)

    def test_the_model_is_in_the_page(self):
        page = pages.Study(document(cpu=CPU)).page(PAGE.read_text())
        for row in ("| fixed, of a step | 10.0 µs |", "| of each image | 500 ns |", "| traffic of parameters | 100 GB/s |",
                    "| the same from memory | 33 GB/s, beyond 16 MiB |", "| operations | 100 GFLOP/s |",
                    "| off whole epochs: median, worst | 0%, 0% |"):
            self.assertIn(row, page)

    def test_a_gpu_has_a_break_even(self):
        study = pages.Study(document(cpu=CPU, **{"cuda:0": GPU}))
        page = study.page(PAGE.read_text())
        size = training_costs.faster_from(GPU, CPU, 1, 128)
        self.assertIn(f"**GPU**: A GPU is faster than 1 thread from {size:,} hidden outputs on", "\n".join(page.splitlines()[:5]))
        self.assertIn("| hidden layers | batch | faster than 1 thread |", page)
        self.assertNotIn("No GPU was measured", page)
        xml.etree.ElementTree.fromstring(study.picture())

    def test_the_fastest_epoch_counts(self):
        rows = pages.rows_of([[line("cpu", NETWORKS[0], 2e-3)], [line("cpu", NETWORKS[0], 1e-3)]])
        self.assertEqual([round(seconds, 9) for seconds in rows[0]["seconds"]], [2e-3, 1e-3])
        left_out = {**line("cpu", NETWORKS[0], 1e-3), "problem": "not measured: the budget was spent"}
        self.assertEqual(pages.rows_of([[left_out]])[0]["seconds"], [])

    def test_a_page_without_its_places(self):
        with self.assertRaisesRegex(ValueError, "the page has 0 lines '<!-- made by benchmarks/training_times.py: summary"):
            pages.Study(document(cpu=CPU)).page("a page\n")


class Driver(cases.Scratch):
    def run_driver(self, *options):
        return common.run([sys.executable, DRIVER, "--program", PROGRAM, "--results", self.root / "results.json", "--docs", self.root, *options])

    def peer(self):
        """A stand-in for a Python with PyTorch; it takes 1,000 seconds with one thread."""
        program = self.write("torch-python", f"""#!{sys.executable}
import json, sys
print(json.dumps({{"environment": {{"torch": "9.9"}}}}))
for threads in sys.argv[sys.argv.index("--threads") + 1].split(","):
    print(json.dumps({{"device": "cpu", "threads": int(threads), "hidden": 8, "depth": 1, "batch": 8, "whole": True, "images": 64,
                      "steps": 8, "loss": 1.0, "seconds": [1e3 / int(threads), 2e3], "waiting": [0.0, 0.0]}}))
""")
        program.chmod(0o755)
        return program

    def test_from_measurements_to_page(self):
        self.write("training-times.md", PAGE.read_text())
        status, output = self.run_driver("--measure", "--quick", "--rounds", "2", "--device", "both", "--peer", self.peer(), "--write")
        self.assertEqual(status, 0, output)
        results = json.loads((self.root / "results.json").read_text())
        self.assertEqual((results["benchmark"], results["environment"]["data"]), ("training_times", "random images"))
        on_host = [row for row in results["rows"] if row["device"] == "cpu"]
        self.assertEqual(len([row for row in on_host if row["threads"] == 1]), 3 * 2 * 2 + 2 * 2)
        for row in on_host:
            self.assertTrue(len(row["seconds"]) == 2 and all(seconds > 0 for seconds in row["seconds"]), row)
            self.assertTrue(all(0 <= waiting < seconds for waiting, seconds in zip(row["waiting"], row["seconds"])), row)
            self.assertTrue(0 < row["loss"] < 20, row)
        self.assertEqual(results["peer"]["rows"][0]["seconds"], [1e3, 1e3])
        self.assertRegex(output, r"784-8-10, batch 8, 1 thread \| [\d.]+ [mµ]s \| 1e\+03 s \| [\d.e+]+ \|")
        self.assertIn(results["environment"]["commit"], (self.root / "training-times.md").read_text())
        xml.etree.ElementTree.parse(self.root / "training-times.svg")
        status, output = self.run_driver("--check")
        self.assertEqual((status, output.splitlines()[-1]), (0, "2 passed, 0 failed, 0 skipped"), output)
        (self.root / "training-times.svg").write_text("another picture")
        self.assertEqual(self.run_driver("--check")[0], 1)

    def test_results_of_a_run_on_a_gpu(self):
        lines = [line(device, network, model.step(network)) for device, model in (("cpu", CPU), ("cuda:0", GPU)) for network in NETWORKS]
        lines += [line("cpu", Network(16, 1, 128), 1e-3, images) for images in (1000, 60000)]
        environment = document(**{"cuda:0": GPU})["environment"]
        self.write("results.json", json.dumps({"training times": {"environment": environment, "lines": lines}}))
        status, output = self.run_driver()
        self.assertEqual(status, 0, output)
        self.assertIn("from which on A GPU is faster", output)

    def test_what_is_asked_wrongly(self):
        for options, said in (
                (["--measure", "--device", "gpu"], "--device: 'gpu' is not a device; expected auto, cpu, cuda, cuda:N or both"),
                (["--measure", "--data", "/no/such/folder"], "--data"),
                (["--peer", "/no/python"], "measure it first: training_times.py --measure"),
                (["--measure", "--rounds", "0"], "--rounds 0: expected 1 or more"),
                (["--measure", "--results", self.root / "none" / "x.json"], "there is no folder"),
                (["--measure", "--results", "/proc/x.json"], "may not be written to"),
                ([], "measure it first: training_times.py --measure")):
            status, output = self.run_driver("--quick", *options)
            self.assertNotEqual(status, 0, output)
            self.assertIn(said, output)
            self.assertNotIn("Traceback", output)
        status, output = common.run([sys.executable, DRIVER, "--measure", "--quick"])
        self.assertEqual((status, "name another file by --results" in output), (2, True), output)
        self.write("results.json", json.dumps(document(cpu=CPU)))
        status, output = self.run_driver("--measure", "--quick", "--rounds", "1", "--device", "cpu", "--part", "epochs")
        self.assertEqual((status, "are of A processor, this is" in output), (1, True), output)
        self.write("results.json", "{}")
        self.assertIn("holds no training times", self.run_driver()[1])


class Program(cases.Scratch):
    def test_what_is_asked_wrongly(self):
        for option, value in (("--hidden", "0"), ("--depth", "0"), ("--batch", "-1"), ("--images", "60001"), ("--threads", "0"),
                              ("--min-time", "0"), ("--device", "tpu")):
            status, output = common.run([PROGRAM, option, value])
            self.assertNotEqual(status, 0, output)
            self.assertIn(f"{option}:", output)

    def test_a_spent_budget_is_told(self):
        status, output = common.run([PROGRAM, "--device", "cpu", "--threads", "1", "--hidden", "8,16", "--depth", "1", "--batch", "8",
                                     "--min-time", "0.01", "--budget", "0.0001"])
        self.assertEqual(status, 0, output)
        lines = [json.loads(each) for each in output.splitlines()[1:]]
        self.assertEqual([each["problem"] for each in lines], ["not measured: the budget was spent"] * 2)


if __name__ == "__main__":
    common.main(cases.check)
