#pragma once
// Variance and standard deviation along axes.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/fold_safely.hpp>
#include <locus/ops/reduce.hpp>

namespace locus::inline LOCUS_ABI {

struct VarOptions {
  double correction = 1;  ///< subtracted from the number of elements: 1 for a sample, 0 for a whole population
  bool keepdim = false;
};

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

#include <locus/refuse/ops/moments.inc>

}  // namespace locus::inline LOCUS_ABI
