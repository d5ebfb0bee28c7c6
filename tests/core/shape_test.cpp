// Runs on: host.
#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <locus/core/shape.hpp>
#include <span>
#include <vector>

using namespace locus;

TEST_CASE("Dims holds up to eight numbers and indexes from both ends") {
  Dims dims{2, 3, 4};
  CHECK(dims.rank() == 3);
  CHECK(dims[0] == 2);
  CHECK(dims[-1] == 4);
  dims[-1] = 7;
  CHECK(dims == Dims{2, 3, 7});
  CHECK(Dims{} == Shape{});
  CHECK(Dims{}.empty());
  CHECK(Dims::filled(3, 5) == Dims{5, 5, 5});

  const std::vector<std::int64_t> values{1, 2, 3, 4, 5, 6, 7, 8};
  Dims full{std::span<const std::int64_t>(values)};
  CHECK(full.rank() == max_rank);
  CHECK(std::vector<std::int64_t>(full.begin(), full.end()) == values);
  CHECK_THROWS_WITH_AS(full.push_back(9), "a tensor has at most 8 dimensions", ShapeError);
  CHECK(full.rank() == max_rank);
}

TEST_CASE("Dims is compared by its numbers and its length") {
  CHECK(Dims{2, 3} == Dims{2, 3});
  CHECK(Dims{2, 3} != Dims{3, 2});
  CHECK(Dims{2, 3} != Dims{2, 3, 1});
}

TEST_CASE("an index outside a shape is refused, naming both") {
  const Dims dims{2, 3};
  CHECK_THROWS_WITH_AS((void)dims[2], "there is no dimension 2 in (2, 3); expected -2 to 1", IndexError);
  CHECK_THROWS_AS((void)dims[-3], IndexError);
  CHECK_THROWS_AS((void)Dims{}[0], IndexError);
}

TEST_CASE("insert and erase shift what follows") {
  Dims dims{2, 4};
  dims.insert(1, 3);
  CHECK(dims == Dims{2, 3, 4});
  dims.insert(3, 5);
  dims.insert(0, 1);
  CHECK(dims == Dims{1, 2, 3, 4, 5});
  dims.erase(0);
  dims.erase(3);
  dims.erase(1);
  CHECK(dims == Dims{2, 4});
}

TEST_CASE("shapes print like Python's tuples") {
  CHECK(to_string(Shape{}) == "()");
  CHECK(to_string(Shape{5}) == "(5,)");
  CHECK(to_string(Shape{2, 3}) == "(2, 3)");
}

TEST_CASE("elements multiplies the extents") {
  CHECK(elements({}) == 1);
  CHECK(elements({2, 3, 4}) == 24);
  CHECK(elements({2, 0, 4}) == 0);
  CHECK_THROWS_WITH_AS(
      (void)elements({2, -1}),
      "shape (2, -1) has a negative extent; expected 0 or more, and -1 in reshape alone, which infers it", ShapeError);
}

TEST_CASE("elements notices overflow, except where an extent is zero") {
  const std::int64_t big = std::int64_t{1} << 40;
  CHECK_THROWS_AS((void)elements({big, big}), ShapeError);
  CHECK(elements({big, big, 0}) == 0);
  CHECK(elements({0, big, big}) == 0);
  CHECK_THROWS_AS((void)elements({big, big, 0, -1}), ShapeError);
  CHECK(elements({std::numeric_limits<std::int64_t>::max(), 1}) == std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("row_major gives dense strides, also past empty dimensions") {
  CHECK(row_major({}) == Strides{});
  CHECK(row_major({5}) == Strides{1});
  CHECK(row_major({2, 3, 4}) == Strides{12, 4, 1});
  CHECK(row_major({2, 0, 4}) == Strides{4, 4, 1});
}

TEST_CASE("normalize_axis counts negative axes from the end") {
  CHECK(normalize_axis(1, 3, "sum") == 1);
  CHECK(normalize_axis(-1, 3, "sum") == 2);
  CHECK(normalize_axis(-3, 3, "sum") == 0);
  CHECK_THROWS_WITH_AS((void)normalize_axis(3, 3, "sum"),
                       "sum: axis 3 is out of range for a tensor with 3 dimensions; expected -3 to 2", IndexError);
  CHECK_THROWS_AS((void)normalize_axis(-4, 3, "sum"), IndexError);
  CHECK_THROWS_WITH_AS((void)normalize_axis(0, 0, "sum"), "sum: axis 0 is out of range for a tensor with 0 dimensions",
                       IndexError);
}

TEST_CASE("broadcast follows NumPy's rule") {
  CHECK(broadcast({2, 3}, {2, 3}) == Shape{2, 3});
  CHECK(broadcast({2, 3}, {3}) == Shape{2, 3});
  CHECK(broadcast({4, 1}, {3}) == Shape{4, 3});
  CHECK(broadcast({}, {3}) == Shape{3});
  CHECK(broadcast({8, 1, 6, 1}, {7, 1, 5}) == Shape{8, 7, 6, 5});
  CHECK(broadcast({0, 3}, {1}) == Shape{0, 3});
  CHECK(broadcast({1}, {0}) == Shape{0});
  CHECK_THROWS_AS((void)broadcast({2}, {0}), ShapeError);
  CHECK_THROWS_WITH_AS((void)broadcast({2, 3}, {4}),
                       "shapes (2, 3) and (4,) do not broadcast: dimension -1 is 3 and 4; expected equal extents, or 1 "
                       "in one of them: unsqueeze adds an axis of 1",
                       ShapeError);
}

TEST_CASE("broadcast_strides repeats with stride zero") {
  CHECK(broadcast_strides({3}, {1}, {2, 3}) == Strides{0, 1});
  CHECK(broadcast_strides({2, 1}, {1, 1}, {2, 3}) == Strides{1, 0});
  CHECK(broadcast_strides({}, {}, {2, 3}) == Strides{0, 0});
}

TEST_CASE("is_contiguous ignores strides that no index uses") {
  CHECK(is_contiguous({}, {}));
  CHECK(is_contiguous({2, 3}, {3, 1}));
  CHECK(is_contiguous({2, 1, 3}, {3, 77, 1}));
  CHECK_FALSE(is_contiguous({2, 3}, {1, 2}));
  CHECK_FALSE(is_contiguous({2, 3}, {0, 1}));
  CHECK(is_contiguous({2, 0}, {9, 9}));
  const std::int64_t big = std::int64_t{1} << 40;  // products of extents beside a zero wrap around
  CHECK(is_contiguous({0, big, big, big}, row_major({0, big, big, big})));
}
