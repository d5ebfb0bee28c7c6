#pragma once
// Layers that normalize groups of channels of each sample.

#include <locus/nn/module.hpp>
#include <locus/ops/group_norm.hpp>
#include <locus/tensor/factory.hpp>

namespace locus::inline LOCUS_ABI::nn {

namespace detail {
/// Weights of ones and biases of zeros, or none. throws ArgumentError
template <class Derived, class T, class D>
class ChannelNorm : public Layer<Derived, T, D> {
 public:
  using input_type = T;

  Parameter<T, D> weight;  ///< (channels), at first 1; empty without `affine`
  Parameter<T, D> bias;    ///< (channels), at first 0; empty without `affine`

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
/// shape: that of the input, (batch, channels, ...). Parameters: weight, bias
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
  template <TensorLike X>
  [[nodiscard]] auto forward(const X& x) const {
    if (x.rank() < 2 || x.shape()[1] != this->channels())
      fail<ShapeError>({name, ": input of shape ", x.shape(), "; expected (batch, ", this->channels(), ", ...)"});
    return group_norm(x, groups_, this->weight, this->bias, this->eps());
  }
  /// For U on E.
  template <class U, class E>
  [[nodiscard]] auto twin() const {
    return GroupNorm<U, E>(groups_, this->channels(), this->eps(), this->affine());
  }
  [[nodiscard]] std::int64_t groups() const { return groups_; }

 private:
  std::int64_t groups_;
};

/// Normalizes every channel of each image by its own mean and variance, in training and inference; there are no running
/// statistics. See locus::instance_norm.
/// shape: that of the input, (batch, channels, height, width). Parameters with `affine`: weight, bias
template <class T, class D>
class InstanceNorm2d final : public detail::ChannelNorm<InstanceNorm2d<T, D>, T, D> {
 public:
  static constexpr const char* name = "InstanceNorm2d";

  /// throws ArgumentError for no channels, or an eps below 0
  explicit InstanceNorm2d(std::int64_t channels, double eps = 1e-5, bool affine = false, D device = {})
      : detail::ChannelNorm<InstanceNorm2d, T, D>(channels, eps, affine, device) {}
  template <TensorLike X>
  [[nodiscard]] auto forward(const X& x) const {
    if (x.rank() != 4 || x.shape()[1] != this->channels())
      fail<ShapeError>(
          {name, ": input of shape ", x.shape(), "; expected (batch, ", this->channels(), ", height, width)"});
    return instance_norm(x, this->weight, this->bias, this->eps());
  }
  /// For U on E.
  template <class U, class E>
  [[nodiscard]] auto twin() const {
    return InstanceNorm2d<U, E>(this->channels(), this->eps(), this->affine());
  }
};

}  // namespace locus::inline LOCUS_ABI::nn
