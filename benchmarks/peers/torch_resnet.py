#!/usr/bin/env python3
"""PyTorch's side of benchmarks/resnet.py: the lines of cpu_resnet.cpp, answered for both memory formats, NCHW first.
bfloat16 uses autocast. The network is torchvision's ResNet-18, adapted to images of 32 x 32."""

import torch
from torch import nn
from torch.nn import functional as F

from torch_lines import answer


class BasicBlock(nn.Module):
    def __init__(self, channels, out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.relu = nn.ReLU(inplace=True)
        same = channels == out and stride == 1
        self.downsample = nn.Identity() if same else nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        y += self.downsample(x)
        return self.relu(y)


def resnet18(width=64):
    layers = [nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
    channels = width
    for out, stride in (width, 1), (2 * width, 2), (4 * width, 2), (8 * width, 2):
        layers += [BasicBlock(channels, out, stride), BasicBlock(out, out, 1)]
        channels = out
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8 * width, 10))


class Training:
    def __init__(self, memory_format):
        self.format = memory_format
        self.model = resnet18().to(memory_format=memory_format)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9)

    def step(self, images, labels, autocast):
        self.optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            loss = F.cross_entropy(self.model(images), labels)
        loss.backward()
        self.optimizer.step()

    def fastest(self, clock, batch, steps, autocast):
        images = torch.randn(batch, 3, 32, 32).contiguous(memory_format=self.format)
        labels = torch.randint(0, 10, (batch,))
        best = float("inf")
        for i in range(steps + 1):
            begin = clock()
            self.step(images, labels, autocast)
            best = min(best, clock() - begin) if i > 0 else best
        return 1e3 * best


def main():
    trainings = [Training(torch.contiguous_format), Training(torch.channels_last)]

    def measure(clock, batch, steps, kind, _):
        return [each.fastest(clock, int(batch), int(steps), kind == "bfloat16") for each in trainings]

    answer(measure)


if __name__ == "__main__":
    main()
