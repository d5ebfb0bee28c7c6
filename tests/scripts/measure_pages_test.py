#!/usr/bin/env python3
"""benchmarks/measure_pages.py: each study runs with tiny sizes, from its program to its page, and wrong requests are
refused. Takes about ten seconds.

usage: measure_pages_test.py FOLDER    of the built programs
"""

import json
import pathlib
import shutil
import sys
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve()
BENCHMARKS, DOCS = HERE.parents[2] / "benchmarks", HERE.parents[2] / "docs"
sys.path[:0] = [str(HERE.parents[1] / "tools"), str(BENCHMARKS)]
import cases  # noqa: E402
import common  # noqa: E402
import measure_pages  # noqa: E402
import study  # noqa: E402
from accuracy import Accuracy  # noqa: E402
from learning_picture import HEIGHT, Curve, Panel  # noqa: E402
from loading import Loading  # noqa: E402
from steps import Steps  # noqa: E402

PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
DRIVER = BENCHMARKS / "measure_pages.py"


def published(one):
    return one.host_results(study.RESULTS)


def as_of_a_gpu(document, factor):
    """The document, with times that are shorter by this factor, as a GPU's."""
    rows = [{**row, "seconds": [seconds / factor for seconds in row["seconds"]]} for row in document["rows"]]
    return {"environment": {**document["environment"], "gpu": "NVIDIA X9", "cuda": "13.0"}, "rows": rows}


class Programs(cases.Scratch):
    def measured(self, name, program, *options):
        path = PROGRAMS / program
        if not path.exists():
            self.skipTest(f"{program} was not built")
        status, output = common.run([sys.executable, DRIVER, name, "--measure", "--quick", "--rounds", "2", "--program", path,
                                     "--results", self.root, "--docs", self.root, *options])
        self.assertEqual(status, 0, output)
        files = list(self.root.glob(f"*/{name}.json"))
        self.assertEqual(len(files), 1, output)
        rows = json.loads(files[0].read_text())["rows"]
        self.assertTrue(all(len(row["seconds"]) == 2 and min(row["seconds"]) > 0 for row in rows), rows)
        return rows

    def test_accuracy(self):
        rows = self.measured("training-accuracy", "training_accuracy")
        self.assertEqual({(row["optimizer"], row["depth"]) for row in rows}, {("sgd", 0), ("sgd", 1), ("adam", 0), ("adam", 1)})
        self.assertTrue(all(row["accuracy"] is None or 0 <= row["accuracy"] <= 1 for row in rows), rows)
        best = max(row["accuracy"] for row in rows if row["accuracy"] is not None)
        self.assertGreater(best, 0.2)  # of 10, after 75 steps

    def test_loader(self):
        rows = self.measured("loader", "loader")
        self.assertEqual([row["workers"] for row in rows], [0, 1, 2, 4, 8])
        self.assertTrue(all(row["images"] == 8 and row["processor_seconds"] > 0 for row in rows), rows)

    def test_steps(self):
        rows = self.measured("step-costs", "step_costs")
        whole, parts = (study.the_row(rows, settings="", type="float32", parts=n) for n in (1, 4))
        self.assertLess(parts["distance"], 1e-5)
        self.assertLess(parts["peak_bytes"], whole["peak_bytes"])
        self.assertEqual({row.get("settings", "") for row in rows}, {"", "LOCUS_AUTOTUNE=1"})

    def test_a_line_that_is_no_request_ends_the_program(self):
        program = PROGRAMS / "step_costs"
        if not program.exists():
            self.skipTest("step_costs was not built")
        right = "perceptron float32 4 1 1"
        for number, lines in ((2, [right, "perceptron float32 four 1 1", right]), (1, ["perceptron float32 4 1"]), (1, [right + " 1"]), (1, [""])):
            with self.assertRaises(study.Wrong) as raised:
                study.answers_of([program], lines, {})
            self.assertEqual(str(raised.exception),
                             f'step_costs: line {number} is "{lines[number - 1]}"; expected MODEL TYPE BATCH PARTS STEPS')

    def test_ranks(self):
        rows = self.measured("ranks", "ddp")
        self.assertLessEqual({"one rank", "DataParallel", "threads", "no reduction"}, {row["way"] for row in rows})


