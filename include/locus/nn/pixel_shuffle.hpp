#pragma once
// Layers that exchange channels for pixels, and back, and that reorder channels.
// A move of a network does not look for ChannelShuffle.
// To move a network that holds such a layer, name it like a layer of your own.

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

/// See locus::channel_shuffle.
struct ChannelShuffle final : Stateless<ChannelShuffle> {
  std::int64_t groups;
  explicit ChannelShuffle(std::int64_t of) : groups(of) {}
  [[nodiscard]] auto forward(const auto& x) const { return channel_shuffle(x, groups); }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const { return join("groups=", groups); }
};

}}}  // namespace locus::LOCUS_ABI::nn
