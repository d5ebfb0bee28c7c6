#pragma once
// Draws the next byte from a model's scores.

#include <cstdint>
#include <vector>

/// Draws from softmax(scores / temperature), among the `top_k` largest scores unless top_k is 0. A temperature of 0
/// always takes the largest.
class NextByte {
 public:
  NextByte(double temperature, std::int64_t top_k, std::uint64_t seed)
      : temperature_(temperature), top_k_(top_k), seed_(seed) {}

  /// scores: one for each byte. throws locus::NumericError for a score that is NaN or infinite
  [[nodiscard]] char drawn(const std::vector<float>& scores);

 private:
  double temperature_;
  std::int64_t top_k_;
  std::uint64_t seed_, draws_ = 0;
};
