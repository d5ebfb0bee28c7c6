// Runs on: host.
#include <locus/core/std/bounds.hpp>

#include <doctest/doctest.h>

#include <limits>

namespace {
using locus::detail::larger;
using locus::detail::smaller;
using locus::detail::within;

TEST_CASE("the smaller and the larger of two numbers") {
  CHECK(smaller(2, 3) == 2);
  CHECK(smaller(3, 2) == 2);
  CHECK(larger(2, 3) == 3);
  CHECK(larger(3, 2) == 3);
  CHECK(smaller(-1.5, -1.5) == -1.5);
  // As std::min and std::max: a NaN in second place is not chosen.
  CHECK(smaller(1.f, std::numeric_limits<float>::quiet_NaN()) == 1.f);
  CHECK(larger(1.f, std::numeric_limits<float>::quiet_NaN()) == 1.f);
}

TEST_CASE("the nearest number within bounds") {
  CHECK(within(5, 0, 10) == 5);
  CHECK(within(0, 0, 10) == 0);
  CHECK(within(10, 0, 10) == 10);
  CHECK(within(-1, 0, 10) == 0);
  CHECK(within(11, 0, 10) == 10);
}

template <class... T>
bool as_in_the_standard_library() {
  using locus::detail::largest_of, locus::detail::least_of;
  return ((largest_of<T> == std::numeric_limits<T>::max() && least_of<T> == std::numeric_limits<T>::min()) && ...);
}
TEST_CASE("the largest and the least value of integer types") {
  CHECK(as_in_the_standard_library<bool, char, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t,
                                   std::uint32_t, std::int64_t, std::uint64_t, long long>());
}

}  // namespace
