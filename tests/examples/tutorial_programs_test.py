#!/usr/bin/env python3
"""The examples gan, transfer, ddp_resnet and logistic: they learn or write their results, a killed run goes on with the
same end, and unusable files are named.

usage: tutorial_programs_test.py GAN TRANSFER DDP_RESNET LOGISTIC CIFAR10

With LOCUS_DATA, logistic learns MNIST, of LOCUS_DATA/mnist. CIFAR10, the example, trains the weights for transfer.
"""

import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import cases  # noqa: E402
import common  # noqa: E402

GAN, TRANSFER, DDP_RESNET, LOGISTIC, CIFAR10 = sys.argv[1:] if len(sys.argv) > 5 else ("",) * 5


def tensors_of(path):
    """{name: bytes} of a safetensors file: https://github.com/huggingface/safetensors"""
    content = path.read_bytes()
    begin = 8 + struct.unpack_from("<Q", content)[0]
    header = json.loads(content[8:begin])
    header.pop("__metadata__", None)
    return {name: content[begin + of["data_offsets"][0]:begin + of["data_offsets"][1]] for name, of in header.items()}


class TutorialPrograms(cases.Scratch):
    def run_it(self, program, *options, status=0):
        done = subprocess.run([program, "--device", "cpu", *map(str, options)], capture_output=True, timeout=240, text=True)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout if status == 0 else done.stderr

    def test_gan_writes_a_picture_for_each_epoch(self):
        said = self.run_it(GAN, "--epochs", 2, "--width", 4, "--images", 128, "--output", self.root)
        self.assertEqual(len(re.findall(r"^epoch \d: loss of the discriminator [\d.]+, of the generator [\d.]+$", said,
                                        re.MULTILINE)), 2)
        pictures = [(self.root / f"epoch{epoch}.png").read_bytes() for epoch in (0, 1, 2)]
        for picture in pictures:
            self.assertEqual(picture[:8] + picture[12:16], b"\x89PNG\r\n\x1a\nIHDR")
            self.assertEqual(struct.unpack(">2I", picture[16:24]), (224, 224))
        self.assertEqual(len(set(pictures)), 3)
        said = self.run_it(GAN, "--width", 4, "--images", 64, "--output", self.root / "none", status=1)
        self.assertIn("cannot", said)
        self.assertNotIn("epoch 1", said)  # before any training

    def test_logistic_reaches_the_accuracy_of_pytorch_on_mnist(self):
        folder = pathlib.Path(os.environ.get("LOCUS_DATA", "nowhere")) / "mnist"
        if not folder.exists():
            self.skipTest("LOCUS_DATA/mnist is not here")
        said = self.run_it(LOGISTIC, "--data", folder)
        accuracy = float(re.search(r"test images: loss [\d.]+, accuracy ([\d.]+) %", said)[1])
        self.assertAlmostEqual(accuracy, 86.26, delta=0.5)  # of examples/pytorch/logistic.py

    def test_transfer_trains_the_last_layer_and_nothing_else(self):
        weights, tuned = self.root / "weights.safetensors", self.root / "tuned.safetensors"
        self.run_it(CIFAR10, "--images", 600, "--test-images", 100, "--epochs", 4, "--batch", 16, "--lr", 0.05, "--width", 8,
                    "--average", 0, "--seed", 1, "--output", self.root)  # other images than transfer's
        said = self.run_it(TRANSFER, "--weights", weights, "--images", 200, "--epochs", 3, "--output", tuned)
        before = float(re.search(r"^before training: loss [\d.]+, accuracy ([\d.]+) %$", said, re.MULTILINE)[1])
        after = float(re.search(r" ([\d.]+)% +[\d.]+ +\d+$", said.rstrip())[1])
        self.assertLess(before, 40, said)
        self.assertGreater(after, 65, said)
        before, after = tensors_of(weights), tensors_of(tuned)
        self.assertEqual(before.keys(), after.keys())
        self.assertGreater(len(before), 100)
        self.assertEqual({name for name in before if before[name] != after[name]}, {"fc.weight", "fc.bias"})

    def test_transfer_names_weights_that_it_cannot_use(self):
        self.assertIn("expected --weights FILE", self.run_it(TRANSFER, status=1))
        self.assertIn("No such file", self.run_it(TRANSFER, "--weights", self.root / "none", status=1))

    def test_ddp_resnet_goes_on_after_it_was_killed_and_ends_with_the_same_bits(self):
        options = ("--ranks", 2, "--epochs", 5, "--batch", 16, "--samples", 64, "--width", 4)
        whole, killed = self.root / "whole", self.root / "killed"
        said = self.run_it(DDP_RESNET, *options, "--checkpoint", whole)
        self.assertEqual(len(re.findall(r"^epoch \d: loss [\d.]+, \d+ images/s$", said, re.MULTILINE)), 5)
        with subprocess.Popen([DDP_RESNET, "--device", "cpu", *map(str, options), "--checkpoint", killed],
                              stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout:
                if line.startswith("epoch 2"):
                    process.kill()
        self.assertEqual(process.returncode, -signal.SIGKILL)
        said = self.run_it(DDP_RESNET, *options, "--checkpoint", killed)
        self.assertRegex(said, r"^going on after epoch [1-4]\n")
        self.assertEqual(common.without_record(killed), common.without_record(whole))


if __name__ == "__main__":
    common.main(cases.check)
