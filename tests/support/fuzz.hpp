#pragma once
// Extent of tests with random or exhaustive cases: a few seconds by default, more if set in the environment.

#include <cstdint>
#include <cstdlib>

namespace locus_test {

/// LOCUS_FUZZ_SEED, if set.
[[nodiscard]] inline std::uint64_t fuzz_seed(std::uint64_t otherwise) {
  const char* const text = std::getenv("LOCUS_FUZZ_SEED");
  return text && *text ? std::strtoull(text, nullptr, 0) : otherwise;
}
/// LOCUS_FUZZ_COUNT, if set.
[[nodiscard]] inline std::int64_t fuzz_count(std::int64_t otherwise) {
  const char* const text = std::getenv("LOCUS_FUZZ_COUNT");
  return text && *text ? std::strtoll(text, nullptr, 0) : otherwise;
}

}  // namespace locus_test
