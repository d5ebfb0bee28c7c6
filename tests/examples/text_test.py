#!/usr/bin/env python3
"""The example text: it learns, resumes after it was killed with the same result, generates as its options say, and
reports invalid files and options.

usage: text_test.py PROGRAM [CHAT]
"""

import pathlib
import re
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import cases  # noqa: E402
import common  # noqa: E402

PROGRAM, CHAT = (*sys.argv[1:3], "", "")[:2]
SMALL = {"--device": "cpu", "--epochs": 6, "--batches": 8, "--batch": 8, "--context": 16, "--width": 32, "--layers": 1,
         "--heads": 2, "--lr": 0.02, "--length": 40}


def command(**changed):
    options = SMALL | {"--" + name.replace("_", "-"): value for name, value in changed.items()}
    return [PROGRAM, *(str(part) for option in options.items() for part in option)]


def losses(said):
    return [float(loss) for loss in re.findall(r"^epoch +\d+: loss ([\d.]+)", said, re.MULTILINE)]


class Text(cases.Scratch):
    def run_it(self, **changed):
        """(stdout, stderr)"""
        done = subprocess.run(command(**changed), capture_output=True, timeout=120)
        said = done.stderr.decode()
        self.assertEqual(done.returncode, 0, said)
        return done.stdout, said

    def kill_in_epoch_5(self, checkpoint):
        """Whether it was killed before it ended."""
        checkpoint.unlink(missing_ok=True)
        with subprocess.Popen(command(epochs=30, dropout=0.2, checkpoint=checkpoint), stderr=subprocess.PIPE,
                              stdout=subprocess.DEVNULL, text=True) as process:
            for line in process.stderr:
                if line.startswith("epoch   4"):
                    process.kill()
        return process.returncode == -signal.SIGKILL

    def assert_refused(self, expected, status=1, **changed):
        done = subprocess.run(command(**changed), capture_output=True, timeout=120, text=True)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn(expected, done.stderr)
        self.assertEqual(done.stdout, "")

    def test_a_run_that_is_killed_goes_on_and_ends_as_if_nothing_had_happened(self):
        whole, killed = self.root / "whole", self.root / "killed"
        written, said = self.run_it(epochs=30, dropout=0.2, checkpoint=whole)
        self.assertEqual(len(losses(said)), 30)
        self.assertLess(losses(said)[-1], 0.7 * losses(said)[0])
        self.assertRegex(said, r"epoch +30: loss .* [1-9]\d* tokens/s")
        self.assertRegex(said, r"40 tokens written, [1-9]\d* tokens/s")
        self.assertTrue(written.startswith(b"Alice"))
        self.assertEqual(len(written), len("Alice") + 40 + 1)

        self.assertTrue(any(self.kill_in_epoch_5(killed) for _ in range(20)), "it always ended before it was killed")
        again, said = self.run_it(epochs=30, dropout=0.2, checkpoint=killed)
        self.assertRegex(said, r"going on after epoch \d+")
        self.assertLess(len(losses(said)), 28)
        self.assertEqual(common.without_record(killed), common.without_record(whole))
        self.assertEqual(again, written)

        # A finished run generates at once, with the new options.
        likeliest, said = self.run_it(epochs=30, dropout=0.2, checkpoint=whole, temperature=0, prompt="She ")
        self.assertEqual(losses(said), [])
        self.assertTrue(likeliest.startswith(b"She "))
        self.assertEqual(self.run_it(epochs=30, dropout=0.2, checkpoint=whole, temperature=5, top_k=1, prompt="She ")[0],
                         likeliest)
        self.assertNotEqual(self.run_it(epochs=30, dropout=0.2, checkpoint=whole, temperature=5, prompt="She ")[0],
                            likeliest)

        self.assert_refused("is of a run on another text or tokenizer, or with other --epochs", epochs=31, dropout=0.2, checkpoint=whole)
        self.assert_refused("'transformer.wte.weight' has shape (256, 32)", epochs=30, width=16, checkpoint=whole)
        self.assert_refused("cannot read", checkpoint=self.file("broken", b"no checkpoint"))
        self.assertEqual((self.root / "broken").read_bytes(), b"no checkpoint")

    def file(self, name, content):
        path = self.root / name
        path.write_bytes(content)
        return path

    def test_any_bytes_are_a_text(self):
        written, said = self.run_it(data=self.file("bytes", bytes(range(256)) * 3), epochs=1, top_k=5)
        self.assertIn("768 bytes", said)
        self.assertNotRegex(written, rb"[\0-\x08\x0b-\x1f\x7f]")
        self.run_it(data=self.file("shortest", b"x" * 17), epochs=1)

    def test_a_model_that_is_saved_writes_the_same_with_chat(self):
        folder = self.root / "made" / "model"
        written, _ = self.run_it(train_tokenizer=300, save=folder, temperature=0, prompt="Alice ", length=9)
        self.assertEqual(sorted(path.name for path in folder.iterdir()), ["config.json", "model.safetensors", "tokenizer.json"])
        self.assert_refused("a model of bytes has no tokenizer.json", save=folder)
        (self.root / "file").write_text("")
        self.assert_refused("--save: cannot make the folder", save=self.root / "file" / "model", train_tokenizer=300)
        if CHAT:
            done = subprocess.run([CHAT, folder, "--device", "cpu", "--prompt", "Alice ", "--temperature", "0", "--length", "9"],
                                  capture_output=True, timeout=120)
            self.assertEqual(b"Alice " + done.stdout, written, done.stderr)

    def test_tokens_of_a_tokenizer_that_is_learned_and_read_again(self):
        tokenizer = self.root / "tokenizer.json"
        learned, said = self.run_it(train_tokenizer=300, tokenizer=tokenizer, checkpoint=self.root / "run")
        count = int(re.search(r"on ([0-9]+) tokens of a built-in text", said)[1])
        self.assertLess(count, 1300)  # of 1662 bytes
        again, said = self.run_it(tokenizer=tokenizer, checkpoint=self.root / "run")
        self.assertEqual((again, losses(said)), (learned, []))
        self.assertIn(f"on {count} tokens", said)
        self.assertGreater(len(learned.decode()), 60)
        self.assert_refused("is of a run on another text or tokenizer", tokenizer=tokenizer, checkpoint=self.root / "run",
                            data=self.file("other", b"another text " * 30))
        self.assert_refused("No such file", tokenizer=self.root / "none")
        self.assert_refused("vocab_size = 99; expected at least 256", train_tokenizer=99)

    def test_files_that_are_no_text_are_refused(self):
        self.assert_refused("No such file", data=self.root / "none")
        self.assert_refused("is a folder", data=self.root)
        self.assert_refused("is a folder, a pipe or a device", data="/dev/zero")
        self.assert_refused("has 0 bytes; expected at least 17", data=self.file("empty", b""))
        self.assert_refused("a smaller --context", data=self.file("short", b"x" * 16))
        self.assert_refused("the built-in text has", context=100000)

    def test_options_out_of_range_are_refused(self):
        self.assert_refused(".n_head = 3 for .n_embd = 32", heads=3)
        self.assert_refused("'tpu' is not a device", device="tpu")
        for option, value in (("epochs", 0), ("temperature", -1), ("top_k", -1), ("top_p", 2), ("dropout", 2), ("length", -1), ("lr", "x")):
            self.assert_refused("--" + option.replace("_", "-"), status=2, **{option: value})
        self.assert_refused("there is no folder", checkpoint=self.root / "none" / "run")


if __name__ == "__main__":
    common.main(cases.check)
