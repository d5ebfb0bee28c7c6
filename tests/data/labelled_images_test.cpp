// Runs on: host.
#include <locus/data/sets/labelled_images.hpp>
#include <locus/tensor/factory.hpp>

#include <support/numbered_images.hpp>

#include <doctest/doctest.h>

#include <span>

using namespace locus;
using namespace locus_test;
using data::LabelledImages;

TEST_CASE("labelled images: sizes, elements, and the bytes as numbers") {
  const auto dataset = numbered(5);
  CHECK(dataset.size() == 5);
  CHECK(dataset.classes() == 3);
  CHECK(dataset.sample_shape() == Shape{1, 2, 2});
  const auto [image, label] = dataset[4];
  CHECK(image.shape() == Shape{1, 2, 2});
  CHECK(image(0, 1, 1) == 4);
  CHECK(label == 1);
  CHECK_THROWS_AS((void)dataset[5], IndexError);
  CHECK_THROWS_AS((void)dataset[-1], IndexError);

  float pixels[8];
  std::int64_t labels[2];
  const std::int64_t positions[] = {3, 1};
  dataset.gather<float>(positions, 0.5f, pixels, labels);
  CHECK(pixels[0] == 1.5f);
  CHECK(pixels[7] == 0.5f);
  CHECK(labels[0] == 0);
  CHECK(labels[1] == 1);
  std::uint8_t bytes[4];
  dataset.gather<std::uint8_t>(std::span(positions).first(1), 1, bytes, labels, std::span(positions).last(1));
  CHECK(bytes[3] == 3);
  const std::int64_t outside[] = {7};
  CHECK_THROWS_AS(dataset.gather<float>(outside, 1.f, pixels, labels), IndexError);
}

TEST_CASE("labelled images refuse labels and shapes that do not fit") {
  const Tensor<std::uint8_t> images({2, 1, 2, 2});
  Tensor<std::int64_t> labels({2});
  labels.fill_(0);
  CHECK_THROWS_WITH_AS((LabelledImages{Tensor<std::uint8_t>({2, 4}), labels, 3}), doctest::Contains("(2, 4)"),
                       ShapeError);
  CHECK_THROWS_AS((LabelledImages{images, Tensor<std::int64_t>({3}), 3}), ShapeError);
  CHECK_THROWS_AS((LabelledImages{images, Tensor<std::int64_t>({2, 1}), 3}), ShapeError);
  labels(1) = 3;
  CHECK_THROWS_WITH_AS((LabelledImages{images, labels, 3}), doctest::Contains("label 3 of image 1; expected 0 to 2"),
                       IndexError);
  labels(1) = -1;
  CHECK_THROWS_AS((LabelledImages{images, labels, 3}), IndexError);
  CHECK(LabelledImages().size() == 0);
}

TEST_CASE("subsets share the bytes, and subsets of subsets refer to the whole") {
  const auto dataset = numbered(6);
  const std::int64_t odd[] = {1, 3, 5}, last_two[] = {2, 1};
  const auto subset = dataset.subset(odd);
  CHECK(numbers_of(subset) == std::vector{1, 3, 5});
  const auto part = subset.subset(last_two);
  CHECK(numbers_of(part) == std::vector{5, 3});
  CHECK(part[0].second == 2);
  const std::int64_t outside[] = {3};
  CHECK_THROWS_AS((void)subset.subset(outside), IndexError);
}

TEST_CASE("labels were checked once and for all: the data set keeps its own") {
  const auto labels = zeros<std::int64_t>({2});
  const data::LabelledImages dataset(zeros<std::uint8_t>({2, 1, 1, 1}), labels, 10);
  labels.fill_(99);
  CHECK(dataset[0].second == 0);
}
