#pragma once
// More activations beside relu, elu, gelu and others of operators.hpp: pending expressions with a gradient. Options
// have to be finite in the type in which x is computed; otherwise ArgumentError is thrown. NaN stays NaN.

#include <locus/expr/operators.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace functor {

/// elu times a scale, so that deep networks keep mean 0 and variance 1 (Klambauer et al., 2017). The slope at 0 is the
/// limit from below.
struct Selu {
  static constexpr double scale = 1.0507009873554805, alpha = 1.6732632423543772;
  template <class T>
  LOCUS_FN T operator()(T x) const {
    const T decayed = T(scale * alpha) * math::expm1(x);
    return x > T(0) ? T(scale) * x : decayed;
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    const T slope = T(scale * alpha) * math::exp(x);
    return x > T(0) ? T(scale) : slope;
  }
};
/// x where x > 0, alpha (e^(x / alpha) - 1) elsewhere (Barron, 2017).
template <class R>
struct Celu {
  R alpha;
  template <class T>
  LOCUS_FN T operator()(T x) const {
    const T decayed = T(alpha) * math::expm1(x / T(alpha));
    return x > T(0) ? x : decayed;
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    const T slope = math::exp(x / T(alpha));
    return x > T(0) ? T(1) : slope;
  }
};
/// min(max(x + 3, 0), 6) / 6. The slope is 0 at -3 and at 3.
struct Hardsigmoid {
  static constexpr bool selects = true;
  template <class T>
  LOCUS_FN T operator()(T x) const {
    const T raised = x < T(-3) ? T(0) : (x + T(3)) / T(6);
    return x > T(3) ? T(1) : raised;
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    const T below = x >= T(3) ? T(0) : T(1) / T(6);
    return x <= T(-3) ? T(0) : below;
  }
};
/// x limited to [low, high], with a slope of 0 at these bounds.
template <class R>
struct Hardtanh {
  static constexpr bool selects = true;
  R low, high;
  template <class T>
  LOCUS_FN T operator()(T x) const {
    const T raised = x < T(low) ? T(low) : x;
    return raised > T(high) ? T(high) : raised;
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    const T below = x >= T(high) ? T(0) : T(1);
    return x <= T(low) ? T(0) : below;
  }
};
/// x / (1 + |x|), 1 and -1 at the infinities.
struct Softsign {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    const T a = x < T(0) ? -x : x, y = x / (T(1) + a), end = x < T(0) ? T(-1) : T(1);
    return a > T(0x1p60) ? end : y;
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    const T root = T(1) / (T(1) + (x < T(0) ? -x : x));
    return root * root;
  }
};
/// x where x > threshold, a constant without gradient elsewhere.
template <class R>
struct Threshold {
  static constexpr bool selects = true;
  R threshold, value;
  template <class T> LOCUS_FN T operator()(T x) const { return x <= T(threshold) ? T(value) : x; }
  template <class T> LOCUS_FN T by_input(T x) const { return x <= T(threshold) ? T(0) : T(1); }
};
/// x moved towards 0 by lambda, 0 within [-lambda, lambda].
template <class R>
struct Softshrink {
  static constexpr bool selects = true;
  R lambda;
  template <class T>
  LOCUS_FN T operator()(T x) const {
    const T above = x > T(lambda) ? x - T(lambda) : x != x ? x : T(0);
    return x < -T(lambda) ? x + T(lambda) : above;
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    const T high = T(lambda), low = -high;
    const bool within = (x >= low) & (x <= high);
    return within ? T(0) : T(1);
  }
};
/// x, but 0 within [-lambda, lambda].
template <class R>
struct Hardshrink {
  static constexpr bool selects = true;
  R lambda;
  template <class T>
  LOCUS_FN T operator()(T x) const {
    const T high = T(lambda), low = -high;
    const bool within = (x >= low) & (x <= high);
    return within ? T(0) : x;
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    const T high = T(lambda), low = -high;
    const bool within = (x >= low) & (x <= high);
    return within ? T(0) : T(1);
  }
};
/// log(sigmoid(x)) = min(x, 0) - log(1 + e^-|x|)
struct LogSigmoid {
  template <class T>
  LOCUS_FN T operator()(T x) const {
    const T magnitude = x < T(0) ? -x : x, low = x < T(0) ? x : T(0);
    return (x != x ? x : low) - math::log1p(math::exp(-magnitude));
  }
  template <class T> LOCUS_FN T by_input(T x) const { return math::sigmoid(-x); }
};
/// x - tanh(x)
struct Tanhshrink {
  template <class T> LOCUS_FN T operator()(T x) const { return x - math::tanh(x); }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    const T y = math::tanh(x);
    return y * y;
  }
};

}}}  // namespace locus::LOCUS_ABI::functor

