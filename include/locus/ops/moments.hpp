#pragma once
// Variance and vector norms along axes.

// First, so that the compiler's path to what is refused is short.
#include <locus/device/cost_model.hpp>
#include <locus/expr/operands.hpp>

#include <locus/ops/reduce.hpp>

namespace locus::inline LOCUS_ABI {

struct VarOptions {
  double correction = 1;  ///< subtracted from the number of elements: 1 for a sample, 0 for a whole population
  bool keepdim = false;
};

namespace fold {
enum class NormOrder { one, two, infinity };

/// sum |x| or max |x|
template <class T, NormOrder order>
struct Norm {
  using R = compute_t<T>;
  using Accumulator = R;
  LOCUS_FN R identity() const { return 0; }
  LOCUS_FN R lift(R x) const { return functor::Abs{}(x); }
  LOCUS_FN R combine(R a, R b) const { return order == NormOrder::infinity ? functor::Maximum{}(a, b) : a + b; }
  LOCUS_FN R finish(R a) const { return a; }
};
/// sqrt(sum x^2)
template <class T>
struct Norm<T, NormOrder::two> {
  using R = compute_t<T>;
  using Accumulator = R;
  Atomic<bool>* lost = nullptr;  ///< set if squares overflow or vanish, unless it is null
  LOCUS_FN R identity() const { return 0; }
  LOCUS_FN R lift(R x) const { return x * x; }
  LOCUS_FN R combine(R a, R b) const { return a + b; }
  LOCUS_FN R finish(R a) const {
    const R norm = math::sqrt(a);
    if (!is_whole(norm)) note_loss(lost);
    return norm;
  }
  /// Whether all squares count in this norm.
  LOCUS_FN static bool is_whole(R norm) { return norm >= SquareScales<R>::least_root && norm <= SquareScales<R>::most; }
};
}  // namespace fold

namespace detail {
/// What Fast computed, or what is safe where Fast lost what it was to add.
template <class Fast>
struct UnlessLost {
  template <class R>
  LOCUS_FN R operator()(R fast, R safe) const {
    return Fast::is_whole(fast) ? fast : safe;
  }
};
/// fold(fast), and in the places where it lost what it was to add fold(safe), so that no place depends on what others
/// hold. A device that folds_again looks and folds again if it must; others fold(safe) at once, so that nothing waits.
template <class T, class D, class Fold, class Fast, class Safe>
[[nodiscard]] Tensor<T, D> fold_safely(const Fold& fold, [[maybe_unused]] Fast fast, const Safe& safe) {
  if constexpr (CostModel<D>::folds_again) {
    Atomic<bool> lost{false};
    fast.lost = &lost;
    const Tensor<T, D> result = fold(fast);
    if (!lost.load(Order::relaxed)) return result;
    if (result.elements() > 1) return elementwise(UnlessLost<Fast>{}, result, fold(safe));
  }
  return fold(safe);
}
/// Euclidean norms, by sums of squares, or by scaled ones where squares overflow or vanish.
template <class T, class D, class Fold>
[[nodiscard]] Tensor<T, D> euclidean(const Fold& fold) {
  return fold_safely<T, D>(fold, fold::Norm<T, fold::NormOrder::two>{}, fold::ScaledNorm<T>{});
}
}  // namespace detail

namespace operation {

struct Variance {
  static constexpr const char* name = "var";
  ReduceAxes axes;
  VarOptions options;
  template <class X>
  auto compute(X&& x) const {
    using T = value_of<X>;
    const auto correction = detail::finite_as<compute_t<T>>("var", "correction", options.correction);
    return detail::fold_safely<T, device_of<X>>(
        [&](const auto& op) { return detail::reduce<T>(name, op, static_cast<X&&>(x), axes, options.keepdim); },
        fold::Variance<T>{correction}, fold::MeanVariance<T>{correction});
  }
  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    return Forwarded{compute(x), Tuple(x)};
  }

  template <class R>
  struct Deviation {
    R scale;
    LOCUS_FN R operator()(R g, R x, R mean) const { return detail::times_slope<Deviation>(g * scale, x - mean); }
  };
  template <class T, class D>
  void backward(const Tuple<Tensor<T, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    using R = compute_t<T>;
    const Tensor<T, D>& x = get<0>(saved);
    const auto mean = Mean{axes, true}.compute(x);
    const double rest = static_cast<double>(detail::FoldedAxes(name, x.shape(), axes).count) - options.correction;
    detail::map_to(dx, Deviation<R>{static_cast<R>(2 / (rest > 0 ? rest : 0))}, g.reshape(mean.shape()), x, mean);
  }
};

struct StandardDeviation {
  static constexpr const char* name = "stddev";
  Variance variance;
  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    const Tensor<T, D> of_x = variance.compute(x);
    const Tensor<T, D> y = sqrt(of_x);
    return Forwarded{y, Tuple(x, y)};
  }
  /// The gradient of the variance: none where the deviation is 0.
  struct Slope {
    template <class R>
    LOCUS_FN R operator()(R g, R y) const {
      return y == R(0) ? R(0) : g / (R(2) * y);
    }
  };
  template <class T, class D>
  void backward(const Tuple<Tensor<T, D>, Tensor<T, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    const auto& [x, y] = saved;
    const Tensor<T, D> of_variance(g.shape(), g.device());
    detail::map_into(of_variance, Slope{}, g, y);
    variance.backward(Tuple(x), of_variance, dx);
  }
};

