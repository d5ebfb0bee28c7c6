#pragma once
// Layers that normalize channels over the batch. A move of a network does not look for BatchNorm3d.
// To move a network that holds such a layer, name it like a layer of your own.

#include <locus/nn/module.hpp>
#include <locus/ops/conv/measured_conv.hpp>
#include <locus/tensor/factory.hpp>

#include <optional>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

/// PyTorch's, with its defaults: nn::BatchNorm1d<float, D>{64, {.momentum = std::nullopt}}.
struct BatchNormOptions {
  double eps = 1e-5;
  std::optional<double> momentum = 0.1;  ///< absent: running statistics are the mean over all batches
  bool affine = true;                    ///< whether there are a weight and a bias
  bool track_running_stats = true;       ///< if false, inference uses the batch's statistics, too
};

namespace detail {
/// throws ArgumentError
LOCUS_OUT_OF_LINE inline void require_valid(const char* layer, std::int64_t features, const BatchNormOptions& options) {
  if (features < 1) fail<ArgumentError>({layer, ": ", features, " features; expected at least 1"});
  locus::detail::require_not_negative(layer, "eps", options.eps);
  if (options.momentum && !(*options.momentum >= 0 && *options.momentum <= 1))
    fail<ArgumentError>(
        {layer, ": momentum is ", *options.momentum, "; expected 0 to 1, or std::nullopt for the mean"});
}

/// Base of BatchNorm1d, BatchNorm2d and BatchNorm3d.
template <class Derived, class T, class D>
class BatchNorm : public Layer<Derived, T, D> {
 public:
  using input_type = T;
  using R = compute_t<T>;  ///< of statistics: float for half and bfloat16

  Parameter<T, D> weight;                       ///< (features), initially 1; empty without `affine`
  Parameter<T, D> bias;                         ///< (features), initially 0; empty without `affine`
  Buffer<R, D> running_mean;                    ///< initially 0; empty without `track_running_stats`
  Buffer<R, D> running_var;                     ///< initially 1; the same
  Buffer<std::int64_t, D> num_batches_tracked;  ///< a scalar; the same

  /// throws ArgumentError for no features, or options out of range
  explicit BatchNorm(std::int64_t features, const BatchNormOptions& options = {}, D device = {})
      : features_(features), options_(options) {
    require_valid(Derived::name, features, options);
    if (options.affine) {
      weight = Parameter<T, D>(ones<T>({features}, device));
      bias = Parameter<T, D>(zeros<T>({features}, device));
    }
    if (!options.track_running_stats) return;
    running_mean = Buffer<R, D>(zeros<R>({features}, device));
    running_var = Buffer<R, D>(ones<R>({features}, device));
    num_batches_tracked = Buffer<std::int64_t, D>(zeros<std::int64_t>({}, device));
  }

  template <TensorLike X> [[nodiscard]] auto forward(const X& x) const { return forward_with(x, Activation::none); }

  /// relu(forward(x)), or forward(x) if `next` is none, in the same launches. throws ArgumentError for other
  /// activations
  template <TensorLike X>
  [[nodiscard]] auto forward_with(const X& x, Activation next) const {
    require_rank(x.shape());
    const ObservedCall call({this, &typeid(Derived)}, x);
    auto y = batch_norm(x, running(), weight, bias, options_with(next), whole_->batch);
    call.end(y);
    return y;
  }
  /// relu(forward(x) + residual), or without relu, in the same launches: the end of a residual block.
  template <TensorLike X, TensorLike A>
  [[nodiscard]] auto forward_with(const X& x, Activation next, const A& residual) const {
    require_rank(x.shape());
    const ObservedCall call({this, &typeid(Derived)}, x, residual);
    auto y = batch_norm(x, running(), weight, bias, residual, options_with(next), whole_->batch);
    call.end(y);
    return y;
  }
  /// forward_with(convolution(x), next), or with a residual. In training of 16-bit images on a GPU with cuDNN, where
  /// autotuning found it faster, channels are summed in the launch of the convolution: a launch less, and a read of its
  /// result. Variances then are differences of mean squares in float.
  template <class C, TensorLike X, TensorLike... A>
  [[nodiscard]] auto forward_after(const C& convolution, const X& x, Activation next, const A&... residual) const {
    if constexpr (X::role == Role::traced && locus::detail::may_measure_in_convolution<X>) {
      const auto alone = convolution.alone();
      if (alone && locus::detail::in_training(x)) {
        require_rank(x.shape());
        return locus::detail::convolve_and_normalize(x, convolution.weight, *alone, running(), options_with(next),
                                                     whole_->batch, weight, bias, residual...);
      }
    }
    return forward_with(convolution(x), next, residual...);
  }
  /// Activations that forward_with accepts.
  [[nodiscard]] static constexpr bool absorbs(Activation next) {
    return next == Activation::none || next == Activation::relu;
  }

