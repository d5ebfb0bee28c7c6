#pragma once
// Running products, extremes, and logarithms of running sums of exponentials. Running sums are in ops/scan.hpp.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/extreme.hpp>
#include <locus/ops/index.hpp>
#include <locus/ops/linear_recurrence.hpp>
#include <locus/ops/order/scan_extreme.hpp>
#include <locus/ops/scan.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

/// log(e^a + e^b)
struct LogAddExp {
  template <class R>
  LOCUS_FN R operator()(R a, R b) const {
    if (a == b && a - a != a - a) return a;  // both infinite
    const R larger = a > b ? a : b, smaller = a > b ? b : a;
    if (!(smaller == smaller && larger == larger)) return a + b;
    return larger + math::log1p(math::exp(smaller - larger));
  }
};

/// x, with the first zero of its row replaced by 1. `zeros` counts the zeros up to each element.
struct WithoutFirstZero {
  template <class R> LOCUS_FN R operator()(R x, std::int64_t zeros) const { return x == R(0) && zeros == 1 ? R(1) : x; }
};
struct IsZero {
  template <class R> LOCUS_FN std::int64_t operator()(R x) const { return x == R(0); }
};
/// The gradient of a running product. `all`: sums of g y from each element on; `without`: the same with the row's first
/// zero replaced by 1.
struct ProductSlope {
  template <class R>
  LOCUS_FN R operator()(R x, std::int64_t zeros, R all, R without) const {
    return zeros == 0 ? all / x : x == R(0) && zeros == 1 ? without : R(0);
  }
};

/// e^(x - y), 0 for x = -infinity
struct ExpDifference {
  double none = fold::lowest<double>();
  template <class R>
  LOCUS_FN R operator()(R x, R y) const {
    return x == static_cast<R>(none) ? R(0) : math::exp(x - y);
  }
};
struct TimesExpDifference {
  template <class R> LOCUS_FN R operator()(R x, R y, R sum) const { return ExpDifference{}(x, y) * sum; }
};

/// log of the positive (negative) part of g, less y
template <bool positive>
struct LogPartLess {
  double none = fold::lowest<double>();
  template <class R>
  LOCUS_FN R operator()(R g, R y) const {
    const R part = positive ? g : -g;
    const R nothing = static_cast<R>(none);
    if (part <= R(0) || y == nothing) return nothing;
    return math::log(part) - y;
  }
};
struct SumOfParts {
  template <class R>
  LOCUS_FN R operator()(R x, R positive, R negative) const {
    return math::exp(x + positive) - math::exp(x + negative);
  }
};

/// The elements that an inclusive scan takes for the given options. `neutral` combines with nothing before it.
template <class T, class D>
[[nodiscard]] Tensor<T, D> scanned(const Tensor<T, D>& x, int along, const ScanOptions& options, compute_t<T> neutral) {
  return options.exclusive ? shifted(x, along, options.reverse, neutral) : x;
}
/// Hands over the gradient by those elements, computed by f, as the gradient by x.
template <class F, class T, class D, class... In>
void give_to_scanned(Gradient<T, D>& dx, int along, const ScanOptions& options, const F& f, const Tensor<T, D>& x,
                     const Tensor<In, D>&... inputs) {
  if (!options.exclusive) return map_to(dx, f, x, inputs...);
  const Tensor<T, D> of_scanned(x.shape(), x.device());
  map_into(of_scanned, f, x, inputs...);
  dx.give(shifted(of_scanned, along, !options.reverse));
}

template <bool largest, class X>
[[nodiscard]] auto scan_to_extreme(const char* name, const X& x, int axis) {
  const int along = normalize_axis(axis, x.shape().rank(), name);
  const auto indices = scan_extreme<largest>(x.eval().value(), along);
  auto values = apply(operation::Gather{along}, x, indices);
  return ValuesAndIndices<decltype(values), std::remove_cvref_t<decltype(indices)>>{std::move(values), indices};
}

}  // namespace detail

