#!/usr/bin/env python3
"""PyTorch's side of benchmarks/cifar10_accuracy.py: the training of examples/cifar10.cpp, without the average of
weights.

usage: torch_cifar10.py FOLDER IMAGES EPOCHS WIDTH SEED THREADS
Prints the accuracy on the test images, and the seconds of training.
"""

import pathlib
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

from torch_resnet import resnet18

BATCH, LR, DECAY, SMOOTHING = 128, 0.1, 5e-4, 0.1
MEAN = torch.tensor([0.4914, 0.4822, 0.4465])[:, None, None]
STD = torch.tensor([0.2470, 0.2435, 0.2616])[:, None, None]


def read(folder, names):
    data = b"".join((pathlib.Path(folder) / name).read_bytes() for name in names)
    records = torch.frombuffer(bytearray(data), dtype=torch.uint8).view(-1, 3073)
    return records[:, 1:].view(-1, 3, 32, 32).float() / 255, records[:, 0].long()


def augmented(images):
    """Random crops of 32 x 32 with a padding of 4, mirrored with probability 1/2, independent for each image."""
    n = len(images)
    padded = F.pad(images, (4, 4, 4, 4))
    top, left = torch.randint(0, 9, (2, n))
    rows = top[:, None] + torch.arange(32)
    columns = left[:, None] + torch.where(torch.rand(n, 1) < 0.5, 31 - torch.arange(32), torch.arange(32))
    return padded[torch.arange(n)[:, None, None, None], torch.arange(3)[:, None, None], rows[:, None, :, None],
                  columns[:, None, None, :]]


def model_of(width):
    """ResNet-18 with torchvision's initial values."""
    model = resnet18(width)
    for layer in model.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    return model.to(memory_format=torch.channels_last)


def normalized(images):
    return ((images - MEAN) / STD).contiguous(memory_format=torch.channels_last)


def train(model, images, labels, epochs):
    optimizer = torch.optim.SGD(model.parameters(), lr=LR, momentum=0.9, weight_decay=DECAY, nesterov=True)
    steps = epochs * -(-len(images) // BATCH)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, LR, steps, pct_start=0.2, cycle_momentum=False)
    model.train()
    for _ in range(epochs):
        for chosen in torch.randperm(len(images)).split(BATCH):
            loss = F.cross_entropy(model(normalized(augmented(images[chosen]))), labels[chosen], label_smoothing=SMOOTHING)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()


def main():
    folder = sys.argv[1]
    count, epochs, width, seed, threads = map(int, sys.argv[2:])
    torch.set_num_threads(threads)
    torch.manual_seed(seed)
    images, labels = read(folder, [f"data_batch_{i}.bin" for i in range(1, 6)])
    model = model_of(width)
    begin = time.process_time()
    train(model, images[:count], labels[:count], epochs)
    seconds = time.process_time() - begin
    model.eval()
    images, labels = read(folder, ["test_batch.bin"])
    with torch.no_grad():
        found = torch.cat([model(normalized(part)).argmax(1) for part in images.split(500)])
    print((found == labels).double().mean().item(), seconds)


if __name__ == "__main__":
    main()
