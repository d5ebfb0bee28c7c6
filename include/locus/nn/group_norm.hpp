#pragma once
// Layers that normalize groups of channels of each sample.
// A move of a network does not look for InstanceNorm1d and InstanceNorm3d.
// To move a network that holds such a layer, name it like a layer of your own.

#include <locus/nn/module.hpp>
#include <locus/ops/batch_norm.hpp>
#include <locus/ops/group_norm.hpp>
#include <locus/ops/moments.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/tensor/factory.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

namespace detail {
/// Base of layers that normalize channels: weights of ones and biases of zeros, or none. throws ArgumentError
template <class Derived, class T, class D>
class ChannelNorm : public Layer<Derived, T, D> {
 public:
  using input_type = T;

  Parameter<T, D> weight;  ///< (channels), initially 1; empty without `affine`
  Parameter<T, D> bias;    ///< (channels), initially 0; empty without `affine`

  void members(const auto& visit) const {
    visit("weight", weight);
    visit("bias", bias);
  }
  [[nodiscard]] std::int64_t channels() const { return channels_; }
  [[nodiscard]] double eps() const { return eps_; }
  [[nodiscard]] bool affine() const { return affine_; }

 protected:
  ChannelNorm(std::int64_t channels, double eps, bool affine, D device)
      : channels_(channels), eps_(eps), affine_(affine) {
    if (channels < 1) fail<ArgumentError>({Derived::name, ": ", channels, " channels; expected at least 1"});
    locus::detail::require_not_negative(Derived::name, "eps", eps);
    if (!affine) return;
    weight = Parameter<T, D>(ones<T>({channels}, device));
    bias = Parameter<T, D>(zeros<T>({channels}, device));
  }

 private:
  std::int64_t channels_;
  double eps_;
  bool affine_;
};
}  // namespace detail

/// Normalizes groups of channels of each sample. See locus::group_norm.
/// shape: as the input, (batch, channels, ...). Parameters: weight, bias
///
///     nn::Sequential net{nn::Conv2d<float, D>{3, 64, 3}, nn::GroupNorm<float, D>{8, 64}, nn::ReLU{}, ...};
template <class T, class D>
class GroupNorm final : public detail::ChannelNorm<GroupNorm<T, D>, T, D> {
 public:
  static constexpr const char* name = "GroupNorm";

  /// throws ArgumentError unless groups divide the channels, and eps is finite and not below 0
  explicit GroupNorm(std::int64_t groups, std::int64_t channels, double eps = 1e-5, bool affine = true, D device = {})
      : detail::ChannelNorm<GroupNorm, T, D>(channels, eps, affine, device), groups_(groups) {
    if (groups < 1 || channels % groups != 0)
      fail<ArgumentError>({name, ": ", groups, " groups of ", channels, " channels; expected a divisor of ", channels});
  }
#include <locus/refuse/nn/group_norm_class.inc>
  template <TensorLike X>
  [[nodiscard]] auto forward(const X& x) const {
    if (x.rank() < 2 || x.shape()[1] != this->channels())
      fail<ShapeError>({name, ": input of shape ", x.shape(), "; expected (batch, ", this->channels(), ", ...)"});
    return group_norm(x, groups_, this->weight, this->bias, this->eps());
  }
  /// A layer of the same configuration for U on E.
  template <class U, class E>
  [[nodiscard]] auto twin() const {
    return GroupNorm<U, E>(groups_, this->channels(), this->eps(), this->affine());
  }
  [[nodiscard]] std::int64_t groups() const { return groups_; }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const {
    return join(groups_, ", ", this->channels(), ", eps=", this->eps(),
                detail::option_text("affine", this->affine(), true));
  }

 private:
  std::int64_t groups_;
};
#define LOCUS_REFUSED_LAYER GroupNorm
#include <locus/refuse/nn/no_types.inc>

/// PyTorch's, with its defaults: nn::InstanceNorm2d<float, D>{64, {.affine = true}}. There is no equivalent of
/// PyTorch's momentum = None, running statistics as plain means over all batches.
struct InstanceNormOptions {
  double eps = 1e-5;
  double momentum = 0.1;             ///< the new batch's share of running statistics
  bool affine = false;               ///< whether there are a weight and a bias
  bool track_running_stats = false;  ///< keep running statistics, which normalize plain and frozen inputs
};

namespace detail {
/// Base of InstanceNorm1d, InstanceNorm2d and InstanceNorm3d.
template <class Derived, class T, class D>
class InstanceNorm : public ChannelNorm<Derived, T, D> {
 public:
  using R = compute_t<T>;  ///< of statistics: float for half and bfloat16

  Buffer<R, D> running_mean;                    ///< (channels), initially 0; empty without `track_running_stats`
  Buffer<R, D> running_var;                     ///< (channels), initially 1; the same
  Buffer<std::int64_t, D> num_batches_tracked;  ///< a scalar; the same