template <fold::NormOrder order>
struct Norm {
  static constexpr const char* name = "norm";
  ReduceAxes axes;
  bool keepdim;
  template <class X>
  auto compute(X&& x) const {
    using T = value_of<X>;
    if constexpr (order == fold::NormOrder::two) {
      return detail::euclidean<T, device_of<X>>(
          [&](const auto& op) { return detail::reduce<T>(name, op, static_cast<X&&>(x), axes, keepdim); });
    } else {
      return detail::reduce<T>(name, fold::Norm<T, order>{}, std::forward<X>(x), axes, keepdim);
    }
  }
  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    auto y = compute(x);
    return Forwarded{y, Tuple(x, y)};
  }

  struct Slope {
    template <class R>
    LOCUS_FN R operator()(R g, R x, R y) const {
      if constexpr (order == fold::NormOrder::two) return y == R(0) ? R(0) : detail::times_slope<Slope>(g, x / y);
      else return detail::times_slope<Slope>(g, functor::Sign{}(x));
    }
  };
  struct Attains {
    static constexpr bool gives_bool = true;
    template <class R>
    LOCUS_FN bool operator()(R x, R y) const {
      return functor::Abs{}(x) == y || (x != x && y != y);
    }
  };
  struct Share {
    template <class R>
    LOCUS_FN R operator()(R g, R x, R y, std::int64_t ties) const {
      return Attains{}(x, y) ? detail::times_slope<Share>(g, functor::Sign{}(x)) / static_cast<R>(ties) : R(0);
    }
  };
  template <class T, class D>
  void backward(const Tuple<Tensor<T, D>, Tensor<T, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    const auto& [x, result] = saved;
    const Shape kept = detail::FoldedAxes(name, x.shape(), axes).kept;
    const Tensor<T, D> y = result.reshape(kept);
    if constexpr (order == fold::NormOrder::infinity) {
      const auto ties = detail::reduce<std::int64_t>(name, fold::Sum<bool>{}, elementwise(Attains{}, x, y), axes, true);
      detail::map_to(dx, Share{}, g.reshape(kept), x, y, ties);
    } else {
      detail::map_to(dx, Slope{}, g.reshape(kept), x, y);
    }
  }
};

}  // namespace operation

/// Variance over axes (all of them by default), by a numerically stable fold, also where the sum of squares would
/// overflow; NaN over too few elements.
/// gradient: 2 g (x - mean) / (count - correction)
/// cost: one launch, into which a temporary expression is fused, and on Cpu two more where that sum overflows;
///       backward two
///
///     auto v = var(x, 0, {.correction = 0});
template <detail::FloatingOperand X>
[[nodiscard]] auto var(X&& x, const ReduceAxes& axes = {}, const VarOptions& options = {}) {
  return detail::reduce_or_record(operation::Variance{axes, options}, std::forward<X>(x));
}

/// Standard deviation over axes: the root of var, with which it shares all else. (NumPy and PyTorch call it std, which
/// beside `using namespace locus` would be ambiguous.)
/// gradient: g (x - mean) / ((count - correction) stddev), 0 where that is 0
/// cost: as of var, and one launch; backward three
template <detail::FloatingOperand X>
[[nodiscard]] auto stddev(const X& x, const ReduceAxes& axes = {}, const VarOptions& options = {}) {
  return apply(operation::StandardDeviation{{axes, options}}, x);
}

/// What var_mean returns: `auto [variance, mean] = var_mean(x, 0);`
template <class V>
struct VarianceAndMean {
  V variance, mean;
};
/// Variance and mean over axes. cost: as of var and mean
template <detail::FloatingOperand X>
[[nodiscard]] auto var_mean(const X& x, const ReduceAxes& axes = {}, const VarOptions& options = {}) {
  const auto& value = x.eval();
  auto variance = var(value, axes, options);
  return VarianceAndMean<decltype(variance)>{std::move(variance), mean(value, axes, options.keepdim)};
}

/// Vector norm over axes (all of them by default): p = 1 sums magnitudes, p = 2 is Euclid's, p = infinity the largest.
/// Euclid's is right wherever it is a number of the type, also where squares overflow or vanish.
/// gradient: g sign(x), g x / norm (0 where the norm is 0), and g sign(x) in equal parts to the largest
/// cost: one launch, into which a temporary expression is fused, and on Cpu two more where squares overflow or
///       vanish, as those of zeros; backward one, two for p = infinity
/// throws ArgumentError for another p
template <detail::FloatingOperand X>
[[nodiscard]] auto norm(X&& x, double p = 2, const ReduceAxes& axes = {}, bool keepdim = false) {
  using fold::NormOrder;
  if (p == 2) return detail::reduce_or_record(operation::Norm<NormOrder::two>{axes, keepdim}, std::forward<X>(x));
  if (p == 1) return detail::reduce_or_record(operation::Norm<NormOrder::one>{axes, keepdim}, std::forward<X>(x));
  if (p != std::numeric_limits<double>::infinity())
    fail<ArgumentError>({"norm: p = ", p, "; expected 1, 2 or infinity"});
  return detail::reduce_or_record(operation::Norm<NormOrder::infinity>{axes, keepdim}, std::forward<X>(x));
}

#include <locus/refuse/ops/moments.inc>

}  // namespace locus::inline LOCUS_ABI
