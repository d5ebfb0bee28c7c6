// Runs on: host.
#include <locus/data/sampler.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

using namespace locus;

namespace {
std::vector<std::int64_t> sorted(std::vector<std::int64_t> order) {
  std::sort(order.begin(), order.end());
  return order;
}
}  // namespace

TEST_CASE("the sequential sampler counts") {
  const data::SequentialSampler sampler{4};
  CHECK(sampler.order(0) == std::vector<std::int64_t>{0, 1, 2, 3});
  CHECK(sampler.order(7) == sampler.order(0));
  CHECK(data::SequentialSampler{0}.order(0).empty());
}

TEST_CASE("the random sampler visits every sample once, in another order every epoch and for every seed") {
  const data::RandomSampler sampler{100, 5};
  const auto first = sampler.order(0);
  CHECK(sorted(first) == data::SequentialSampler{100}.order(0));
  CHECK(sampler.order(0) == first);
  CHECK(sampler.order(1) != first);
  CHECK(sorted(sampler.order(1)) == sorted(first));
  CHECK(data::RandomSampler{100, 6}.order(0) != first);
  CHECK(data::RandomSampler{0, 5}.order(0).empty());
  CHECK(data::RandomSampler{1, 5}.order(3) == std::vector<std::int64_t>{0});
}

TEST_CASE("the subset sampler visits the given samples alone") {
  const data::SubsetRandomSampler sampler{{4, 8, 15, 16, 23, 42}, 1};
  CHECK(sorted(sampler.order(0)) == std::vector<std::int64_t>{4, 8, 15, 16, 23, 42});
  CHECK(sampler.order(2) == sampler.order(2));
  bool differs = false;
  for (std::uint64_t epoch = 1; epoch < 5; ++epoch) differs |= sampler.order(epoch) != sampler.order(0);
  CHECK(differs);
}

TEST_CASE("the block sampler visits every sample once, by blocks that are near in the file") {
  const data::BlockSampler sampler{.count = 103, .block = 10, .together = 3, .seed = 5};
  const auto first = sampler.order(0);
  CHECK(sorted(first) == data::SequentialSampler{103}.order(0));
  CHECK(sampler.order(0) == first);
  CHECK(sampler.order(1) != first);
  CHECK(data::BlockSampler{.count = 103, .block = 10, .together = 3, .seed = 6}.order(0) != first);
  for (std::size_t begin = 0, end = 0; begin < first.size(); begin = end) {
    std::vector<std::int64_t> blocks;
    for (; end < first.size(); ++end) {  // as long as they are of three blocks
      const std::int64_t block = first[end] / 10;
      if (std::find(blocks.begin(), blocks.end(), block) != blocks.end()) continue;
      if (blocks.size() == 3) break;
      blocks.push_back(block);
    }
    CHECK((end - begin >= 23 || end == first.size()));
    CHECK_FALSE(std::is_sorted(first.begin() + static_cast<std::ptrdiff_t>(begin),
                               first.begin() + static_cast<std::ptrdiff_t>(end)));
  }
  CHECK(sorted(data::BlockSampler{.count = 7, .block = INT64_MAX}.order(2)).size() == 7);
  CHECK(data::BlockSampler{.count = 0}.order(0).empty());
  const data::BlockSampler none{.count = 3, .block = 0};
  CHECK_THROWS_WITH_AS((void)none.order(0), "BlockSampler: .block = 0 and .together = 16; expected 1 or more",
                       ArgumentError);
}

TEST_CASE("every place is equally likely for every sample") {
  constexpr int n = 5, epochs = 5000;
  int seen[n][n] = {};
  const data::RandomSampler sampler{n, 9};
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
    const auto order = sampler.order(epoch);
    for (std::size_t place = 0; place < n; ++place) ++seen[place][order[place]];
  }
  for (const auto& place : seen)
    for (const int count : place) CHECK(std::abs(count - epochs / n) < 150);  // more than five standard deviations
}

TEST_CASE("more samples than there can be memory for are out of memory, and less than none no number") {
  for (const std::int64_t count : {INT64_MAX, INT64_MAX / 4, std::int64_t{1} << 60}) {
    CHECK_THROWS_WITH_AS((void)data::SequentialSampler{count}.order(0),
                         doctest::Contains(join("sampler: no memory for ", count, " samples").c_str()), OutOfMemory);
    CHECK_THROWS_AS((void)data::RandomSampler{count}.order(0), OutOfMemory);
  }
  CHECK_THROWS_WITH_AS((void)data::RandomSampler{-1}.order(0), doctest::Contains("-1 samples"), ArgumentError);
}
