#pragma once
// Variance and standard deviation along axes.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/fold_safely.hpp>
#include <locus/ops/moment_folds.hpp>
#include <locus/ops/reduce.hpp>

namespace locus { inline namespace LOCUS_ABI {

struct VarOptions {
  double correction = 1;  ///< subtracted from the number of elements: 1 for a sample, 0 for a whole population
  bool keepdim = false;
};

namespace detail {

/// The gradient of a variance; for a deviation, divided by the deviation. The mean is mean + rest.
template <class R, bool of_deviation>
struct MomentSlope {
  static constexpr unsigned repeated = 0b11101;
  R share;
  LOCUS_FN R operator()(R g, R x, R mean, R rest, R deviation) const {
    if constexpr (!of_deviation) {
      return times_slope<MomentSlope>(g * share, (x - mean) - rest);
    } else {
      const R half = R(0.5);  // the distance itself may not be representable
      const R slope = ((x * half - mean * half) - rest * half) / (deviation * half);
      return times_slope<MomentSlope>(kept_if(deviation != R(0), g * share), slope);
    }
  }
};

/// The mean over axes as two tensors, whose sum has twice the digits of T. One launch.
/// shape: axes.kept
template <class T, class D>
[[nodiscard]] fold::DoubleWord<Tensor<T, D>> exact_mean(const FoldedAxes& axes, const Tensor<T, D>& x) {
  using Op = fold::ExactMean<T>;
  using Result = fold::DoubleWord<T>;
  const Tensor<T, D> words({elements(axes.kept), 2}, x.device());
  const Strides dense = row_major(axes.kept);
  const auto plan = make_reduce_plan<1>(x.shape(), {operand_of(x), PlanOperand{&axes.kept, &dense}}, axes.folded);
  const Op op(axes.count);
  Backend<D>::reduce(x.device(), plan, Folded<Symbol<0>, Op, T>{{}, op}, op, Pack<const T*>(x.data()),
                     static_cast<const Result*>(nullptr), reinterpret_cast<Result*>(words.data()));
  return {words.select(1, 0).reshape(axes.kept), words.select(1, 1).reshape(axes.kept)};
}

/// Adds the gradient of a variance of x to dx, or, if `deviation` has memory, the gradient of this deviation. Two
/// launches.
template <bool of_deviation, class T, class D>
void add_moment_slope(const FoldedAxes& axes, double correction, const Tensor<T, D>& x, const Tensor<T, D>& g,
                      const Tensor<T, D>& deviation, Gradient<T, D>& dx) {
  using R = compute_t<T>;
  if (x.empty()) return dx.give(Tensor<T, D>(x.shape(), x.device()));
  const double degrees = static_cast<double>(axes.count) - correction;
  const MomentSlope<R, of_deviation> slope{static_cast<R>((of_deviation ? 1 : 2) / (degrees > 0 ? degrees : 0))};
  const auto [mean, rest] = exact_mean(axes, x);
  map_to(dx, slope, g.reshape(axes.kept), x, mean, rest, deviation);
}

}  // namespace detail

namespace operation {

struct Variance {
  static constexpr const char* name = "var";
  static constexpr bool runs_on_duals = true;
  ReduceAxes axes;
  VarOptions options;
  template <class X>
  auto compute(X&& x) const {
    using T = value_of<X>;
    const auto correction = detail::finite_as<compute_t<T>>(name, "correction", options.correction);
    return detail::fold_safely<T, device_of<X>>(
        [&](const auto& op) { return detail::reduce<T>(name, op, static_cast<X&&>(x), axes, options.keepdim); },
        fold::Variance<T>{correction}, fold::ScaledVariance<T>{correction});
  }
  template <class T, class D> auto forward(const Tensor<T, D>& x) const { return Forwarded{compute(x), Tuple(x)}; }
  template <class T, class D>
  void backward(const Tuple<Tensor<T, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    const Tensor<T, D>& x = get<0>(saved);
    detail::add_moment_slope<false>({name, x.shape(), axes}, options.correction, x, g, Tensor<T, D>{}, dx);
  }
};

struct StandardDeviation {
  static constexpr const char* name = "stddev";
  static constexpr bool runs_on_duals = true;
  ReduceAxes axes;
  VarOptions options;
  template <class X>
  auto compute(X&& x) const {
    using T = value_of<X>;
    const auto correction = detail::finite_as<compute_t<T>>(name, "correction", options.correction);
    return detail::fold_safely<T, device_of<X>>(
        [&](const auto& op) { return detail::reduce<T>(name, op, static_cast<X&&>(x), axes, options.keepdim); },
        fold::Deviation<T>{{correction}}, fold::ScaledDeviation<T>{{correction}});
  }
  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    const Tensor<T, D> y = compute(x);
    return Forwarded{y, Tuple(x, y)};
  }
  template <class T, class D>
  void backward(const Tuple<Tensor<T, D>, Tensor<T, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    const auto& [x, y] = saved;
    const detail::FoldedAxes folded(name, x.shape(), axes);
    detail::add_moment_slope<true>(folded, options.correction, x, g, y.reshape(folded.kept), dx);
  }
};

}  // namespace operation

/// Variance over axes (all of them by default), by a numerically stable fold: accurate beside an offset common to all
/// elements, and right where the sum of squares would overflow. NaN over too few elements.
/// gradient: 2 g (x - mean) / (count - correction)
/// cost: one launch, into which a temporary expression is fused, and on Cpu two more if the sum of squares overflows;
///       backward two
///
///     auto v = var(x, 0, {.correction = 0});
template <detail::FloatingOperand X>
[[nodiscard]] auto var(X&& x, const ReduceAxes& axes = {}, const VarOptions& options = {}) {
  return detail::reduce_or_record(operation::Variance{axes, options}, std::forward<X>(x));
}

/// Standard deviation over axes: the root of var. Right wherever it is representable, also if the variance is not.
/// (NumPy and PyTorch call it std, which would be ambiguous beside `using namespace locus`.)
/// gradient: g (x - mean) / ((count - correction) stddev), 0 where stddev is 0
/// cost: as var; on Cpu the two further launches are also taken where squares vanish
template <detail::FloatingOperand X>
[[nodiscard]] auto stddev(X&& x, const ReduceAxes& axes = {}, const VarOptions& options = {}) {
  return detail::reduce_or_record(operation::StandardDeviation{axes, options}, std::forward<X>(x));
}

/// The results of var_mean: `auto [variance, mean] = var_mean(x, 0);`
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

}}  // namespace locus::LOCUS_ABI
