#pragma once
// The largest and smallest elements along axes, and their positions.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/index.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/ops/view.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
/// throws ShapeError if a result would have no elements to fold
inline void require_elements(std::string_view name, const Shape& shape, const ReduceAxes& axes) {
  if (FoldedAxes(name, shape, axes).count == 0) {
    fail<ShapeError>({name, ": a tensor of shape ", shape,
                      " has no elements along the reduced axes, and nothing has no ", name, "; expected at least one"});
  }
}

/// Equal, or both NaN.
struct Same {
  template <class R>
  LOCUS_FN bool operator()(R x, R y) const {
    return (x == y) | ((x != x) & (y != y));  // without branches, for loops over it to vectorize
  }
  static constexpr bool gives_bool = true;
};
}  // namespace detail

namespace operation {

/// max or min.
template <bool largest>
struct Extreme {
  static constexpr const char* name = largest ? "max" : "min";
  static constexpr bool runs_on_duals = true;
  ReduceAxes axes;
  bool keepdim;
  template <class X>
  auto compute(X&& x) const {
    using T = value_of<X>;
    using Op = std::conditional_t<largest, fold::Max<T>, fold::Min<T>>;
    detail::require_elements(name, x.shape(), axes);
    return detail::reduce<T>(name, Op{}, std::forward<X>(x), axes, keepdim);
  }
  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    auto y = compute(x);
    return Forwarded{y, Tuple(x, y)};
  }

  /// An equal share for every element that attains the extreme.
  struct Share {
    template <class R>
    LOCUS_FN R operator()(R g, R x, R y, std::int64_t ties) const {
      return detail::Same{}(x, y) ? g / static_cast<R>(ties) : R(0);
    }
  };
  template <class T, class D>
  void backward(const Tuple<Tensor<T, D>, Tensor<T, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    const auto& [x, result] = saved;
    const Shape kept = detail::FoldedAxes(name, x.shape(), axes).kept;
    const Tensor<T, D> y = result.reshape(kept);
    const auto ties =
        detail::reduce<std::int64_t>(name, fold::Sum<bool>{}, elementwise(detail::Same{}, x, y), axes, true);
    detail::map_to(dx, Share{}, g.reshape(kept), x, y, ties);
  }
};

}  // namespace operation

/// Elements and their positions: `auto [values, indices] = cummax(x, 0);`
template <class Values, class Indices>
struct ValuesAndIndices {
  Values values;    ///< traced where x is
  Indices indices;  ///< positions along the axis: plain, of int64
};

/// Largest element along axes (all of them by default): torch.amax. NaN wins.
/// gradient: g, in equal parts to all elements that attain it
/// cost: one launch, into which a temporary expression is fused; backward two     throws ShapeError over no elements
template <detail::RealOperand X>
[[nodiscard]] auto max(X&& x, const ReduceAxes& axes = {}, bool keepdim = false) {
  return detail::reduce_or_record(operation::Extreme<true>{axes, keepdim}, std::forward<X>(x));
}

/// Smallest element along axes, as max.
template <detail::RealOperand X>
[[nodiscard]] auto min(X&& x, const ReduceAxes& axes = {}, bool keepdim = false) {
  return detail::reduce_or_record(operation::Extreme<false>{axes, keepdim}, std::forward<X>(x));
}

namespace detail {
/// argmax and argmin, whose results are plain. A place that records graphs specializes it.
template <class D>
struct Locate {
  template <bool largest, class X>
  static auto run(std::string_view name, X&& x, const ReduceAxes& axes, bool keepdim) {
    return reduce<std::int64_t>(name, fold::ArgExtreme<value_of<X>, largest>{}, std::forward<X>(x), axes, keepdim);
  }
};
template <bool largest, class X>
auto locate(std::string_view name, X&& x, const ReduceAxes& axes, bool keepdim) {
  if (axes.list().rank() > 1) fail<ArgumentError>({name, ": one axis or none expected, got ", axes.list()});
  require_elements(name, x.shape(), axes);
  return Locate<device_of<X>>::template run<largest>(name, std::forward<X>(x), axes, keepdim);
}
}  // namespace detail

/// The position of the largest element along one axis, or in row-major order over all: a plain int64 tensor. The first
/// of equals wins, and NaN over all.
/// cost: one launch     throws ShapeError over no elements
template <detail::RealOperand X>
[[nodiscard]] auto argmax(X&& x, const ReduceAxes& axis = {}, bool keepdim = false) {
  return detail::locate<true>("argmax", std::forward<X>(x), axis, keepdim);
}

/// The position of the smallest element, as argmax.
template <detail::RealOperand X>
[[nodiscard]] auto argmin(X&& x, const ReduceAxes& axis = {}, bool keepdim = false) {
  return detail::locate<false>("argmin", std::forward<X>(x), axis, keepdim);
}

namespace detail {
template <class X, class I>
auto picked_along(const X& x, const I& index, int along, bool keepdim) {
  Shape shape = index.shape();
  if (!keepdim) shape.erase(along);
  auto values = reshape(gather(x, along, index), shape);
  return ValuesAndIndices<decltype(values), I>{std::move(values), index.reshape(shape)};
}
}  // namespace detail

/// The largest element along an axis, the first of equals, and its position: torch.max with an axis.
/// gradient: for the values, g at their positions; max, by contrast, divides g among equal elements
/// cost: two launches     throws as argmax
///
///     auto [values, indices] = max_with_indices(scores, 1);
template <detail::RealOperand X>
  requires(!detail::IsParameter<X>)
[[nodiscard]] auto max_with_indices(const X& x, int axis, bool keepdim = false) {
  const int along = normalize_axis(axis, x.shape().rank(), "max_with_indices");
  return detail::picked_along(x, argmax(x.eval().value(), along, true), along, keepdim);
}
/// The smallest element, as max_with_indices.
template <detail::RealOperand X>
  requires(!detail::IsParameter<X>)
[[nodiscard]] auto min_with_indices(const X& x, int axis, bool keepdim = false) {
  const int along = normalize_axis(axis, x.shape().rank(), "min_with_indices");
  return detail::picked_along(x, argmin(x.eval().value(), along, true), along, keepdim);
}

#include <locus/refuse/ops/extreme.inc>

}}  // namespace locus::LOCUS_ABI
