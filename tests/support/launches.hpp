#pragma once
// Checks stated numbers of launches, if a library influences them.

#include <doctest/doctest.h>

#include <locus/device/verbs.hpp>

namespace locus_test {

/// Whether the number of D's launches is known: cuBLASLt decides which layouts of matrices and which epilogues it
/// supports. The simulated cuBLASLt of tests/cuda/simulated is predictable, unless set to refuse optional products.
template <class D>
[[nodiscard]] bool launches_are_known() {
#ifdef LOCUS_SIMULATED_CUDA
  return !simulated::Blas::refuses;
#else
  return !std::is_same_v<D, locus::Cuda>;
#endif
}

/// Most launches of a product: copies of both factors, the product, and a launch after it.
inline constexpr std::int64_t most_of_product = 4;

/// Checks `found` launches against `expected`; if not known, prints `found` and checks it against `most`.
template <class D>
void check_launches(const char* what, std::int64_t found, std::int64_t expected, std::int64_t most) {
  CAPTURE(what);
  if (launches_are_known<D>()) CHECK(found == expected);
  else MESSAGE(what, ": ", found, " launches; ", expected, " where all is fused");
  CHECK(found <= most);
}

}  // namespace locus_test
