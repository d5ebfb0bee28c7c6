#pragma once
// Layers that exchange channels for pixels, and back.

#include <locus/nn/activation.hpp>
#include <locus/ops/pixel_shuffle.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

/// See locus::pixel_shuffle: the last layer of networks that enlarge images.
struct PixelShuffle final : Stateless<PixelShuffle> {
  std::int64_t factor;
  explicit PixelShuffle(std::int64_t by) : factor(by) {}
  [[nodiscard]] auto forward(const auto& x) const { return pixel_shuffle(x, factor); }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const { return join(factor); }
};
/// See locus::pixel_unshuffle.
struct PixelUnshuffle final : Stateless<PixelUnshuffle> {
  std::int64_t factor;
  explicit PixelUnshuffle(std::int64_t by) : factor(by) {}
  [[nodiscard]] auto forward(const auto& x) const { return pixel_unshuffle(x, factor); }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const { return join(factor); }
};

}}}  // namespace locus::LOCUS_ABI::nn
