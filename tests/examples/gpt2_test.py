#!/usr/bin/env python3
"""The example gpt2: it learns, with the same result in one run, after it was killed, and in smaller passes; it reads
files of nanoGPT and llm.c, and reports invalid files and options.

usage: gpt2_test.py PROGRAM
"""

import array
import pathlib
import re
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import cases  # noqa: E402
import common  # noqa: E402

PROGRAM = sys.argv[1] if len(sys.argv) > 1 else ""
SMALL = {"--device": "cpu", "--size": "tiny", "--layers": 1, "--width": 32, "--vocabulary": 50, "--context": 16, "--batch": 4,
         "--accumulate": 2, "--steps": 20, "--warm-up": 4, "--lr": 0.01, "--report-every": 5, "--validate-every": 10,
         "--valid-batches": 2, "--peak": 0.1}


def tokens(count, most=50):
    """Numbers that follow from the two before, so that a model learns them."""
    numbers = [3, 7]
    while len(numbers) < count:
        numbers.append((numbers[-1] + 3 * numbers[-2] + 1) % most)
    return array.array("H", numbers).tobytes()


def losses(said, kind="loss"):
    return [float(loss) for loss in re.findall(rf"^step +\d+: {kind} ([\d.]+)", said, re.MULTILINE)]


class GPT2(cases.Scratch):
    def setUp(self):
        super().setUp()
        self.train = self.file("train.bin", tokens(5000))

    def file(self, name, content):
        path = self.root / name
        path.write_bytes(content)
        return path

    def command(self, **changed):
        options = SMALL | {"--train": self.train} | {"--" + name.replace("_", "-"): value for name, value in changed.items()}
        return [PROGRAM, *(str(part) for name, value in options.items()
                           for part in (name, *(value if isinstance(value, list) else [value])))]

    def run_it(self, **changed):
        """stdout"""
        done = subprocess.run(self.command(**changed), capture_output=True, timeout=120, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def kill_after_step_10(self, checkpoint, **changed):
        """Whether it was killed before it ended."""
        checkpoint.unlink(missing_ok=True)
        with subprocess.Popen(self.command(checkpoint=checkpoint, checkpoint_every=0, **changed), stdout=subprocess.PIPE,
                              text=True) as process:
            for line in process.stdout:
                if line.startswith("step     10"):
                    process.kill()
        return process.returncode == -signal.SIGKILL

    def assert_refused(self, expected, status=1, **changed):
        done = subprocess.run(self.command(**changed), capture_output=True, timeout=120, text=True)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn(expected, done.stderr)

    def test_a_run_that_is_killed_goes_on_and_ends_with_the_same_weights(self):
        whole, killed, run = self.root / "whole", self.root / "killed", self.root / "run"
        options = {"steps": 100, "dropout": 0.1, "valid": self.file("valid.bin", tokens(300))}
        said = self.run_it(output=whole, **options)
        self.assertEqual(len(losses(said)), 20)
        self.assertLess(losses(said)[-1], 0.7 * losses(said)[0])
        self.assertEqual(len(losses(said, "validation loss")), 10)
        self.assertRegex(said, r"step +5: loss [\d.]+, learning rate 0.01, [1-9]\d* tokens/s, [\d.]+ % of peak")
        self.assertTrue(any(self.kill_after_step_10(run, **options) for _ in range(20)), "it always ended before it was killed")
        said = self.run_it(checkpoint=run, output=killed, **options)
        self.assertRegex(said, r"going on after [1-9]\d* steps")
        self.assertEqual(killed.read_bytes(), whole.read_bytes())
        self.assertEqual(losses(self.run_it(checkpoint=run, **options)), [])  # it is finished
        self.assert_refused("is of a run on other tokens, or with other --type", checkpoint=run, **(options | {"lr": 0.02}))

    def test_passes_of_a_step_and_formats_of_files_change_nothing_but_rounding(self):
        header = array.array("i", [20240520, 1, 3000] + 253 * [0]).tobytes()
        for kind, digits in (("float", 3), ("bfloat16", 1)):
            expected = losses(self.run_it(type=kind))
            parts = [self.file("llmc.bin", header + tokens(5000)[:6000]), self.file("rest.bin", tokens(5000)[6000:])]
            self.assertEqual(losses(self.run_it(type=kind, train=parts)), expected)
            for found, each in zip(losses(self.run_it(type=kind, batch=8, accumulate=1)), expected, strict=True):
                self.assertAlmostEqual(found, each, places=digits)

    def test_training_goes_on_from_weights(self):
        weights = self.root / "weights"
        first = losses(self.run_it(type="float", steps=60, output=weights))
        self.assertLess(losses(self.run_it(type="float", weights=weights, lr=1e-5))[0], 0.8 * first[0])
        self.assert_refused("'transformer.wte.weight' has shape (50, 32)", weights=weights, width=64)

    def test_files_and_options_that_do_not_fit_are_refused(self):
        self.assert_refused("No such file", train=self.root / "none")
        self.assert_refused("is empty", train=self.file("empty", b""))
        self.assert_refused("has 3 bytes of tokens", train=self.file("odd", b"abc"))
        self.assert_refused("is beyond the vocabulary; expected 0 to 39", vocabulary=40)
        self.assert_refused("has 100 tokens; expected more than 8 windows of 16", train=self.file("short", tokens(100)))
        self.assert_refused("take shorter windows or another file", context=100000)
        self.assert_refused(".n_head = 3 for .n_embd = 32", heads=3)
        self.assert_refused("there is no folder", checkpoint=self.root / "none" / "run")
        for option, value in (("type", "half"), ("size", "huge"), ("steps", 0), ("batch", 0), ("dropout", 2), ("vocabulary", 70000)):
            self.assert_refused("--" + option, status=2, **{option: value})


if __name__ == "__main__":
    common.main(cases.check)
