#pragma once
// Weights that are computed from other parameters: weight_norm and spectral_norm of a layer, as
// torch.nn.utils.parametrizations, with its names of parameters. Not part of locus/locus.hpp.

#include <locus/nn/module.hpp>
#include <locus/ops/matmul.hpp>
#include <locus/ops/norm.hpp>
#include <locus/ops/view.hpp>
#include <locus/tensor/random.hpp>

#include <optional>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

namespace detail {
/// A layer that computes with another weight than its own: nn::Linear, and convolutions of every kind.
template <class L>
concept TakesWeights = requires(const L& layer, const Tensor<value_of<L>, device_of<L>>& tensor) {
  layer.weight.value();
  layer.bias.value();
  layer.forward_by(tensor, tensor);
};

/// A parameter as an operand beside operands of a role.
template <Role role, class T, class D>
[[nodiscard]] auto beside(const Parameter<T, D>& parameter) {
  if constexpr (role == Role::traced) return trace(parameter);
  else return parameter.value();
}

/// Base of a layer whose weight Derived computes: derived.weight_beside<role>(in_training).
template <class Derived, class L>
class Parametrized : public Layer<Derived, value_of<L>, device_of<L>> {
 public:
  using T = value_of<L>;
  using D = device_of<L>;
  using input_type = T;

  template <TensorLike X>
  [[nodiscard]] auto forward(const X& x) const {
    const bool trains = locus::detail::in_training(x) && !locus::detail::computes_again;
    return layer_.forward_by(x, derived().template weight_beside<X::role>(trains));
  }
  /// The weight as it is now.     shape: of the layer's own
  [[nodiscard]] Tensor<T, D> weight() const { return derived().template weight_beside<Role::plain>(false); }
  /// The layer with the weight as it is now for its own: torch's remove_parametrizations. It has parameters of its own.
  [[nodiscard]] L folded() const {
    L layer = layer_;
    layer.weight = Parameter<T, D>(weight().contiguous().clone());
    if (layer.bias.defined()) layer.bias = Parameter<T, D>(layer.bias.value().clone());
    return layer;
  }
  [[nodiscard]] WeightUse weight_use() const { return use_of(layer_); }

 protected:
  explicit Parametrized(const L& layer) : layer_(layer) { layer_.weight = {}; }
  [[nodiscard]] static WeightUse use_of([[maybe_unused]] const L& layer) {
    if constexpr (requires { layer.weight_use(); }) return layer.weight_use();
    else return {};
  }
  L layer_;  ///< without a weight

 private:
  [[nodiscard]] const Derived& derived() const { return static_cast<const Derived&>(*this); }
};
}  // namespace detail

struct WeightNormOptions {
  std::optional<int> dim = 0;  ///< the dimension with a length for each of its slices; absent: one for the whole weight
};

/// A layer whose weight has its length and its direction as parameters: original0 * original1 / |original1| (Salimans
/// and Kingma, 2016). Made by nn::weight_norm.
/// Parameters: bias, parametrizations.weight.original0 (lengths), parametrizations.weight.original1 (the shape of the
/// weight). cost: as the layer, and two launches
template <class L>
class WeightNorm final : public detail::Parametrized<WeightNorm<L>, L> {
  using Base = detail::Parametrized<WeightNorm, L>;

 public:
  using typename Base::D;
  using typename Base::T;
  Parameter<T, D> original0, original1;

  /// throws ArgumentError for a dimension that the weight does not have
  explicit WeightNorm(const L& layer, const WeightNormOptions& options = {}) : Base(layer), options_(options) {
    const Tensor<T, D> weight = layer.weight.value().clone();
    if (options.dim && (*options.dim < -weight.rank() || *options.dim >= weight.rank()))
      fail<ArgumentError>({"weight_norm: dimension ", *options.dim, " of a weight of shape ", weight.shape(),
                           "; expected ", -weight.rank(), " to ", weight.rank() - 1});
    original1 = Parameter<T, D>(weight);
    original0 = Parameter<T, D>(lengths(weight).clone());
  }

  void members(const auto& visit) const {
    visit("bias", this->layer_.bias);
    visit("parametrizations.weight.original0", original0);
    visit("parametrizations.weight.original1", original1);
  }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const {
    return join(original1.shape(), ", dim=", options_.dim ? join(*options_.dim) : "none");
  }
  /// A layer of the same configuration for U on E, without memory.
  template <class U, class E>
  [[nodiscard]] auto twin() const {
    using Twin = decltype(this->layer_.template twin<U, E>());
    return WeightNorm<Twin>(this->layer_.template twin<U, E>(), options_, nullptr);
  }

  /// For forward.
  template <Role role>
  [[nodiscard]] auto weight_beside(bool) const {
    const auto direction = detail::beside<role>(original1);
    return (direction * (detail::beside<role>(original0) / lengths(direction))).eval();
  }

 private:
  template <class>
  friend class WeightNorm;
  WeightNorm(const L& layer, const WeightNormOptions& options, std::nullptr_t) : Base(layer), options_(options) {}

  /// The norm of each slice, or of the whole weight.
  template <class W>
  [[nodiscard]] auto lengths(const W& weight) const {
    if (!options_.dim) return norm(weight);
    const int kept = normalize_axis(*options_.dim, weight.rank(), "weight_norm");
    Axes others;
    for (int d = 0; d < weight.rank(); ++d)
      if (d != kept) others.push_back(d);
    return norm(weight, 2, others, true);
  }

  WeightNormOptions options_;
};

