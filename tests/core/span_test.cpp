// Runs on: host.
#include <locus/core/std/span.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <span>
#include <vector>

using namespace locus;

namespace {
std::int64_t sum(Span<const std::int64_t> values) {
  std::int64_t total = 0;
  for (const std::int64_t value : values) total += value;
  return total;
}
void double_all(Span<std::int64_t> values) {
  for (std::int64_t& value : values) value *= 2;
}
struct Base {};
struct Derived : Base {
  int more;
};
}  // namespace

static_assert(!std::is_convertible_v<const std::vector<int>&, Span<int>>);  // its elements may not change
static_assert(!std::is_convertible_v<std::vector<int>&, Span<const std::int64_t>>);
static_assert(!std::is_convertible_v<std::vector<Derived>&, Span<Base>>);  // they are of another size
static_assert(!std::is_convertible_v<std::vector<bool>&, Span<bool>>);
static_assert(!std::is_constructible_v<Span<std::int64_t>, int, std::size_t>);  // {0, 5} is no null pointer

TEST_CASE("a span is made of whatever holds elements side by side") {
  std::vector<std::int64_t> values{1, 2, 3, 4};
  const std::vector<std::int64_t> fixed = values;
  std::int64_t array[] = {5, 6};
  CHECK(sum(values) == 10);
  CHECK(sum(fixed) == 10);
  CHECK(sum(array) == 11);
  CHECK(sum(std::span(values)) == 10);
  CHECK(sum({values.data() + 1, 2}) == 5);
  CHECK(sum({}) == 0);
  double_all(values);
  double_all(array);
  CHECK(sum(Span<std::int64_t>(values)) == 20);
  CHECK(array[1] == 12);
}

TEST_CASE("a span has a beginning and a rest") {
  const std::int64_t values[] = {1, 2, 3, 4};
  const Span<const std::int64_t> all(values);
  CHECK(sum(all.first(1)) == 1);
  CHECK(sum(all.from(1)) == 9);
  CHECK(all.from(1)[0] == 2);
  CHECK(all.from(4).empty());
  CHECK(Span<const std::int64_t>().empty());
}
