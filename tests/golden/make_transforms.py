#!/usr/bin/env python3
"""Writes transforms.txt: an image, and the results of torchvision's functions on it in float64.

usage: make_transforms.py        (needs torchvision; the tests need only its output)
"""

import pathlib

import torch
from torchvision.transforms import InterpolationMode
from torchvision.transforms.v2 import RandAugment
from torchvision.transforms.v2 import functional as F

import make_golden
from make_golden import keep

NEAREST, BILINEAR, BICUBIC = InterpolationMode.NEAREST, InterpolationMode.BILINEAR, InterpolationMode.BICUBIC


def scaled(image):
    for name, size, interpolation, most in (
            ("smaller", [5, 4], BILINEAR, None), ("larger", [12, 14], BILINEAR, None), ("mixed", [3, 20], BILINEAR, None),
            ("shorter", [5], BILINEAR, None), ("bounded", [6], BILINEAR, 7), ("cubic_smaller", [5, 4], BICUBIC, None),
            ("cubic_larger", [11, 13], BICUBIC, None)):
        keep(f"resize_{name}", F.resize(image, size, interpolation, max_size=most, antialias=True))
    keep("resized_crop", F.resized_crop(image, 1, 2, 6, 5, [4, 7], BILINEAR, antialias=True))
    keep("resized_crop_cubic", F.resized_crop(image, 3, 0, 4, 9, [2, 3], BICUBIC, antialias=True))
    for height, width in ((5, 4), (3, 9), (12, 12), (7, 13)):
        keep(f"center_crop_{height}_{width}", F.center_crop(image, [height, width]))
    keep("blur", F.gaussian_blur(image, [5, 3], [0.9, 0.9]))  # width and height of the kernel
    keep("blur_wide", F.gaussian_blur(image, [9, 15], [2.5, 2.5]))


def projection(source, target):
    """The eight numbers of the projective map of four points to four others."""
    rows, values = [], []
    for (x, y), (u, v) in zip(source, target):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        values += [u, v]
    return torch.linalg.solve(torch.tensor(rows, dtype=torch.float64), torch.tensor(values, dtype=torch.float64)).tolist()


def moved(image):
    keep("rotate_30", F.rotate(image, 30, NEAREST))
    keep("rotate_30_bilinear", F.rotate(image, 30, BILINEAR))
    keep("rotate_filled", F.rotate(image, -75, NEAREST, fill=[0.25]))
    change = dict(angle=20, translate=[1, -2], scale=1.2, shear=[10, -5])
    keep("affine", F.affine(image, **change, interpolation=NEAREST))
    keep("affine_bilinear", F.affine(image, **change, interpolation=BILINEAR))
    corners = [[0, 0], [8, 0], [8, 7], [0, 7]]
    points = [[1, 0.2], [7, 2.3], [8, 6], [0, 5]]
    coefficients = projection(points, corners)  # torchvision rounds its own to float32
    keep("perspective", F.perspective(image, None, None, BILINEAR, coefficients=coefficients))
    keep("perspective_filled", F.perspective(image, None, None, NEAREST, fill=[0.75], coefficients=coefficients))


def coloured(image):
    keep("grayscale", F.rgb_to_grayscale(image, 3))
    keep("invert", F.invert(image))
    keep("posterize", F.posterize(image, 3))
    keep("solarize", F.solarize(image, 0.4))
    keep("sharper", F.adjust_sharpness(image, 1.8))
    keep("smoother", F.adjust_sharpness(image, 0.3))
    keep("autocontrast", F.autocontrast(image))
    keep("autocontrast_constant", F.autocontrast(torch.full((3, 2, 2), 0.5)))
    keep("equalize", F.equalize(image))
    keep("equalize_few", F.equalize(image[:, :2, :3]))
    large = keep("large", torch.rand(1, 30, 40).square())
    keep("equalize_large", F.equalize(large))


def augmented(image):
    """The operations of RandAugment, with magnitudes of both signs where they have one."""
    augment = RandAugment()
    for name, magnitudes in (
            ("ShearX", [0.31, -0.17]), ("ShearY", [0.31, -0.17]), ("TranslateX", [2.7, -3.2]), ("TranslateY", [2.7, -3.2]),
            ("Rotate", [25, -100]), ("Brightness", [0.4, -0.4]), ("Color", [0.6, -0.6]), ("Contrast", [0.6, -0.6]),
            ("Sharpness", [0.9, -0.9]), ("Posterize", [3]), ("Solarize", [0.6]), ("AutoContrast", [0]), ("Equalize", [0])):
        for sign, magnitude in zip(("", "_minus"), magnitudes):
            keep(f"augment_{name}{sign}", augment._apply_image_or_video_transform(image, name, magnitude, NEAREST, augment._fill))


if __name__ == "__main__":
    torch.manual_seed(5)
    make_golden.numbers.clear()
    its_image = keep("image", torch.rand(3, 8, 9) * 0.8 + 0.1)
    for make in scaled, moved, coloured, augmented:
        make(its_image)
    make_golden.write(pathlib.Path(__file__).with_name("transforms.txt"))