class Pages(cases.Scratch):
    ALIGNED = "cpu-aligned-dimensions is measured by aligned_dimensions.py --write"

    def test_a_gpu_gets_columns(self):
        for one, page, said in ((Loading(), "data.md", "images/s to a GPU"), (Steps(), "mixed-precision.md", "speed on a GPU")):
            host = published(one)
            without, with_gpu = ("".join(text for (name, _), text in one.blocks(host, gpu).items() if name == page)
                                 for gpu in (None, as_of_a_gpu(host, 10)))
            self.assertIn(said, without)
            self.assertIn(study.NOT_YET, without)
            self.assertNotIn(study.NOT_YET, with_gpu)
        gpu = as_of_a_gpu(published(Loading()), 10)
        self.assertEqual(Loading().folder_of(gpu), "nvidia-x9")
        Loading().store(gpu, self.root)
        self.assertEqual(Loading().gpu_results(self.root), gpu)

    def test_the_fastest_round_counts(self):
        rows = {}
        for seconds, processor in ([3.0, 2.0], 1.5), ([1.0, 4.0], 0.5), ([2.5], 1.0):
            Loading().add(rows, {"workers": 1, "seconds": seconds, "processor_seconds": processor}, "")
        self.assertEqual(list(rows.values()), [{"workers": 1, "seconds": [2.0, 1.0, 2.5], "processor_seconds": 0.5}])

    def test_a_request_without_an_answer_is_an_error(self):
        command = [sys.executable, "-c", "print('{}\\n{}')"]  # the environment and one answer
        self.assertEqual(study.answers_of(command, ["a"], {}), [{}, {}])
        with self.assertRaisesRegex(study.Wrong, "python3? answered 1 of 2 requests"):
            study.answers_of(command, ["a", "b"], {})
        with self.assertRaisesRegex(study.Wrong, "answered 0 of 1 requests"):
            study.answers_of([sys.executable, "-c", ""], ["a"], {})

    def test_a_run_that_diverged(self):
        rows = [{"accuracy": 0.9, "test_loss": 0.1}, {"accuracy": None, "test_loss": None}]
        self.assertEqual((Accuracy().cell(rows), Accuracy().loss(rows), Accuracy().mean(rows)), ("1 of 2 diverged", "", None))

    def test_a_point_outside_the_axis_is_an_error(self):
        curves = [Curve("784-16-10", [(1000, 54.3), (4000, 90.0)])]
        self.assertAlmostEqual(Panel("by images", "images", curves, True, 50).up(54.3), 0.086 * HEIGHT)
        for low, percent in (80, 54.3), (50, 100.5), (50, float("nan")):
            with self.assertRaisesRegex(ValueError, f"'by images': {percent:g} % is outside the axis of {low} to 100 %"):
                Panel("by images", "images", curves, True, low).up(percent)

    def test_the_picture_is_xml(self):
        for text in Accuracy().pictures(published(Accuracy()), None).values():
            xml.etree.ElementTree.fromstring(text)

    def test_a_page_that_was_changed_is_found(self):
        for page in DOCS.glob("*"):
            if page.suffix in (".md", ".svg"):
                shutil.copy(page, self.root)
        command = [sys.executable, DRIVER, "loader", "--check", "--docs", self.root]
        self.assertEqual(common.run(command)[0], 0)
        page = self.root / "data.md"
        page.write_text(page.read_text().replace("| 0 | ", "| 0 | 1", 1) if "| 0 | " in page.read_text() else "")
        status, output = common.run(command)
        self.assertEqual((status, "data.md is not what measure_pages.py --write makes" in output), (1, True), output)

    def test_what_is_asked_wrongly(self):
        for options, said in ((["nothing"], "'nothing' is no study; expected training-accuracy, "),
                              (["loader", "--measure", "--quick"], "name another folder by --results"),
                              (["--measure"], "--measure: name one study"),
                              (["loader", "--results", self.root], "measure it first: measure_pages.py loader --measure"),
                              (["loader", "--measure", "--program", "/no/program", "--results", self.root], "/no/program cannot be run"),
                              (["cpu-aligned-dimensions", "--measure", "--program", "x"], self.ALIGNED),
                              (["cpu-aligned-dimensions", "--measure"], self.ALIGNED),
                              (["scalar-functions", "--measure"], "scalar-functions is measured by scalar_functions.py")):
            status, output = common.run([sys.executable, DRIVER, *options])
            self.assertNotEqual(status, 0, output)
            self.assertIn(said, output)
            self.assertNotIn("Traceback", output)


if __name__ == "__main__":
    common.main(cases.check)
