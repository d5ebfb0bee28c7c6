#!/usr/bin/env python3
"""PyTorch's training steps beside those of examples/cifar10 and examples/gpt2, on data that lies on the device.

usage: torch_networks.py cifar10|gpt2 DEVICE BATCH STEPS [--compile] [--tiny]
Prints a line of JSON for each precision: images or tokens per second, and the largest memory.
"""

import argparse
import json
import time

import torch
from torch.nn import functional as F

import torch_gpt2
from torch_resnet import resnet18

GPT2_124M = torch_gpt2.Sizes(context=1024, width=768, layers=12, heads=12, tokens=50304, dropout=0.0)
# Variant: whether floats round to TF32, whether in bfloat16.
PRECISIONS = {"float": (False, False), "float, TF32": (True, False), "bfloat16": (False, True)}


def image_steps(options, autocast):
    """A step of ResNet-18, channels-last in bfloat16, and the images of it."""
    layout = torch.channels_last if autocast else torch.contiguous_format
    model = resnet18(8 if options.tiny else 64).to(options.device, memory_format=layout)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4, nesterov=True)
    images = torch.randn(options.batch, 3, 32, 32, device=options.device).contiguous(memory_format=layout)
    labels = torch.randint(0, 10, (options.batch,), device=options.device)
    run = torch.compile(model, mode="max-autotune") if options.compile else model

    def step():
        optimizer.zero_grad()
        with torch.autocast(images.device.type, torch.bfloat16, enabled=autocast):
            loss = F.cross_entropy(run(images), labels, label_smoothing=0.1)
        loss.backward()
        optimizer.step()

    return step, options.batch


def token_steps(options, autocast):
    """A step of GPT-2 124M with dropout 0, and the tokens of it."""
    sizes = torch_gpt2.SMALL if options.tiny else GPT2_124M
    model = torch_gpt2.GPT2(sizes).to(options.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4, weight_decay=0.1, fused=True)
    shape = (options.batch, sizes.context)
    tokens, following = (torch.randint(0, sizes.tokens, shape, device=options.device) for _ in range(2))
    run = torch.compile(model) if options.compile else model
    return lambda: torch_gpt2.train(run, optimizer, tokens, following, autocast), options.batch * sizes.context


def measure(step, count, options):
    """Units per second, `count` of them in a step."""

    def wait():
        if options.device != "cpu":
            torch.cuda.synchronize()

    for _ in range(3):
        step()
    wait()
    begin = time.perf_counter()
    for _ in range(options.steps):
        step()
    wait()
    return count * options.steps / (time.perf_counter() - begin)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("network", choices=("cifar10", "gpt2"))
    parser.add_argument("device")
    parser.add_argument("batch", type=int)
    parser.add_argument("steps", type=int)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--tiny", action="store_true")
    options = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    of_network = image_steps if options.network == "cifar10" else token_steps
    for name, (tf32, autocast) in PRECISIONS.items():
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = tf32
        if options.network == "gpt2" and not autocast:
            continue
        if options.device != "cpu":
            torch.cuda.reset_peak_memory_stats()
        speed = measure(*of_network(options, autocast), options)
        peak = torch.cuda.max_memory_allocated() if options.device != "cpu" else None
        print(json.dumps({"variant": name, "per_second": speed, "peak_bytes": peak, "torch": torch.__version__}), flush=True)


if __name__ == "__main__":
    main()
