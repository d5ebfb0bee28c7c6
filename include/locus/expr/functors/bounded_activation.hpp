#pragma once
// Activations with bounds and thresholds. functors.hpp lists the members of a function. NaN stays NaN.

#include <locus/core/math.hpp>

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
  template <class T>
  LOCUS_FN T operator()(T x) const {
    return x <= T(threshold) ? T(value) : x;
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    return x <= T(threshold) ? T(0) : T(1);
  }
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
    const bool within = (x >= -T(lambda)) & (x <= T(lambda));
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
    const bool within = (x >= -T(lambda)) & (x <= T(lambda));
    return within ? T(0) : x;
  }
  template <class T>
  LOCUS_FN T by_input(T x) const {
    const bool within = (x >= -T(lambda)) & (x <= T(lambda));
    return within ? T(0) : T(1);
  }
};

}}}  // namespace locus::LOCUS_ABI::functor
