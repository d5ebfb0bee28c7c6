#pragma once
// Softmax, its logarithm and its like as layers. A move of a network does not look for Softmin and Softmax2d.
// To move a network that holds such a layer, name it like a layer of your own.

#include <locus/nn/activation.hpp>
#include <locus/ops/softmax.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

/// See locus::softmax: nn::Softmax{1}. The dimension has no default.
struct Softmax final : Stateless<Softmax> {
  int dim;
  explicit Softmax(int along) : dim(along) {}
  [[nodiscard]] auto forward(const auto& x) const { return softmax(x, dim); }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const { return join("dim=", dim); }
};
/// See locus::log_softmax.
struct LogSoftmax final : Stateless<LogSoftmax> {
  int dim;
  explicit LogSoftmax(int along) : dim(along) {}
  [[nodiscard]] auto forward(const auto& x) const { return log_softmax(x, dim); }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const { return join("dim=", dim); }
};
/// softmax(-x, dim).
struct Softmin final : Stateless<Softmin> {
  int dim;
  explicit Softmin(int along) : dim(along) {}
  [[nodiscard]] auto forward(const auto& x) const { return softmin(x, dim); }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const { return join("dim=", dim); }
};
/// Softmax over the channels of images, for each pixel.
/// shape: as the input, (batch, channels, height, width), with or without the batch     throws ShapeError
struct Softmax2d final : Stateless<Softmax2d> {
  [[nodiscard]] auto forward(const auto& x) const {
    if (x.rank() != 3 && x.rank() != 4)
      fail<ShapeError>({"Softmax2d: input of shape ", x.shape(),
                        "; expected (batch, channels, height, width), or the same without the batch"});
    return softmax(x, -3);
  }
};

}}}  // namespace locus::LOCUS_ABI::nn
