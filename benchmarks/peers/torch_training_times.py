#!/usr/bin/env python3
"""Epochs of perceptrons by PyTorch on the CPU, beside benchmarks/training_times: the same options, and lines of JSON.

usage: torch_training_times.py --hidden 16,1024 --depth 1 --batch 128 --images 15000 --threads 1,2 [--min-time 0.3]

Images are bytes in memory; each batch gathers its images in random order and converts them to numbers in [0, 1]. There
is no DataLoader, which takes longer. Adam is fused. The first epoch of a model is not measured.
"""

import argparse
import json
import time

import torch

INPUTS, CLASSES = 784, 10
MOST = 30  # epochs


def numbers(text):
    return [int(each) for each in text.split(",")]


def perceptron(hidden, depth):
    layers, inputs = [torch.nn.Flatten()], INPUTS
    for _ in range(depth):
        layers += [torch.nn.Linear(inputs, hidden), torch.nn.ReLU()]
        inputs = hidden
    return torch.nn.Sequential(*layers, torch.nn.Linear(inputs, CLASSES))


def epoch(model, optimizer, images, labels, batch):
    """(seconds, mean loss)"""
    begin = time.perf_counter()
    total = torch.zeros(())
    for chosen in torch.randperm(len(images)).split(batch):
        x = images[chosen].float().div_(255)
        loss = torch.nn.functional.cross_entropy(model(x), labels[chosen])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        total += loss.detach() * len(chosen)
    mean = total.item() / len(images)
    return time.perf_counter() - begin, mean


def measure(hidden, depth, batch, count, threads, seconds):
    torch.manual_seed(0)
    torch.set_num_threads(threads)
    images, labels = torch.randint(0, 256, (count, 1, 28, 28), dtype=torch.uint8), torch.randint(0, CLASSES, (count,))
    model = perceptron(hidden, depth)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    epochs = [epoch(model, optimizer, images, labels, batch)]
    while len(epochs) == 1 or (sum(taken for taken, _ in epochs[1:]) < seconds and len(epochs) <= MOST):
        epochs.append(epoch(model, optimizer, images, labels, batch))
    return {"device": "cpu", "threads": threads, "hidden": hidden, "depth": depth, "batch": batch, "whole": True, "images": count,
            "steps": -(-count // batch), "loss": epochs[-1][1], "seconds": [taken for taken, _ in epochs[1:]],
            "waiting": [0.0] * (len(epochs) - 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("hidden", "depth", "batch", "images", "threads"):
        parser.add_argument(f"--{name}", type=numbers, required=True)
    parser.add_argument("--min-time", type=float, default=0.3)
    options = parser.parse_args()
    print(json.dumps({"environment": {"torch": torch.__version__}}), flush=True)
    for count in options.images:
        for hidden in options.hidden:
            for depth in options.depth:
                for batch in options.batch:
                    for threads in options.threads:
                        print(json.dumps(measure(hidden, depth, batch, count, threads, options.min_time)), flush=True)


if __name__ == "__main__":
    main()
