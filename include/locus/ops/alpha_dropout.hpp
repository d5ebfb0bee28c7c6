#pragma once
// More random operations of training: dropout for networks of selu, dropout of channels of lines and volumes, leaky
// relu with random slopes. Not part of locus/locus.hpp.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/core/rng.hpp>
#include <locus/ops/dropout.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace functor {

/// a x + b where the bits keep x, else a constant, so that mean 0 and variance 1 stay: the fixed point of selu.
class AlphaDropout {
 public:
  /// throws ArgumentError unless 0 <= p <= 1
  explicit AlphaDropout(double p) {
    if (!(p >= 0 && p <= 1)) fail<ArgumentError>({"alpha_dropout: a probability of ", p, "; expected 0 to 1"});
    constexpr double least = 1.7580993408473766;  // of selu, negated
    kept_below_ = static_cast<std::uint64_t>(__builtin_round((1 - p) * 0x1p32));
    const double scale = p < 1 ? 1 / __builtin_sqrt((1 - p) * (1 + p * least * least)) : 0;
    kept_ = {scale, scale * least * p};
    dropped_ = kept_.shift - scale * least;
  }
  static constexpr unsigned reads(int input) { return input == 0 ? 2u : 0u; }
  template <class T>
  LOCUS_FN T operator()(T x, std::uint32_t bits) const {
    const bool is_kept = bits < kept_below_;
    return x * slope<T>(bits) + (is_kept ? T(kept_.shift) : T(dropped_));
  }
  template <class T> LOCUS_FN Pack<T, T> by_inputs(T, std::uint32_t bits) const { return {slope<T>(bits), T(0)}; }
  template <class T>
  [[nodiscard]] LOCUS_FN T slope(std::uint32_t bits) const {
    return bits < kept_below_ ? T(kept_.scale) : T(0);
  }

 private:
  struct {
    double scale, shift;
  } kept_;
  double dropped_;
  std::uint64_t kept_below_;
};

/// x, times a random slope from [lower, upper) where x < 0.
struct RandomRelu {
  double lower, range;
  static constexpr unsigned reads(int) { return 3u; }
  template <class T>
  LOCUS_FN T slope(T x, std::uint32_t bits) const {
    return x < T(0) ? T(lower) + T(range) * T(unit_float(bits)) : T(1);
  }
  template <class T> LOCUS_FN T operator()(T x, std::uint32_t bits) const { return x * slope(x, bits); }
  template <class T> LOCUS_FN Pack<T, T> by_inputs(T x, std::uint32_t bits) const { return {slope(x, bits), T(0)}; }
};

}  // namespace functor

namespace detail {
/// dropout2d of tensors with exactly so many dimensions.
template <class X>
[[nodiscard]] auto drop_channels(const char* caller, X&& x, double p, int rank, const char* expected) {
  if (x.shape().rank() != rank) fail<ShapeError>({caller, ": shape ", x.shape(), "; expected ", expected});
  return dropout2d(std::forward<X>(x), p);
}
}  // namespace detail

/// dropout2d of lines: each channel is kept or dropped as a whole.
/// shape: as x, (batch, channels, length)     gradient, cost, errors: as dropout2d
template <class X>
  requires detail::FloatingOperand<detail::bare_t<X>>
[[nodiscard]] auto dropout1d(X&& x, double p = 0.5) {
  return detail::drop_channels("dropout1d", std::forward<X>(x), p, 3, "(batch, channels, length)");
}
/// dropout2d of volumes.
/// shape: as x, (batch, channels, depth, height, width)     gradient, cost, errors: as dropout2d
template <class X>
  requires detail::FloatingOperand<detail::bare_t<X>>
[[nodiscard]] auto dropout3d(X&& x, double p = 0.5) {
  return detail::drop_channels("dropout3d", std::forward<X>(x), p, 5, "(batch, channels, depth, height, width)");
}

/// Dropout that keeps mean 0 and variance 1, for networks of selu (Klambauer et al., 2017): a dropped element becomes
/// selu's least value, and all are then scaled and shifted. In training alone, as dropout.
/// shape: as x     gradient: a g where x was kept, else 0     cost: as dropout
/// throws ArgumentError unless 0 <= p <= 1
template <class X>
  requires detail::FloatingOperand<detail::bare_t<X>>
