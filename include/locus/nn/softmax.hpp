#pragma once
// Softmax and its logarithm as layers.

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

}}}  // namespace locus::LOCUS_ABI::nn