namespace locus { inline namespace LOCUS_ABI {

/// 1.0507 x where x > 0, 1.7581 (e^x - 1) elsewhere.
template <detail::FloatingOperand X>
[[nodiscard]] auto selu(X&& x) {
  return detail::pending(functor::Selu{}, std::forward<X>(x));
}

/// x where x > 0, alpha (e^(x / alpha) - 1) elsewhere. throws ArgumentError for an alpha of 0
template <detail::FloatingOperand X>
[[nodiscard]] auto celu(X&& x, double alpha = 1) {
  using R = detail::option_t<value_of<X>>;
  const auto divisor = detail::finite_as<R>("celu", "alpha", alpha);
  if (divisor == 0) fail<ArgumentError>({"celu: alpha is ", alpha, "; expected a number other than 0"});
  return detail::pending(functor::Celu<R>{divisor}, std::forward<X>(x));
}

/// min(max(x + 3, 0), 6) / 6
template <detail::FloatingOperand X>
[[nodiscard]] auto hardsigmoid(X&& x) {
  return detail::pending(functor::Hardsigmoid{}, std::forward<X>(x));
}

/// x limited to [low, high]; unlike clamp, the gradient at the bounds is 0. throws ArgumentError unless low <= high
template <detail::FloatingOperand X>
[[nodiscard]] auto hardtanh(X&& x, double low = -1, double high = 1) {
  using R = detail::option_t<value_of<X>>;
  if (!(low <= high)) fail<ArgumentError>({"hardtanh: from ", low, " to ", high, "; expected low <= high"});
  return detail::pending(functor::Hardtanh<R>{detail::finite_as<R>("hardtanh", "low", low),
                                              detail::finite_as<R>("hardtanh", "high", high)},
                         std::forward<X>(x));
}

/// min(max(x, 0), 6)
template <detail::FloatingOperand X>
[[nodiscard]] auto relu6(X&& x) {
  return hardtanh(std::forward<X>(x), 0, 6);
}

/// x / (1 + |x|)
template <detail::FloatingOperand X>
[[nodiscard]] auto softsign(X&& x) {
  return detail::pending(functor::Softsign{}, std::forward<X>(x));
}

/// x where x > limit, `value` elsewhere.
template <detail::FloatingOperand X>
[[nodiscard]] auto threshold(X&& x, double limit, double value) {
  using R = detail::option_t<value_of<X>>;
  return detail::pending(functor::Threshold<R>{detail::finite_as<R>("threshold", "limit", limit),
                                               detail::finite_as<R>("threshold", "value", value)},
                         std::forward<X>(x));
}

namespace detail {
/// throws ArgumentError for a negative lambda
template <class R>
[[nodiscard]] R shrinks_by(const char* caller, double lambda) {
  if (lambda < 0) fail<ArgumentError>({caller, ": lambda is ", lambda, "; expected 0 or more"});
  return finite_as<R>(caller, "lambda", lambda);
}
}  // namespace detail

/// x moved towards 0 by lambda, 0 within [-lambda, lambda].
template <detail::FloatingOperand X>
[[nodiscard]] auto softshrink(X&& x, double lambda = 0.5) {
  using R = detail::option_t<value_of<X>>;
  return detail::pending(functor::Softshrink<R>{detail::shrinks_by<R>("softshrink", lambda)}, std::forward<X>(x));
}

/// x, but 0 within [-lambda, lambda].
template <detail::FloatingOperand X>
[[nodiscard]] auto hardshrink(X&& x, double lambda = 0.5) {
  using R = detail::option_t<value_of<X>>;
  return detail::pending(functor::Hardshrink<R>{detail::shrinks_by<R>("hardshrink", lambda)}, std::forward<X>(x));
}

/// log(sigmoid(x)), of any x without overflow.     gradient: g sigmoid(-x)
template <detail::FloatingOperand X>
[[nodiscard]] auto logsigmoid(X&& x) {
  return detail::pending(functor::LogSigmoid{}, std::forward<X>(x));
}

/// x - tanh(x)     gradient: g tanh(x)^2
template <detail::FloatingOperand X>
[[nodiscard]] auto tanhshrink(X&& x) {
  return detail::pending(functor::Tanhshrink{}, std::forward<X>(x));
}

namespace detail {
/// f(first half, second half) of x along an axis. throws ShapeError for an odd extent
template <class X, class F>
[[nodiscard]] auto of_halves(const char* caller, const X& x, int axis, const F& f) {
  const int along = normalize_axis(axis, x.rank(), caller);
  const std::int64_t extent = x.size(along), half = extent / 2;
  if (extent % 2 != 0)
    fail<ShapeError>({caller, ": extent ", extent, " of dimension ", along, " of shape ", x.shape(),
                      "; expected an even one, to be cut into halves"});
  return f(x.slice(along, 0, half), x.slice(along, half, extent));
}
}  // namespace detail

/// The gated linear unit (Dauphin et al., 2017): x is cut into halves a and b along an axis; the result is a
/// sigmoid(b).
/// shape: (..., 2 n) -> (..., n)     throws ShapeError for an odd extent
template <detail::FloatingOperand X>
[[nodiscard]] auto glu(X&& x, int axis = -1) {
  return detail::of_halves("glu", x.eval(), axis, [](const auto& a, const auto& b) { return a * sigmoid(b); });
}

/// silu(gate) x in one launch: the activation of LLaMA's layers (Shazeer, 2020).
template <class G, class X>
  requires(Combinable<G, X> && detail::FloatingOperand<G>)
[[nodiscard]] auto swiglu(G&& gate, X&& x) {
  return silu(std::forward<G>(gate)) * std::forward<X>(x);
}
/// As above, for the halves of x along its last axis; the first is the gate.
/// shape: (..., 2 n) -> (..., n)     throws ShapeError for an odd extent
template <detail::FloatingOperand X>
[[nodiscard]] auto swiglu(X&& x) {
  return detail::of_halves("swiglu", x.eval(), -1, [](const auto& a, const auto& b) { return silu(a) * b; });
}

#include <locus/refuse/expr/activations.inc>

}}  // namespace locus::LOCUS_ABI
