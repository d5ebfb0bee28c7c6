#pragma once
// Which byte comes next, drawn by what a model says of each.

#include <cstdint>
#include <vector>

/// Draws by softmax(scores / temperature), among the `top_k` largest scores where that is not 0; at a temperature of 0,
/// always the largest.
class NextByte {
 public:
  NextByte(double temperature, std::int64_t top_k, std::uint64_t seed)
      : temperature_(temperature), top_k_(top_k), seed_(seed) {}

  /// scores: one for each byte. throws locus::NumericError for one that is NaN or infinite
  [[nodiscard]] char drawn(const std::vector<float>& scores);

 private:
  double temperature_;
  std::int64_t top_k_;
  std::uint64_t seed_, draws_ = 0;
};
