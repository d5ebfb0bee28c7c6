#pragma once
// The images that the mnist example trains on.

#include <locus/data/sets/mnist.hpp>

#include <string>

/// MNIST from a folder of IDX files, or drawn digits where the folder is empty, split by the seed.
/// throws locus::DataError
locus::data::Mnist read_digits(const std::string& folder, std::uint64_t seed);