  /// From now on, training input of this layer and its copies is this rank's part of a batch, whose statistics are
  /// computed with the other ranks; null: the input is the whole batch. clone() keeps the setting;
  /// std::move(model).to<D>() and .as<T>() do not. dist::synchronize_batch_norm(model, communicator) calls it for every
  /// layer of a model.
  void share_batch(Shared<const SharedBatch<R, D>> whole) const { whole_->batch = std::move(whole); }
  [[nodiscard]] bool shares_batch() const { return static_cast<bool>(whole_->batch); }
  /// While set, running statistics of this layer and its copies are the mean over all batches, whatever the momentum.
  /// nn::update_bn sets it. A clone() begins without.
  void average_batches(bool on) const { whole_->averages_batches = on; }
  /// Called on a clone: gives it a setting of its own.
  void separate_from_original() { whole_ = Shared<Whole>(new Whole(whole_->batch)); }

  void members(const auto& visit) const {
    visit("weight", weight);
    visit("bias", bias);
    visit("running_mean", running_mean);
    visit("running_var", running_var);
    visit("num_batches_tracked", num_batches_tracked);
  }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const {
    return join(features_, ", eps=", options_.eps, ", momentum=", options_.momentum ? join(*options_.momentum) : "none",
                option_text("affine", options_.affine, true),
                option_text("track_running_stats", options_.track_running_stats, true));
  }
  [[nodiscard]] const BatchNormOptions& options() const { return options_; }
  [[nodiscard]] std::int64_t features() const { return features_; }

 private:
  static void require_rank(const Shape& shape) {
    if (!Derived::takes(shape.rank()))
      fail<ShapeError>({Derived::name, ": input of shape ", shape, "; expected ", Derived::expected});
  }
  [[nodiscard]] RunningStatistics<R, D> running() const {
    return {running_mean.value(), running_var.value(), num_batches_tracked.value()};
  }
  [[nodiscard]] locus::BatchNormOptions options_with(Activation next) const {
    if (!absorbs(next))
      fail<ArgumentError>({Derived::name, ": forward_with(x, tanh or sigmoid); expected none or relu"});
    return {.eps = options_.eps,
            .momentum = whole_->averages_batches ? std::nullopt : options_.momentum,
            .relu = next == Activation::relu};
  }

  struct Whole : Counted {
    static constexpr const char* handle_name = "BatchNorm";
    Shared<const SharedBatch<R, D>> batch;
    bool averages_batches = false;
    Whole() = default;
    explicit Whole(Shared<const SharedBatch<R, D>> shared) : batch(std::move(shared)) {}
  };
  std::int64_t features_;
  BatchNormOptions options_;
  Shared<Whole> whole_{new Whole};
};
}  // namespace detail

/// Normalizes every feature. In training (x or the residual is traced, and neither is frozen) by the batch's mean and
/// variance, which also update the running statistics; otherwise by the running statistics.
/// shape: as the input, (batch, features) or (batch, features, length). Parameters: weight, bias. Buffers:
/// running_mean, running_var, num_batches_tracked. cost: as batch_norm
/// throws ShapeError for another shape; ArgumentError for one value per feature in training
///
///     nn::Sequential net{nn::Linear<float, D>{784, 64}, nn::BatchNorm1d<float, D>{64}, nn::ReLU{}, ...};
///     nn::BatchNorm1d<float, D> norm{64, {.momentum = 0.01}, device};
template <class T, class D>
class BatchNorm1d final : public detail::BatchNorm<BatchNorm1d<T, D>, T, D> {
 public:
  static constexpr const char *name = "BatchNorm1d", *expected = "(batch, features) or (batch, features, length)";
  using detail::BatchNorm<BatchNorm1d, T, D>::BatchNorm;
#include <locus/refuse/nn/batch_norm1d_class.inc>
  /// A layer of the same configuration for U on E.
  template <class U, class E>
  [[nodiscard]] auto twin() const {
    return BatchNorm1d<U, E>(this->features(), this->options());
  }
  [[nodiscard]] static constexpr bool takes(int rank) { return rank == 2 || rank == 3; }
};
#define LOCUS_REFUSED_LAYER BatchNorm1d
#include <locus/refuse/nn/no_types.inc>

