#pragma once
// Promised numbers of launches, where a library has a say in them.

#include <doctest/doctest.h>

#include <locus/device/verbs.hpp>

namespace locus_test {

/// Whether the number of D's launches is known: cuBLASLt decides which products it computes as their matrices lie, and
/// with which epilogues. The simulated one of tests/cuda/simulated is known, unless it refuses what it may.
template <class D>
[[nodiscard]] bool launches_are_known() {
#ifdef LOCUS_SIMULATED_CUDA
  return !simulated::Blas::refuses;
#else
  return !std::is_same_v<D, locus::Cuda>;
#endif
}

/// What a product takes at most: copies of its factors, itself, and a launch after it.
inline constexpr std::int64_t most_of_product = 4;

/// `found` launches are as many as are expected; where that is not known, at most so many, and how many is printed.
template <class D>
void check_launches(const char* what, std::int64_t found, std::int64_t expected, std::int64_t most) {
  CAPTURE(what);
  if (launches_are_known<D>()) CHECK(found == expected);
  else MESSAGE(what, ": ", found, " launches; ", expected, " where all is fused");
  CHECK(found <= most);
}

}  // namespace locus_test
