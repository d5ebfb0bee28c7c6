#pragma once
// Labelled images that can be told apart.

#include <locus/data/sets/labelled_images.hpp>

#include <vector>

namespace locus_test {

/// Image i is filled with i; its label is i % 3.
inline locus::data::LabelledImages numbered(std::int64_t count) {
  locus::Tensor<std::uint8_t> images({count, 1, 2, 2});
  locus::Tensor<std::int64_t> labels({count});
  for (std::int64_t i = 0; i < count; ++i) {
    images.select(0, i).fill_(static_cast<std::uint8_t>(i));
    labels(i) = i % 3;
  }
  return {images, labels, 3};
}

inline std::vector<int> numbers_of(const locus::data::LabelledImages& dataset) {
  std::vector<int> numbers;
  for (std::int64_t i = 0; i < dataset.size(); ++i) numbers.push_back(dataset[i].first(0, 0, 0));
  return numbers;
}

}  // namespace locus_test