  /// throws ArgumentError for no channels, an eps below 0, or a momentum outside [0, 1]
  explicit InstanceNorm(std::int64_t channels, const InstanceNormOptions& options = {}, D device = {})
      : ChannelNorm<Derived, T, D>(channels, options.eps, options.affine, device), options_(options) {
    if (!(options.momentum >= 0 && options.momentum <= 1))
      fail<ArgumentError>({Derived::name, ": momentum is ", options.momentum, "; expected 0 to 1"});
    if (!options.track_running_stats) return;
    running_mean = Buffer<R, D>(zeros<R>({channels}, device));
    running_var = Buffer<R, D>(ones<R>({channels}, device));
    num_batches_tracked = Buffer<std::int64_t, D>(zeros<std::int64_t>({}, device));
  }
  template <TensorLike X>
  [[nodiscard]] auto forward(const X& x) const {
    if (x.rank() != Derived::spatial + 2 || x.shape()[1] != this->channels())
      fail<ShapeError>(
          {Derived::name, ": input of shape ", x.shape(), "; expected (batch, ", this->channels(), Derived::expected});
    using Result = std::remove_cvref_t<decltype(instance_norm(x, this->weight, this->bias).eval())>;
    if (!options_.track_running_stats) return Result(instance_norm(x, this->weight, this->bias, this->eps()));
    const RunningStatistics<R, D> running{running_mean.value(), running_var.value(), {}};
    if (locus::detail::in_training(x)) {
      Result y = instance_norm(x, this->weight, this->bias, this->eps());
      if (!x.value().empty() && !locus::detail::computes_again) learn(x.value().template as<R>());
      return y;
    }
    return Result(batch_norm(x, running, this->weight, this->bias, {.eps = this->eps()}));
  }
  void members(const auto& visit) const {
    ChannelNorm<Derived, T, D>::members(visit);
    visit("running_mean", running_mean);
    visit("running_var", running_var);
    visit("num_batches_tracked", num_batches_tracked);
  }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const {
    return join(this->channels(), ", eps=", this->eps(), option_text("affine", this->affine(), false),
                option_text("track_running_stats", options_.track_running_stats, false));
  }
  [[nodiscard]] const InstanceNormOptions& options() const { return options_; }

 private:
  /// Updates the running statistics in place by the samples' means and variances.
  void learn(const Tensor<R, D>& x) const {
    const R share = static_cast<R>(options_.momentum), kept = R(1) - share;
    const auto enter = [&](const Tensor<R, D>& running, const Tensor<R, D>& of_samples) {
      running.copy_(running * kept + mean(of_samples, 0) * share);
    };
    Axes elements;
    for (int d = 2; d < x.rank(); ++d) elements.push_back(d);
    enter(running_mean.value(), mean(x, elements));
    enter(running_var.value(), var(x, elements));
  }

  InstanceNormOptions options_;
};
}  // namespace detail

/// Normalizes every channel of each image by its own mean and variance, in training and, without running statistics, in
/// inference. See locus::instance_norm. Running statistics are updated by the batch's average mean and average variance
/// (with n - 1). shape: as the input, (batch, channels, height, width) (unlike PyTorch, no image without a batch).
/// Parameters with `affine`: weight, bias. Buffers with `track_running_stats`: running_mean, running_var,
/// num_batches_tracked, which stays 0, as PyTorch's.
/// cost:  as instance_norm; with running statistics, training takes six launches more, and inference costs as
/// batch_norm
template <class T, class D>
class InstanceNorm2d final : public detail::InstanceNorm<InstanceNorm2d<T, D>, T, D> {
 public:
  static constexpr const char *name = "InstanceNorm2d", *expected = ", height, width)";
  static constexpr int spatial = 2;
  using detail::InstanceNorm<InstanceNorm2d, T, D>::InstanceNorm;
  /// A layer of the same configuration for U on E.
  template <class U, class E>
  [[nodiscard]] auto twin() const {
    return InstanceNorm2d<U, E>(this->channels(), this->options());
  }
};
/// InstanceNorm for lines of shape (batch, channels, length).
template <class T, class D>
class InstanceNorm1d final : public detail::InstanceNorm<InstanceNorm1d<T, D>, T, D> {
 public:
  static constexpr const char *name = "InstanceNorm1d", *expected = ", length)";
  static constexpr int spatial = 1;
  using detail::InstanceNorm<InstanceNorm1d, T, D>::InstanceNorm;
  /// A layer of the same configuration for U on E.
  template <class U, class E>
  [[nodiscard]] auto twin() const {
    return InstanceNorm1d<U, E>(this->channels(), this->options());
  }
};
/// InstanceNorm for volumes of shape (batch, channels, depth, height, width).
template <class T, class D>
class InstanceNorm3d final : public detail::InstanceNorm<InstanceNorm3d<T, D>, T, D> {
 public:
  static constexpr const char *name = "InstanceNorm3d", *expected = ", depth, height, width)";
  static constexpr int spatial = 3;
  using detail::InstanceNorm<InstanceNorm3d, T, D>::InstanceNorm;
  /// A layer of the same configuration for U on E.
  template <class U, class E>
  [[nodiscard]] auto twin() const {
    return InstanceNorm3d<U, E>(this->channels(), this->options());
  }
};

}}}  // namespace locus::LOCUS_ABI::nn