/// BatchNorm for images of shape (batch, features, height, width).
///
///     nn::BatchNorm2d<float, D> norm{64};                        // features
///     nn::BatchNorm2d<float, D> slow{64, {.momentum = 0.01}, device};
template <class T, class D>
class BatchNorm2d final : public detail::BatchNorm<BatchNorm2d<T, D>, T, D> {
 public:
  static constexpr const char *name = "BatchNorm2d", *expected = "(batch, features, height, width)";
  using detail::BatchNorm<BatchNorm2d, T, D>::BatchNorm;
#include <locus/refuse/nn/batch_norm2d_class.inc>
  /// A layer of the same configuration for U on E.
  template <class U, class E>
  [[nodiscard]] auto twin() const {
    return BatchNorm2d<U, E>(this->features(), this->options());
  }
  [[nodiscard]] static constexpr bool takes(int rank) { return rank == 4; }
};
#define LOCUS_REFUSED_LAYER BatchNorm2d
#include <locus/refuse/nn/no_types.inc>

/// BatchNorm for volumes of shape (batch, features, depth, height, width).
template <class T, class D>
class BatchNorm3d final : public detail::BatchNorm<BatchNorm3d<T, D>, T, D> {
 public:
  static constexpr const char *name = "BatchNorm3d", *expected = "(batch, features, depth, height, width)";
  using detail::BatchNorm<BatchNorm3d, T, D>::BatchNorm;
#include <locus/refuse/nn/batch_norm3d_class.inc>
  /// A layer of the same configuration for U on E.
  template <class U, class E>
  [[nodiscard]] auto twin() const {
    return BatchNorm3d<U, E>(this->features(), this->options());
  }
  [[nodiscard]] static constexpr bool takes(int rank) { return rank == 5; }
};
#define LOCUS_REFUSED_LAYER BatchNorm3d
#include <locus/refuse/nn/no_types.inc>

namespace detail {
template <class T, class D, class F>
struct VisitBatchNorms;

/// Calls f for every BatchNorm1d, BatchNorm2d and BatchNorm3d of T on D in a model, or in a list of layers.
template <class T, class D, class M, class F>
void for_each_batch_norm(const M& model, const F& f) {
  if constexpr (std::is_same_v<M, BatchNorm1d<T, D>> || std::is_same_v<M, BatchNorm2d<T, D>> ||
                std::is_same_v<M, BatchNorm3d<T, D>>) {
    require_present(model);
    f(model);
  } else if constexpr (ListOfMembers<M>) {
    for (const auto& layer : model) for_each_batch_norm<T, D>(layer, f);
  } else if constexpr (WalksItself<M, T, D>) {
    if constexpr (requires { model.template target<BatchNorm1d<T, D>>(); }) {
      if (const auto* layer = model.template target<BatchNorm1d<T, D>>()) return f(*layer);
      if (const auto* layer = model.template target<BatchNorm2d<T, D>>()) return f(*layer);
      if (const auto* layer = model.template target<BatchNorm3d<T, D>>()) return f(*layer);
    }
    for (const auto& [name, child] : model.children()) for_each_batch_norm<T, D>(child, f);
  } else if constexpr (HasMembers<M>) {
    require_present(model);
    model.members(VisitBatchNorms<T, D, F>{f});
  }
}
template <class T, class D, class F>
struct VisitBatchNorms {
  const F& f;
  void operator()(std::string_view, const auto& member) const { for_each_batch_norm<T, D>(member, f); }
};
}  // namespace detail

}}}  // namespace locus::LOCUS_ABI::nn
