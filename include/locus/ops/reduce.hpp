#pragma once
// Reductions over any axes. An expression given as a temporary is fused into the reduction: sum(a * b) is one launch.
// The order of additions follows the memory layout of the operands, and is the same in every run. An expression that is
// traced, or has a name, is computed first, into dense memory. If its operands are permuted or transposed, the order
// then differs from the fused form, and the last digits of floating-point sums may differ.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/reduction.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
/// ops/products_of_others.hpp defines it, for programs that compute with duals.
template <class R, class D>
[[nodiscard]] Tensor<Dual<R>, D> products_of_others(const Tensor<Dual<R>, D>& x, const ReduceAxes& axes);
}  // namespace detail

namespace operation {

struct Sum {
  static constexpr const char* name = "sum";
  static constexpr bool linear = true;
  ReduceAxes axes;
  bool keepdim;
  template <class X>
  auto compute(X&& x) const {
    using T = value_of<X>;
    return detail::reduce<detail::sum_value_t<T>>(name, fold::Sum<T>{}, std::forward<X>(x), axes, keepdim);
  }
  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    return Forwarded{compute(x), Tuple(x.shape())};
  }
  template <class T, class D>
  void backward(const Tuple<Shape>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    const Shape& shape = get<0>(saved);
    dx.give(g.reshape(detail::FoldedAxes(name, shape, axes).kept).expand(shape));
  }
};

struct Mean {
  static constexpr const char* name = "mean";
  static constexpr bool linear = true;
  ReduceAxes axes;
  bool keepdim;
  template <class X>
  auto compute(X&& x) const {
    using T = value_of<X>;
    const std::int64_t count = detail::FoldedAxes(name, x.shape(), axes).count;
    return detail::reduce<T>(name, fold::Mean<T>(count), std::forward<X>(x), axes, keepdim);
  }
  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    return Forwarded{compute(x), Tuple(x.shape())};
  }
  template <class T, class D>
  void backward(const Tuple<Shape>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    const Shape& shape = get<0>(saved);
    const detail::FoldedAxes folded(name, shape, axes);
    const Tensor<T, D> share = g / static_cast<double>(folded.count);
    dx.give(share.reshape(folded.kept).expand(shape));
  }
};

struct Product {
  static constexpr const char* name = "prod";
  static constexpr bool runs_on_duals = true;
  ReduceAxes axes;
  bool keepdim;
  template <class X>
  auto compute(X&& x) const {
    using T = value_of<X>;
    return detail::reduce<detail::sum_value_t<T>>(name, fold::Product<T>{}, std::forward<X>(x), axes, keepdim);
  }
  template <class T, class D> auto forward(const Tensor<T, D>& x) const { return Forwarded{compute(x), Tuple(x)}; }

  /// The product of the other elements: the product of all nonzero ones, divided by x; 0 if another element is zero.
  struct Others {
    template <class R>
    LOCUS_FN R operator()(R g, R x, R nonzero, std::int64_t zeros) const {
      if (zeros > (x == R(0) ? 1 : 0)) return R(0);
      return detail::times_slope<Others>(g, x == R(0) ? nonzero : nonzero / x);
    }
  };
  template <class T, class D>
  void backward(const Tuple<Tensor<T, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    const Tensor<T, D>& x = get<0>(saved);
    if constexpr (is_dual<T>) {
      const Shape kept = detail::FoldedAxes(name, x.shape(), axes).kept;
      return detail::map_to(dx, functor::Multiply{}, g.reshape(kept), detail::products_of_others(x, axes));
    }
    const auto nonzero = detail::reduce<T>(name, fold::Product<T>{}, where(x == 0, 1, x), axes, true);
    const auto zeros = detail::reduce<std::int64_t>(name, fold::Sum<bool>{}, x == 0, axes, true);
    detail::map_to(dx, Others{}, g.reshape(nonzero.shape()), x, nonzero, zeros);
  }
};

}  // namespace operation

/// Sum over axes (all of them by default). Integers and bool are added in 64 bits and give int64.
/// The order of additions follows the memory of the operands: a fused temporary may differ in its last digits from the
/// same formula computed first, as a named or traced one is. The same program gives the same digits.
/// shape: the folded axes disappear, or stay with extent 1 if keepdim     gradient: g repeated
/// cost: one launch, into which a temporary expression is fused; its gradient is a view
///
///     auto s = sum(a * b, {0, -1});
template <detail::Operand X>
[[nodiscard]] auto sum(X&& x, const ReduceAxes& axes = {}, bool keepdim = false) {
  return detail::reduce_or_record(operation::Sum{axes, keepdim}, std::forward<X>(x));
}

/// Mean over axes (all of them by default), added in the order of sum; NaN over no elements.
/// gradient: g / count repeated
/// cost: one launch, into which a temporary expression is fused; backward one of the result's size
template <detail::DifferentiableOperand X>
[[nodiscard]] auto mean(X&& x, const ReduceAxes& axes = {}, bool keepdim = false) {
  return detail::reduce_or_record(operation::Mean{axes, keepdim}, std::forward<X>(x));
}

/// Product over axes (all of them by default); 1 over no elements. Integers are multiplied in 64 bits and give int64.
/// gradient: g times the product of the other elements, zeros among them included
/// cost: one launch, into which a temporary expression is fused; backward three
template <detail::Operand X>
[[nodiscard]] auto prod(X&& x, const ReduceAxes& axes = {}, bool keepdim = false) {
  return detail::reduce_or_record(operation::Product{axes, keepdim}, std::forward<X>(x));
}

/// Whether all (any) elements along the axes are nonzero: a plain bool tensor. cost: one launch
template <detail::Operand X>
[[nodiscard]] auto all(X&& x, const ReduceAxes& axes = {}, bool keepdim = false) {
  return detail::reduce<bool>("all", fold::All{}, std::forward<X>(x), axes, keepdim);
}
template <detail::Operand X>
[[nodiscard]] auto any(X&& x, const ReduceAxes& axes = {}, bool keepdim = false) {
  return detail::reduce<bool>("any", fold::Any{}, std::forward<X>(x), axes, keepdim);
}

/// The number of nonzero elements along the axes (all of them by default); NaN is nonzero. Plain, of int64. cost: one
/// launch
template <detail::Operand X>
[[nodiscard]] auto count_nonzero(X&& x, const ReduceAxes& axes = {}, bool keepdim = false) {
  return detail::reduce<std::int64_t>("count_nonzero", fold::CountNonzero{}, std::forward<X>(x), axes, keepdim);
}

#include <locus/refuse/ops/reduce.inc>

}}  // namespace locus::LOCUS_ABI
