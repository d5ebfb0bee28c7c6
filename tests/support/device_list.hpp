#pragma once
// The devices for which a test source is instantiated, and test cases that are instantiated once per device.
//
//     LOCUS_DEVICE_TEST("zeros are zero", D) {
//       CHECK_CLOSE(zeros<float, D>({2}), {0, 0});
//     }

#include <doctest/doctest.h>

#include <support/counting.hpp>
#include <support/skip.hpp>

#if LOCUS_CUDA
#include <locus/cuda/backend.hpp>
#endif

/// A file compiled by nvcc is instantiated with -DLOCUS_TEST_DEVICES=locus::Cuda, and tests of operations once more for
/// the reference device.
#ifndef LOCUS_TEST_DEVICES
#define LOCUS_TEST_DEVICES locus::Cpu, locus_test::Counting
#endif

namespace locus_test {

/// Whether D can compute on this machine.
template <class D>
[[nodiscard]] bool answers() {
#if LOCUS_CUDA
  if constexpr (std::is_same_v<D, locus::Cuda>) return locus::cuda::is_available();
#endif
  return true;
}

/// Whether to test every element type on D. Counting computes as Cpu does, so one or two are enough there.
template <class D>
inline constexpr bool all_dtypes = !std::is_same_v<D, Counting>;

}  // namespace locus_test

#define LOCUS_DEVICE_TEST_(name, D, body)                                             \
  template <class D>                                                                  \
  static void body();                                                                 \
  TEST_CASE_TEMPLATE(name, LocusTestDevice, LOCUS_TEST_DEVICES) {                     \
    if (!locus_test::answers<LocusTestDevice>()) SKIP_TEST("no CUDA device answers"); \
    body<LocusTestDevice>();                                                          \
  }                                                                                   \
  template <class D>                                                                  \
  static void body()

/// A test case, once for every device in LOCUS_TEST_DEVICES; counted as skipped if the device does not answer.
#define LOCUS_DEVICE_TEST(name, D) LOCUS_DEVICE_TEST_(name, D, DOCTEST_ANONYMOUS(locus_device_test_))
