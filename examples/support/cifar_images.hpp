#pragma once
// The images that the examples cifar10 and transfer train on.

#include <locus/data/sets/cifar.hpp>

#include <string>

struct CifarImages {
  locus::data::LabelledImages train, test;
};

/// 0: all of them, or 2,000 drawn ones to train with and 200 to test with.
struct ImageCounts {
  std::int64_t train = 0, test = 0;
};

/// CIFAR-10 from the folder of its binary version, or drawn images if the folder is empty.
/// throws locus::DataError
CifarImages read_images(const std::string& folder, const ImageCounts& counts, std::uint64_t seed = 0);
