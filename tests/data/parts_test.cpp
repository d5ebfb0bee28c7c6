// Runs on: host.
#include <locus/data/sets/fake_data.hpp>
#include <locus/data/sets/labelled_images.hpp>
#include <locus/data/sets/parts.hpp>
#include <locus/data/sets/tensor_dataset.hpp>
#include <locus/tensor/factory.hpp>

#include <support/numbered_images.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

using namespace locus;
using namespace locus_test;
using data::LabelledImages;

namespace {

/// Sample i is the numbers 10 i and 10 i + 1, and the label i.
data::TensorDataset<float, std::int64_t> pairs(std::int64_t count) {
  const Tensor<float> x({count, 2});
  const Tensor<std::int64_t> y({count});
  for (std::int64_t i = 0; i < count; ++i) {
    x(i, 0) = static_cast<float>(10 * i);
    x(i, 1) = static_cast<float>(10 * i + 1);
    y(i) = i;
  }
  return data::TensorDataset{x, y};
}
template <class S>
std::vector<std::int64_t> labels_of(const S& dataset) {
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    const auto [x, y] = data::sample(dataset, i);
    CHECK(x(1) == static_cast<float>(10 * y.item() + 1));
    labels.push_back(y.item());
  }
  return labels;
}
using Numbers = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("random_split deals every sample to one side, the same for the same seed") {
  const auto dataset = numbered(50);
  const auto [first, second] = data::random_split(dataset, 0.2, 3);
  CHECK(first.size() == 10);
  CHECK(second.size() == 40);
  auto all = numbers_of(first);
  for (const int number : numbers_of(second)) all.push_back(number);
  CHECK(std::set(all.begin(), all.end()).size() == 50);
  CHECK_FALSE(std::is_sorted(all.begin(), all.end()));

  const auto again = data::random_split(dataset, 0.2, 3).first, other = data::random_split(dataset, 0.2, 4).first;
  CHECK(numbers_of(again) == numbers_of(first));
  CHECK(numbers_of(other) != numbers_of(first));
}

TEST_CASE("random_split leaves samples on both sides, or refuses") {
  const auto dataset = numbered(4);
  for (const double fraction : {0.0, 1.0, -0.5, 1.5, 0.01, 0.99, std::nan("")}) {
    CAPTURE(fraction);
    CHECK_THROWS_AS((void)data::random_split(dataset, fraction), ArgumentError);
  }
  CHECK_THROWS_AS((void)data::random_split(LabelledImages(), 0.5), ArgumentError);
  CHECK(data::random_split(dataset, 0.25).first.size() == 1);
}

TEST_CASE("a subset has the samples named, in that order, and its parts refer to the whole") {
  using Pairs = data::TensorDataset<float, std::int64_t>;
  static_assert(!std::is_constructible_v<data::Subset<Pairs>, Shared<const data::detail::Held<Pairs>>, Numbers>);
  const data::Subset odd(pairs(10), {9, 7, 5, 3, 1});
  CHECK(odd.size() == 5);
  CHECK(labels_of(odd) == Numbers{9, 7, 5, 3, 1});
  const Numbers positions{4, 0};
  CHECK(labels_of(odd.subset(positions)) == Numbers{1, 9});
  CHECK_THROWS_WITH_AS((data::Subset(pairs(3), {0, 3})), doctest::Contains("sample 3 of 3"), IndexError);
  const Numbers outside{5};
  CHECK_THROWS_AS((void)odd.subset(outside), IndexError);
  CHECK_THROWS_AS((void)data::sample(odd, 5), IndexError);
}

TEST_CASE("a subset writes lists longer than its own lists are") {
  std::vector<std::int64_t> backwards;
  for (std::int64_t i = 200; i > 0; --i) backwards.push_back(i - 1);
  const data::Subset all(pairs(200), backwards);
  std::vector<float> x(400);
  Numbers y(200), list(200);
  for (std::size_t i = 0; i < 200; ++i) list[i] = static_cast<std::int64_t>(i);
  all.write(Span<const std::int64_t>(list), {}, Span<float>(x), Span<std::int64_t>(y));
  CHECK(y == backwards);
  CHECK(x[399] == 1);
  CHECK(x[398] == 0);
  CHECK(x[2 * 65] == static_cast<float>(10 * (199 - 65)));
}

TEST_CASE("parts of given lengths deal every sample once") {
  const auto parts = data::random_split(pairs(10), {5, 3, 2, 0}, 7);
  CHECK(parts.size() == 4);
  CHECK(parts[3].size() == 0);
  std::set<std::int64_t> all;
  for (const auto& part : parts)
    for (const std::int64_t label : labels_of(part)) all.insert(label);
  CHECK(all.size() == 10);
  CHECK(labels_of(parts[0]) == labels_of(data::random_split(pairs(10), 0.5, 7).first));
  const auto images = data::random_split(numbered(4), {1, 3});
  CHECK(numbers_of(images[0]).size() == 1);
  CHECK(numbers_of(images[1]).size() == 3);
  CHECK_THROWS_WITH_AS((void)data::random_split(pairs(10), {5, 6}), doctest::Contains("more than the 10"),
                       ArgumentError);
  CHECK_THROWS_WITH_AS((void)data::random_split(pairs(10), {5, 4}), doctest::Contains("less than the 10"),
                       ArgumentError);
  CHECK_THROWS_WITH_AS((void)data::random_split(pairs(10), {11, -1}), doctest::Contains("-1"), ArgumentError);
}

TEST_CASE("concat has the samples of the first data set, then those of the next") {
  const auto both = data::concat(data::Subset(pairs(5), {4, 2}), pairs(2), pairs(1));
  CHECK(both.size() == 5);
  CHECK(labels_of(both) == Numbers{4, 2, 0, 1, 0});
  CHECK_THROWS_WITH_AS((void)data::concat(data::TensorDataset{zeros({4, 2})}, data::TensorDataset{zeros({4, 3})}),
                       doctest::Contains("shape (3,) in data set 1, but (2,)"), ShapeError);
}

TEST_CASE("parts of a data set that names its tensors have these names") {
  const data::FakeData images{{.size = 10, .shape = {2}}};
  const auto [train, valid] = data::random_split(images, 0.8);
  const auto all = data::concat(valid, train);
  CHECK(data::sample(train, 3).images.shape() == Shape{2});
  CHECK(data::sample(all, 9).labels.item() == data::sample(train, 7).labels.item());
}
