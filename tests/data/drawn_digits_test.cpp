// Runs on: host.
#include <locus/data/sets/drawn_digits.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

using namespace locus;

namespace {

using Image = std::array<std::uint8_t, 784>;

Image drawn(int label, std::uint64_t seed, std::uint64_t index) {
  Image image{};
  data::draw_digit(image, label, seed, index);
  return image;
}

Image image_of(const data::DrawnDigits& digits, std::size_t i) {
  Image image{};
  std::copy_n(digits.images.begin() + static_cast<std::ptrdiff_t>(i * 784), 784, image.begin());
  return image;
}

/// Pixels that hold clearly more than grain.
int inked(const Image& image) {
  return static_cast<int>(std::count_if(image.begin(), image.end(), [](std::uint8_t p) { return p > 80; }));
}

double squared_distance(const std::array<double, 784>& mean, const Image& image) {
  double sum = 0;
  for (std::size_t p = 0; p < 784; ++p) sum += (mean[p] - image[p]) * (mean[p] - image[p]);
  return sum;
}

}  // namespace

TEST_CASE("a digit is a function of label, seed and index") {
  for (int label = 0; label < 10; ++label) {
    const auto image = drawn(label, 1, 7);
    CHECK(image == drawn(label, 1, 7));
    CHECK(image != drawn(label, 2, 7));
    CHECK(image != drawn(label, 1, 8));
    CHECK(image != drawn((label + 1) % 10, 1, 7));
  }
}

TEST_CASE("drawing overwrites what the image held") {
  Image image;
  image.fill(255);
  data::draw_digit(image, 3, 0, 0);
  CHECK(image == drawn(3, 0, 0));
}

TEST_CASE("a digit is ink on an empty ground, inside the image") {
  int corners = 0, most = 0, least = 784;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const auto image = drawn(static_cast<int>(i % 10), 5, i);
    const int ink = inked(image);
    most = std::max(most, ink);
    least = std::min(least, ink);
    corners += (image[0] > 80) + (image[27] > 80) + (image[756] > 80) + (image[783] > 80);
  }
  CHECK(least >= 12);
  CHECK(most <= 350);
  CHECK(corners < 5);
}

TEST_CASE("every label has several shapes") {
  for (int label = 0; label < 10; ++label) {
    std::set<const data::detail::Pen*> shapes;
    for (std::uint64_t i = 0; i < 60; ++i) {
      Philox random(1, 0, i);
      const auto& glyph = data::detail::pick_glyph(label, random);
      REQUIRE(glyph.label == label);
      shapes.insert(glyph.pens.data());
    }
    CHECK(shapes.size() >= 2);
  }
}

TEST_CASE("many digits are the single ones, one after the other") {
  const auto digits = data::draw_digits(50, 9);
  REQUIRE(digits.images.size() == 50u * 784);
  REQUIRE(digits.labels.size() == 50);
  for (std::size_t i = 0; i < 50; ++i) CHECK(image_of(digits, i) == drawn(static_cast<int>(digits.labels[i]), 9, i));
}

TEST_CASE("fewer digits are the beginning of more") {
  const auto few = data::draw_digits(20, 3), many = data::draw_digits(40, 3);
  CHECK(std::equal(few.images.begin(), few.images.end(), many.images.begin()));
  CHECK(std::equal(few.labels.begin(), few.labels.end(), many.labels.begin()));
  CHECK(data::draw_digits(20, 4).images != few.images);
  CHECK(data::draw_digits(20, 4).labels != few.labels);
}

TEST_CASE("the ten labels come equally often") {
  std::array<int, 10> counts{};
  for (auto label : data::draw_digits(5000, 2).labels) ++counts.at(static_cast<std::size_t>(label));
  for (int count : counts) CHECK(std::abs(count - 500) < 110);
}

TEST_CASE("the classes differ, but not so far that the nearest mean image tells them apart") {
  const std::size_t train = 3000, all = 4000;
  const auto digits = data::draw_digits(all, 6);
  std::array<std::array<double, 784>, 10> means{};
  std::array<double, 10> counts{};
  for (std::size_t i = 0; i < train; ++i) {
    const auto label = static_cast<std::size_t>(digits.labels[i]);
    for (std::size_t p = 0; p < 784; ++p) means[label][p] += digits.images[i * 784 + p];
    ++counts[label];
  }
  for (std::size_t label = 0; label < 10; ++label) {
    for (auto& pixel : means[label]) pixel /= counts[label];
  }
  int right = 0;
  for (std::size_t i = train; i < all; ++i) {
    const auto image = image_of(digits, i);
    std::size_t best = 0;
    for (std::size_t label = 1; label < 10; ++label) {
      if (squared_distance(means[label], image) < squared_distance(means[best], image)) best = label;
    }
    right += static_cast<int>(best) == digits.labels[i];
  }
  MESSAGE("nearest mean: " << right << " of 1000 right");
  CHECK(right > 600);
  CHECK(right < 930);
}

TEST_CASE("no digits are drawn where none are asked for") {
  const auto none = data::draw_digits(0, 1);
  CHECK(none.images.empty());
  CHECK(none.labels.empty());
}

TEST_CASE("wrong labels and counts are refused") {
  Image image{};
  CHECK_THROWS_WITH_AS(data::draw_digit(image, 10, 0, 0), "draw_digit: there is no digit 10; expected 0 to 9",
                       IndexError);
  CHECK_THROWS_AS(data::draw_digit(image, -1, 0, 0), IndexError);
  CHECK_THROWS_WITH_AS(data::draw_digit({image.data(), 28}, 1, 0, 0),
                       "draw_digit: room for 28 pixels; expected 28 x 28", ArgumentError);
  CHECK_THROWS_WITH_AS((void)data::draw_digits(-2, 0), "draw_digits: cannot draw -2 digits; expected 0 or more",
                       ArgumentError);
}

TEST_CASE("more digits than there can be memory for are out of memory") {
  // The pixels of the last three, counted in 64 bits, are none.
  for (const std::int64_t count : {INT64_MAX, std::int64_t{1} << 62, std::int64_t{1} << 61, std::int64_t{1} << 60})
    CHECK_THROWS_WITH_AS((void)data::draw_digits(count, 0),
                         doctest::Contains(join("draw_digits: no memory for ", count, " digits").c_str()), OutOfMemory);
}

TEST_CASE("the last seeds and indices are as good as the first") {
  const auto most = std::numeric_limits<std::uint64_t>::max();
  CHECK(inked(drawn(8, most, most)) > 12);
}
