#!/usr/bin/env python3
"""Writes model.gguf, which tests/interop/gguf_file_test.cpp reads. Needs gguf (PyPI).

Beside each quantized tensor stands NAME.expected, the numbers that the package gguf computes of it."""

import pathlib

import gguf
import numpy

PATH = pathlib.Path(__file__).parent / "model.gguf"


def main():
    writer = gguf.GGUFWriter(PATH, "llama")
    writer.add_block_count(2)
    writer.add_string("text", "häuser")
    writer.add_array("tokens", ["a", "", "b"])
    writer.add_array("scores", [1.5, -2.5])
    writer.add_bool("yes", True)
    writer.add_uint64("large", 2**63 + 1)
    writer.add_int8("below", -3)
    writer.add_float64("tenth", 0.1)
    numbers = numpy.arange(6, dtype=numpy.float32).reshape(2, 3) / 4
    writer.add_tensor("floats", numbers)
    writer.add_tensor("halves", numbers.astype(numpy.float16))
    writer.add_tensor("integers", numpy.arange(-2, 3, dtype=numpy.int32))
    random = numpy.random.default_rng(1).standard_normal((3, 64)).astype(numpy.float32)
    for name in ("BF16", "Q8_0", "Q4_0", "Q5_0"):
        kind = gguf.GGMLQuantizationType[name]
        blocks = gguf.quantize(random, kind)
        writer.add_tensor(name, blocks, raw_dtype=kind)
        if name != "Q5_0":
            writer.add_tensor(f"{name}.expected", gguf.dequantize(blocks, kind))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
