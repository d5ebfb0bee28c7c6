#!/usr/bin/env python3
"""Writes tests/golden/model.safetensors with the reference implementation, and reads files that Locus wrote:

usage: make_safetensors.py [FILE...]

Needs numpy, ml_dtypes and safetensors."""

import pathlib
import sys

import ml_dtypes  # bfloat16 in numpy
import numpy as np
from safetensors.numpy import load_file, save_file

tensors = {
    "0.weight": np.arange(6, dtype=np.float32).reshape(2, 3) / 4,
    "0.bias": np.array([-1.5, 2.5], dtype=np.float32),
    "half": np.array([1, -2.5, np.inf], dtype=np.float16),
    "brain": np.array([[1.5], [-3]], dtype=ml_dtypes.bfloat16),
    "double": np.array(0.1),
    "steps": np.array([2**40, -1], dtype=np.int64),
    "small": np.array([7, -7], dtype=np.int32),
    "pixels": np.array([[0, 255]], dtype=np.uint8),
    "mask": np.array([True, False, True]),
    "nothing": np.zeros((0, 5), dtype=np.float32),
}
for path in sys.argv[1:]:
    for name, values in load_file(path).items():
        print(path, name, values.dtype, values.shape, values.tolist())
if len(sys.argv) > 1:
    sys.exit()
save_file(tensors, pathlib.Path(__file__).parent / "model.safetensors", metadata={"format": "pt"})
