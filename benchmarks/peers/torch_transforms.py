#!/usr/bin/env python3
"""torchvision's side of benchmarks/transforms.py: the lines of cpu_transforms.cpp."""

import torch
from torchvision.transforms import v2

from torch_lines import answer, fastest

BUDGET, COUNT = 1, 40  # seconds of runs, images

NUMBERS = [v2.ToDtype(torch.float32, scale=True), v2.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))]
CROP, FLIP = v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip()
CASES = {
    "imagenet": [CROP, FLIP, *NUMBERS],
    "crop": [v2.RandomCrop(224), FLIP, *NUMBERS],
    "validation": [v2.Resize(256, antialias=True), v2.CenterCrop(224), *NUMBERS],
    "simclr": [CROP, FLIP, v2.ColorJitter(0.8, 0.8, 0.8, 0.2), v2.RandomGrayscale(0.2), v2.GaussianBlur(23), *NUMBERS],
    "rand_augment": [CROP, FLIP, v2.RandAugment(), *NUMBERS, v2.RandomErasing()],
}


def measure(clock, name, height, width):
    images = torch.randint(0, 256, (COUNT, 3, int(height), int(width)), dtype=torch.uint8)
    transforms = v2.Compose(CASES[name])

    def run():
        for image in images:
            transforms(image)

    return (fastest(clock, BUDGET, run) / COUNT,)


if __name__ == "__main__":
    answer(measure)
