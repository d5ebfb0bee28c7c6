#pragma once
// Reduces tests under a sanitizer, which makes memory accesses many times slower: one pass finds the same errors as
// several.

#include <locus/core/config.hpp>

/// Whether the thread sanitizer watches this program.
#if defined(__SANITIZE_THREAD__)
#define LOCUS_TEST_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LOCUS_TEST_THREAD_SANITIZER 1
#endif
#endif
#ifndef LOCUS_TEST_THREAD_SANITIZER
#define LOCUS_TEST_THREAD_SANITIZER 0
#endif

namespace locus_test {

/// Whether a sanitizer watches the memory of this program.
inline constexpr bool is_sanitized = LOCUS_ADDRESS_SANITIZER || LOCUS_TEST_THREAD_SANITIZER;

}  // namespace locus_test
