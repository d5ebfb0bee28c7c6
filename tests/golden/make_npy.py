#!/usr/bin/env python3
"""Writes npy/: arrays as NumPy saves them, which tests/io/npy_test.cpp reads. Needs numpy."""

import pathlib

import numpy

HERE = pathlib.Path(__file__).parent / "npy"


def main():
    values = numpy.arange(6).reshape(2, 3)
    numpy.save(HERE / "rows.npy", values.astype(numpy.float32) / 4)
    numpy.save(HERE / "columns.npy", numpy.asfortranarray(values.astype(numpy.float64) / 4))
    numpy.save(HERE / "big_endian.npy", values.astype(">f4"))
    numpy.save(HERE / "scalar.npy", numpy.float64(0.1))
    with open(HERE / "version_2.npy", "wb") as file:
        numpy.lib.format.write_array(file, values.astype(numpy.int64), version=(2, 0))
    arrays = {"float32": values.astype(numpy.float32) / 4, "float64": numpy.asfortranarray(values / 8),
              "float16": numpy.array([1, -2.5, numpy.inf], numpy.float16), "int32": values.astype(numpy.int32) - 3,
              "int64": numpy.array([2**40, -1]), "uint8": numpy.array([[0, 255]], numpy.uint8),
              "bool": numpy.array([True, False, True]), "nothing": numpy.zeros((0, 5), numpy.float32),
              "int8": numpy.array([-128, 127], numpy.int8), "int16": numpy.asfortranarray(values.astype(numpy.int16) * -5000),
              "uint16": numpy.array([65535], numpy.uint16), "uint32": numpy.array([2**32 - 1], numpy.uint32),
              "uint64": numpy.array([2**64 - 1], numpy.uint64), "complex64": values.astype(numpy.complex64), "pairs": numpy.zeros(2, [("a", "<f4"), ("b", "<i4")]),
              "deep": numpy.zeros((1,) * 9, numpy.float32)}
    numpy.savez(HERE / "stored.npz", **arrays)
    numpy.savez_compressed(HERE / "compressed.npz", ramp=numpy.float32(numpy.arange(20000) // 1000), **arrays)


if __name__ == "__main__":
    main()
