#!/usr/bin/env python3
"""The examples gan, transfer and ddp_resnet: they learn or write their results, a killed run goes on with the same end,
and unusable files are named.

usage: tutorial_programs_test.py GAN TRANSFER DDP_RESNET
"""

import json
import pathlib
import random
import re
import signal
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import cases  # noqa: E402
import common  # noqa: E402

GAN, TRANSFER, DDP_RESNET = sys.argv[1:] if len(sys.argv) > 3 else ("", "", "")


def resnet_shapes(width, classes):
    """Names and shapes of torchvision's resnet18, with the stem for small images, in another width."""
    def norm(name, channels):
        for part in "weight", "bias", "running_mean", "running_var":
            yield f"{name}.{part}", (channels,)
        yield f"{name}.num_batches_tracked", ()

    yield "conv1.weight", (width, 3, 3, 3)
    yield from norm("bn1", width)
    before = width
    for stage in range(4):
        channels = width << stage
        for block in range(2):
            name = f"layer{stage + 1}.{block}"
            yield f"{name}.conv1.weight", (channels, before, 3, 3)
            yield from norm(f"{name}.bn1", channels)
            yield f"{name}.conv2.weight", (channels, channels, 3, 3)
            yield from norm(f"{name}.bn2", channels)
            if before != channels:
                yield f"{name}.downsample.0.weight", (channels, before, 1, 1)
                yield from norm(f"{name}.downsample.1", channels)
            before = channels
    yield "fc.weight", (classes, before)
    yield "fc.bias", (classes,)


def resnet_weights(width=8, classes=20):
    """Random weights as a safetensors file: https://github.com/huggingface/safetensors"""
    numbers = random.Random(1)
    header, content = {}, b""
    for name, shape in resnet_shapes(width, classes):
        count = 1
        for extent in shape:
            count *= extent
        if name.endswith("num_batches_tracked"):
            kind, data = "I64", struct.pack("<q", 1)
        elif len(shape) > 1:
            deviation = (2 / (count / shape[0])) ** 0.5
            kind, data = "F32", struct.pack(f"<{count}f", *(numbers.gauss(0, deviation) for _ in range(count)))
        else:
            value = 0.3 if name.endswith("bn2.weight") else 1.0 if name.endswith(("running_var", ".weight")) else 0.0
            kind, data = "F32", struct.pack(f"<{count}f", *([value] * count))
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(content), len(content) + len(data)]}
        content += data
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + content


class TutorialPrograms(cases.Scratch):
    def run_it(self, program, *options, status=0):
        done = subprocess.run([program, "--device", "cpu", *map(str, options)], capture_output=True, timeout=120, text=True)
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

    def test_transfer_trains_the_last_layer(self):
        weights = self.root / "resnet18.safetensors"
        weights.write_bytes(resnet_weights())
        said = self.run_it(TRANSFER, "--weights", weights, "--images", 300, "--epochs", 3)
        before, *_, after = (float(number) for number in re.findall(r"loss ([\d.]+), accuracy [\d.]+ %", said))
        self.assertLess(after, before - 0.1)

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
