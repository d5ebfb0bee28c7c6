#!/usr/bin/env python3
"""Writes models.txt: logits, gradients and one training step of torchvision's ResNets in float64, from weights computed
by a formula; and model_names.txt: the names and shapes of their parameters and buffers.

usage: make_models.py        (needs torch and torchvision; the tests need only its output)
"""

import copy
import pathlib

import numpy as np
import torch
import torch.nn.functional as F
from torchvision.models import resnet

import make_golden
from make_golden import keep

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
ENTRIES = 4  # evenly spaced elements of each gradient and buffer, after its norm


def numbers_of(name, shape, scale=1.0, offset=0.0):
    """offset + scale * k / 2^15, k from -2^15 to 2^15 - 1 by a hash of the name (FNV-1a) and the position."""
    key = 2166136261
    for letter in name.encode():
        key = (key ^ letter) * 16777619 % 2**32
    x = np.arange(int(np.prod(shape, dtype=np.int64)), dtype=np.uint32) * np.uint32(2654435761) ^ np.uint32(key)
    for shift, factor in (16, 0x7FEB352D), (15, 0x846CA68B):
        x = (x ^ (x >> np.uint32(shift))) * np.uint32(factor)
    units = ((x >> np.uint32(16)).astype(np.float64) - 2**15) / 2**15
    return torch.from_numpy(units * scale + offset).reshape(shape)


def fill(model):
    """Matrices: scaled by a power of two near sqrt(6 / fan in), which preserves the variance after a ReLU. Vectors:
    around 1, 0.5 or 0."""
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            if name.endswith("num_batches_tracked"):
                continue
            fan_in = tensor[0].numel()
            if tensor.dim() > 1:
                tensor.copy_(numbers_of(name, tensor.shape, 2.0 ** -((fan_in.bit_length() - 2) // 2)))
            else:
                about = 1.0 if name.endswith("running_var") else 0.5 if name.endswith("weight") else 0.0
                tensor.copy_(numbers_of(name, tensor.shape, 0.25, about))
    return model


class Narrow(resnet.ResNet):
    """A ResNet with `width` channels after the stem instead of 64."""

    def __init__(self, block, blocks, width, **options):
        self.__dict__["width"] = width
        super().__init__(block, blocks, **options)
        self.fc = torch.nn.Linear(8 * width * block.expansion, self.fc.out_features)

    @property
    def inplanes(self):
        return self.__dict__.get("planes", self.width)

    @inplanes.setter
    def inplanes(self, planes):  # at first the constructor's 64
        self.__dict__["planes"] = planes if "planes" in self.__dict__ else self.width

    def _make_layer(self, block, planes, *rest, **options):
        return super()._make_layer(block, planes * self.width // 64, *rest, **options)


class LeNet5(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = torch.nn.Conv2d(6, 16, 5)
        self.fc1 = torch.nn.Linear(16 * 5 * 5, 120)
        self.fc2 = torch.nn.Linear(120, 84)
        self.fc3 = torch.nn.Linear(84, 10)
        self.relu, self.pool = torch.nn.ReLU(), torch.nn.MaxPool2d(2)

    def forward(self, x):
        x = self.pool(self.relu(self.conv1(x)))
        x = self.pool(self.relu(self.conv2(x)))
        return self.fc3(self.relu(self.fc2(self.relu(self.fc1(x.flatten(1))))))


def small_images(model):
    model.conv1 = torch.nn.Conv2d(3, model.conv1.out_channels, 3, padding=1, bias=False)
    model.maxpool = torch.nn.Identity()
    return model


def shown(tensor):
    """The norm and some elements."""
    flat = tensor.detach().flatten()
    at = [i * flat.numel() // ENTRIES for i in range(ENTRIES)]
    return torch.cat([flat.norm().reshape(1), flat[at]])


def gradients(name, model, logits):
    labels = torch.arange(len(logits)) * 3 % logits.shape[1]
    F.cross_entropy(logits, labels).backward()
    for key, parameter in model.named_parameters():
        keep(f"{name}_gradient_{key}", shown(parameter.grad))


def margin(model, images):
    """The least distance of a ReLU input from 0, and of the largest element of a pooling window from the second. Below
    rounding errors, gradients in float would differ."""
    least = []

    def of_relu(_, inputs):
        least.append(inputs[0].abs().min().item())

    def of_pooling(layer, inputs):
        windows = F.unfold(inputs[0].flatten(0, 1).unsqueeze(1), layer.kernel_size, 1, layer.padding, layer.stride)
        first, second = windows.topk(2, 1).values.unbind(1)
        least.append((first - second)[first > 0].min().item())

    kinds = {torch.nn.ReLU: of_relu, torch.nn.MaxPool2d: of_pooling}
    hooks = [layer.register_forward_pre_hook(kinds[type(layer)]) for layer in model.modules() if type(layer) in kinds]
    with torch.no_grad():
        model(images)
    for hook in hooks:
        hook.remove()
    return min(least)


def images_for(name, model, shape, training):
    """Of 200 candidates, the images with the widest margin. The number of the candidate is kept."""
    searched = fill(copy.deepcopy(model)).float().train(training)
    number = max(range(200), key=lambda i: margin(searched, numbers_of(f"images {i}", shape).float()))
    keep(name + "_images", torch.tensor(number))
    print(name, "images", number, "margin", margin(searched, numbers_of(f"images {number}", shape).float()), flush=True)
    return numbers_of(f"images {number}", shape)


def step(name, model, shape):
    """A step of SGD, and the logits before, in and after it."""
    images = images_for(name, model, shape, True)
    keep(name + "_logits", fill(model).eval()(images))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    logits = keep(name + "_logits_in_training", model.train()(images))
    gradients(name, model, logits)
    for key, buffer in model.named_buffers():
        keep(f"{name}_buffer_{key}", shown(buffer) if buffer.dim() else buffer)
    optimizer.step()
    keep(name + "_logits_after_the_step", model.eval()(images))


def evaluation(name, model, shape):
    """Gradients with fixed statistics: with batch statistics, a deep network on few images amplifies rounding
    errors."""
    images = images_for(name, model, shape, False)
    gradients(name, model, keep(name + "_logits", fill(model).eval()(images)))


def names(name, model):
    """A line for each parameter and buffer."""
    return [" ".join([name, key, *map(str, tensor.shape)]) + "\n" for key, tensor in model.state_dict().items()]


if __name__ == "__main__":
    here = pathlib.Path(__file__)
    whole = resnet.resnet18(num_classes=10)
    small = small_images(Narrow(resnet.BasicBlock, [2, 2, 2, 2], 8, num_classes=10))
    narrow = Narrow(resnet.Bottleneck, [3, 4, 6, 3], 8, num_classes=5)
    step("resnet18", whole, (2, 3, 48, 48))
    step("resnet18_small", small, (2, 3, 16, 16))
    evaluation("resnet50", narrow, (2, 3, 32, 32))
    evaluation("lenet5", LeNet5(), (3, 1, 28, 28))
    make_golden.write(here.with_name("models.txt"))
    lines = names("resnet18", whole) + names("resnet34", Narrow(resnet.BasicBlock, [3, 4, 6, 3], 8)) + names("resnet50", narrow)
    here.with_name("model_names.txt").write_text("".join(lines))