namespace operation {

struct CumulativeProduct {
  static constexpr const char* name = "cumprod";
  static constexpr bool runs_on_duals = true;
  int axis;
  ScanOptions options;
  template <class T, class D>
  auto forward(const Tensor<T, D>& given) const {
    const int along = normalize_axis(axis, given.rank(), name);
    const Tensor<T, D> x = detail::scanned(given, along, options, 1);
    const auto y = detail::scan<functor::Multiply>(x.template as<detail::sum_value_t<T>>(), along, options.reverse);
    return Forwarded{y, Tuple(x, y)};
  }
  template <class T, class D>
  void backward(const Tuple<Tensor<T, D>, Tensor<T, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    const auto& [x, y] = saved;
    const int along = normalize_axis(axis, x.rank(), name);
    if constexpr (is_dual<T>) {
      const auto sums =
          detail::linear_recurrence(g, detail::shifted(x, along, !options.reverse), along, options.reverse);
      return detail::give_to_scanned(dx, along, options, functor::Multiply{},
                                     detail::shifted(y, along, options.reverse, T(1)), sums);
    }
    const Tensor<std::int64_t, D> is_zero(x.shape(), x.device());
    detail::map_into(is_zero, detail::IsZero{}, x);
    const auto zeros = detail::scan(is_zero, along, options.reverse);
    const Tensor<T, D> product(x.shape(), x.device()), without(x.shape(), x.device());
    detail::map_into(product, functor::Multiply{}, g, y);
    detail::map_into(without, detail::WithoutFirstZero{}, x, zeros);
    const auto others = detail::scan<functor::Multiply>(without, along, options.reverse);
    detail::map_into(without, functor::Multiply{}, g, others);
    detail::give_to_scanned(dx, along, options, detail::ProductSlope{}, x, zeros,
                            detail::scan(product, along, !options.reverse),
                            detail::scan(without, along, !options.reverse));
  }
};

struct CumulativeLogSumExp {
  static constexpr const char* name = "logcumsumexp";
  static constexpr bool runs_on_duals = true;
  int axis;
  ScanOptions options;
  template <class T, class D>
  auto forward(const Tensor<T, D>& given) const {
    const int along = normalize_axis(axis, given.rank(), name);
    const Tensor<T, D> x = detail::scanned(given, along, options, fold::lowest<compute_t<T>>());
    const auto y = detail::scan<detail::LogAddExp>(x, along, options.reverse);
    return Forwarded{y, Tuple(x, y)};
  }
  template <class T, class D>
  void backward(const Tuple<Tensor<T, D>, Tensor<T, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    const auto& [x, y] = saved;
    const int along = normalize_axis(axis, x.rank(), name);
    if constexpr (is_dual<T>) {  // the logarithm of a gradient of value 0 has no tangent
      const Tensor<T, D> shares(x.shape(), x.device());
      detail::map_into(shares, detail::ExpDifference{}, y, detail::shifted(y, along, !options.reverse));
      const auto sums = detail::linear_recurrence(g, shares, along, options.reverse);
      return detail::give_to_scanned(dx, along, options, detail::TimesExpDifference{}, x, y, sums);
    }
    const Tensor<T, D> positive(x.shape(), x.device()), negative(x.shape(), x.device());
    detail::map_into(positive, detail::LogPartLess<true>{}, g, y);
    detail::map_into(negative, detail::LogPartLess<false>{}, g, y);
    detail::give_to_scanned(dx, along, options, detail::SumOfParts{}, x,
                            detail::scan<detail::LogAddExp>(positive, along, !options.reverse),
                            detail::scan<detail::LogAddExp>(negative, along, !options.reverse));
  }
};

}  // namespace operation

/// Running products along an axis: y[i] = x[0] * ... * x[i]; exclusive, without x[i], and in reverse x[i] * ... *
/// x[n - 1]. Integers and bool give int64.
/// shape: as x     gradient: sums of g y from each element on, divided by the element; correct for zeros, too
/// cost:  as of cumsum, on hosts multiplied in double; backward four scans and five launches
template <detail::RealOperand X>
[[nodiscard]] auto cumprod(const X& x, int axis, const ScanOptions& options = {}) {
  return apply(operation::CumulativeProduct{axis, options}, x);
}

/// log(e^x[0] + ... + e^x[i]) along an axis, also where exponentials overflow or vanish; exclusive and in reverse as
/// cumsum, where the logarithm of no element is -infinity.
/// shape: as x     gradient: e^x times the sums of g e^-y from each element on, as logarithms
/// cost:  as of cumprod; backward two scans and three launches
template <detail::FloatingOperand X>
[[nodiscard]] auto logcumsumexp(const X& x, int axis, const ScanOptions& options = {}) {
  return apply(operation::CumulativeLogSumExp{axis, options}, x);
}

/// The largest element so far along an axis, and its position: the last of equals; from the first NaN on, NaN.
/// shape: as x, both     gradient: for the values, g added up at their positions
/// cost:  one launch on hosts, on Cuda ceil(log8(extent)), and gather
///
///     auto [values, indices] = cummax(x, 0);
template <detail::RealOperand X>
[[nodiscard]] auto cummax(const X& x, int axis) {
  return detail::scan_to_extreme<true>("cummax", x, axis);
}
/// The smallest element so far, as cummax.
template <detail::RealOperand X>
[[nodiscard]] auto cummin(const X& x, int axis) {
  return detail::scan_to_extreme<false>("cummin", x, axis);
}

#include <locus/refuse/ops/cumulative.inc>

}}  // namespace locus::LOCUS_ABI
