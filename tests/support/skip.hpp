#pragma once
// A test that cannot run here says why and counts as skipped, neither passed nor failed.

namespace locus_test {

/// Marks the running test case as skipped. Defined in main.cpp.
void note_skip(const char* reason);

}  // namespace locus_test

/// Leaves the test case (or a void function called last in it): SKIP_TEST("no CUDA device answers").
#define SKIP_TEST(reason)            \
  do {                               \
    ::locus_test::note_skip(reason); \
    return;                          \
  } while (false)
