#pragma once
// A test that cannot run here reports the reason and counts as skipped, neither passed nor failed.

#include <cstdlib>
#include <string_view>

namespace locus_test {

/// Marks the running test case as skipped. Defined in main.cpp.
void note_skip(const char* reason);

/// Whether blocks of GPU memory are reused: not under compute-sanitizer, where LOCUS_CUDA_POOL=0 is set.
[[nodiscard]] inline bool memory_is_pooled() {
  const char* const text = std::getenv("LOCUS_CUDA_POOL");
  return !text || std::string_view(text) != "0";
}

}  // namespace locus_test

/// Returns from the test case (or a void function called last in it): SKIP_TEST("no CUDA device answers").
#define SKIP_TEST(reason)            \
  do {                               \
    ::locus_test::note_skip(reason); \
    return;                          \
  } while (false)

/// Skips the test case without a GPU. Needs locus/cuda/backend.hpp.
#define NEEDS_CUDA() \
  if (!::locus::cuda::is_available()) SKIP_TEST("no CUDA device answers")