/// weight_norm(layer): the layer with a weight of given lengths, which learns faster where lengths and directions
/// should change at different speeds.
///
///     nn::Sequential model{nn::weight_norm(nn::Linear<float, D>{64, 32}), nn::ReLU{}, ...};
template <class L>
  requires detail::TakesWeights<L>
[[nodiscard]] WeightNorm<L> weight_norm(const L& layer, const WeightNormOptions& options = {}) {
  return WeightNorm<L>(layer, options);
}

struct SpectralNormOptions {
  int n_power_iterations = 1;             ///< in each training step
  double eps = 1e-12;                     ///< least norm by which vectors are divided
  std::optional<int> dim = std::nullopt;  ///< the rows of the weight as a matrix; absent: outputs of the layer
};

/// A layer whose weight is divided by its largest singular value (Miyato et al., 2018), estimated by a step of power
/// iteration in each training step. Made by nn::spectral_norm.
/// Parameters: bias, parametrizations.weight.original. Buffers: parametrizations.weight.0._u and _v, the estimated
/// singular vectors. cost: as the layer, two launches, and in training six for each iteration
template <class L>
class SpectralNorm final : public detail::Parametrized<SpectralNorm<L>, L> {
  using Base = detail::Parametrized<SpectralNorm, L>;

 public:
  using typename Base::D;
  using typename Base::T;
  Parameter<T, D> original;
  Buffer<T, D> u, v;

  /// throws ArgumentError for no iterations, an eps that is negative or not finite, and a dimension that the weight
  /// does not have
  explicit SpectralNorm(const L& layer, const SpectralNormOptions& options = {})
      : Base(layer), options_(checked(options)), dim_(row_dim(layer, options)) {
    original = Parameter<T, D>(layer.weight.value().clone());
    const Tensor<T, D> rows = matrix(original.value());
    u = Buffer<T, D>(unit(randn<T, D>({rows.size(0)}, rows.device())));
    v = Buffer<T, D>(unit(randn<T, D>({rows.size(1)}, rows.device())));
    iterate(15);  // PyTorch's number
  }

  void members(const auto& visit) const {
    visit("bias", this->layer_.bias);
    visit("parametrizations.weight.original", original);
    visit("parametrizations.weight.0._u", u);
    visit("parametrizations.weight.0._v", v);
  }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const {
    return join(original.shape(), ", n_power_iterations=", options_.n_power_iterations, ", dim=", dim_);
  }
  /// A layer of the same configuration for U on E, without memory.
  template <class U, class E>
  [[nodiscard]] auto twin() const {
    using Twin = decltype(this->layer_.template twin<U, E>());
    return SpectralNorm<Twin>(this->layer_.template twin<U, E>(), options_, dim_);
  }

  /// For forward.
  template <Role role>
  [[nodiscard]] auto weight_beside(bool trains) const {
    if (trains) iterate(options_.n_power_iterations);
    const Tensor<T, D> left = u.value().clone(), right = v.value().clone();  // the next step changes the buffers
    const auto weight = detail::beside<role>(original);
    return (weight / sum(left * matmul(matrix(weight), right))).eval();
  }

 private:
  template <class>
  friend class SpectralNorm;
  SpectralNorm(const L& layer, const SpectralNormOptions& options, int dim)
      : Base(layer), options_(options), dim_(dim) {}

  static const SpectralNormOptions& checked(const SpectralNormOptions& options) {
    if (options.n_power_iterations < 1)
      fail<ArgumentError>({"spectral_norm: ", options.n_power_iterations, " power iterations; expected 1 or more"});
    locus::detail::require_not_negative("spectral_norm", "eps", options.eps);
    return options;
  }
  static int row_dim(const L& layer, const SpectralNormOptions& options) {
    const int rank = layer.weight.rank(), usual = Base::use_of(layer).transposed ? 1 : 0;
    const int dim = options.dim.value_or(usual);
    if (dim < -rank || dim >= rank)
      fail<ArgumentError>({"spectral_norm: dimension ", dim, " of a weight of shape ", layer.weight.shape()});
    return dim < 0 ? dim + rank : dim;
  }
  /// The weight as a matrix, (extent of dim, the rest).
  template <class W>
  [[nodiscard]] auto matrix(const W& weight) const {
    Axes order{dim_};
    for (int d = 0; d < weight.rank(); ++d)
      if (d != dim_) order.push_back(d);
    return reshape(permute(weight, order), {weight.size(dim_), inferred});
  }
  [[nodiscard]] Tensor<T, D> unit(const Tensor<T, D>& vector) const {
    using R = compute_t<T>;
    const Tensor<T, D> length = norm(vector);
    return vector / maximum(length, static_cast<R>(options_.eps));
  }
  /// Steps of power iteration, which change the buffers in place.
  void iterate(int steps) const {
    const Tensor<T, D> rows = matrix(original.value());
    for (int step = 0; step < steps; ++step) {
      u.value().copy_(unit(matmul(rows, v.value())));
      v.value().copy_(unit(matmul(rows.transpose(), u.value())));
    }
  }

  SpectralNormOptions options_;
  int dim_ = 0;
};

/// spectral_norm(layer): the layer with a weight of a largest singular value of about 1, as critics of adversarial
/// networks need it.
///
///     nn::Sequential critic{nn::spectral_norm(nn::Conv2d<float, D>{3, 64, 3}), nn::LeakyReLU{0.2}, ...};
template <class L>
  requires detail::TakesWeights<L>
[[nodiscard]] SpectralNorm<L> spectral_norm(const L& layer, const SpectralNormOptions& options = {}) {
  return SpectralNorm<L>(layer, options);
}

#include <locus/refuse/nn/parametrize.inc>

}}}  // namespace locus::LOCUS_ABI::nn
