#pragma once
// Layers of the functions of expr/activations.hpp. To move a network that holds such a layer, name it like a layer of
// your own: std::move(model).to<Cuda, nn::SELU>(). Options are checked when the layer is first applied.

#include <locus/expr/activations.hpp>
#include <locus/nn/activation.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

struct SELU final : Stateless<SELU> {
  [[nodiscard]] auto forward(const auto& x) const { return selu(x); }
};
struct CELU final : Stateless<CELU> {
  double alpha = 1;
  explicit CELU(double negative_scale = 1) : alpha(negative_scale) {}
  [[nodiscard]] auto forward(const auto& x) const { return celu(x, alpha); }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const { return join("alpha=", alpha); }
};
struct Hardsigmoid final : Stateless<Hardsigmoid> {
  [[nodiscard]] auto forward(const auto& x) const { return hardsigmoid(x); }
};
struct Hardtanh final : Stateless<Hardtanh> {
  double low = -1, high = 1;
  explicit Hardtanh(double least = -1, double most = 1) : low(least), high(most) {}
  [[nodiscard]] auto forward(const auto& x) const { return hardtanh(x, low, high); }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const { return join(low, ", ", high); }
};
struct ReLU6 final : Stateless<ReLU6> {
  [[nodiscard]] auto forward(const auto& x) const { return relu6(x); }
};
struct Softsign final : Stateless<Softsign> {
  [[nodiscard]] auto forward(const auto& x) const { return softsign(x); }
};
struct Threshold final : Stateless<Threshold> {
  double limit, value;
  Threshold(double above, double otherwise) : limit(above), value(otherwise) {}
  [[nodiscard]] auto forward(const auto& x) const { return threshold(x, limit, value); }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const { return join(limit, ", ", value); }
};
struct Softshrink final : Stateless<Softshrink> {
  double lambda = 0.5;
  explicit Softshrink(double by = 0.5) : lambda(by) {}
  [[nodiscard]] auto forward(const auto& x) const { return softshrink(x, lambda); }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const { return join("lambda=", lambda); }
};
struct Hardshrink final : Stateless<Hardshrink> {
  double lambda = 0.5;
  explicit Hardshrink(double within = 0.5) : lambda(within) {}
  [[nodiscard]] auto forward(const auto& x) const { return hardshrink(x, lambda); }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const { return join("lambda=", lambda); }
};
struct LogSigmoid final : Stateless<LogSigmoid> {
  [[nodiscard]] auto forward(const auto& x) const { return logsigmoid(x); }
};
struct Tanhshrink final : Stateless<Tanhshrink> {
  [[nodiscard]] auto forward(const auto& x) const { return tanhshrink(x); }
};
/// Halves an axis: see locus::glu.
struct GLU final : Stateless<GLU> {
  int axis = -1;
  explicit GLU(int halved = -1) : axis(halved) {}
  [[nodiscard]] auto forward(const auto& x) const { return glu(x, axis); }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const { return join("dim=", axis); }
};

}}}  // namespace locus::LOCUS_ABI::nn