[[nodiscard]] auto alpha_dropout(X&& x, double p = 0.5) {
  return detail::dropped(functor::AlphaDropout(p), std::forward<X>(x),
                         [](std::int64_t count, auto device) { return Draw(count, device); });
}

namespace operation {

/// AlphaDropout with one decision for each channel, by a draw of a number for each; made again by the backward pass.
template <class D>
struct FeatureAlphaDropout {
  static constexpr const char* name = "feature_alpha_dropout";
  static constexpr bool linear = true;  ///< but for a shift
  functor::AlphaDropout f;
  Draw<D> draw;

  /// The slope of a channel, or its result for x = 0.
  template <class T, bool is_slope>
  struct OfChannel {
    functor::AlphaDropout f;
    DrawnNumbers<D> numbers;
    LOCUS_FN void operator()(std::int64_t i, compute_t<T>& out) const {
      using R = compute_t<T>;
      if constexpr (is_slope) out = f.template slope<R>(numbers.bits(i));
      else out = f(R(0), numbers.bits(i));
    }
  };
  template <class T>
  auto forward(const Tensor<T, D>& x) const {
    return Forwarded{Tensor<T, D>(x * of_channels<true>(x) + of_channels<false>(x)), Tuple<>()};
  }
  template <class T>
  [[nodiscard]] Tensor<T, D> derivative(const Tensor<T, D>& u) const {
    return u * of_channels<true>(u);
  }
  template <class T>
  void backward(const Tuple<>&, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    detail::map_to(dx, functor::Multiply{}, g, of_channels<true>(g));
  }

 private:
  /// shape: (batch, channels, 1, ...)
  template <bool is_slope, class T>
  [[nodiscard]] Tensor<T, D> of_channels(const Tensor<T, D>& x) const {
    return detail::from_indices<T>(detail::channels_of(name, x.shape()), x.device(),
                                   OfChannel<T, is_slope>{f, draw.numbers()});
  }
};

}  // namespace operation

/// alpha_dropout of whole channels of (batch, channels, ...).
/// shape: as x     gradient: as alpha_dropout's     cost: three launches; backward two; stores nothing
/// throws ShapeError for fewer than two dimensions; ArgumentError unless 0 <= p <= 1
template <class X>
  requires detail::FloatingOperand<detail::bare_t<X>>
[[nodiscard]] auto feature_alpha_dropout(X&& x, double p = 0.5) {
  return detail::dropped_channels<operation::FeatureAlphaDropout>(functor::AlphaDropout(p), std::forward<X>(x));
}

/// Leaky relu with a slope drawn for each element of [lower, upper) in training (Xu et al., 2015), and of their mean
/// otherwise.
/// shape: as x     gradient: g, times the slope where x < 0     cost: one launch; backward one; stores nothing
/// throws ArgumentError unless both are finite and lower <= upper
template <class X>
  requires detail::FloatingOperand<detail::bare_t<X>>
[[nodiscard]] auto rrelu(X&& x, double lower = 1.0 / 8, double upper = 1.0 / 3) {
  using R = detail::option_t<value_of<X>>;
  const double least = detail::finite_as<R>("rrelu", "lower", lower),
               most = detail::finite_as<R>("rrelu", "upper", upper);
  if (!(least <= most)) fail<ArgumentError>({"rrelu: slopes from ", lower, " to ", upper, "; expected lower <= upper"});
  const auto steady = [&] { return detail::undropped(leaky_relu(std::forward<X>(x), (least + most) / 2).eval()); };
  if constexpr (detail::bare_t<X>::role != Role::traced) {
    return steady();
  } else {
    if (detail::acts_frozen(x)) return steady();
    return detail::drawn(functor::RandomRelu{least, most - least}, std::forward<X>(x),
                         [](std::int64_t count, auto device) { return Draw(count, device); });
  }
}

#include <locus/refuse/ops/alpha_dropout.inc>

}}  // namespace locus::LOCUS_ABI
