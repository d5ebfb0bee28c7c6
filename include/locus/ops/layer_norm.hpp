#pragma once
// Layer normalization and its form without a mean, RMS normalization, over the last dimensions. Rows are read once and
// stay on chip.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/device/capabilities.hpp>
#include <locus/ops/normalize/layer_norm_rows.hpp>
#include <locus/ops/reduction.hpp>

#include <limits>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

/// A tensor as rows over its last dimensions.
struct NormalizedRows {
  std::int64_t rows = 1, cols = 1;

  /// throws ShapeError unless `normalized` names the last dimensions of `shape`, ArgumentError for an eps below 0, NaN
  /// or infinite
  LOCUS_OUT_OF_LINE NormalizedRows(const char* name, const Shape& shape, const Shape& normalized, double eps) {
    const int leading = shape.rank() - normalized.rank();
    bool fits = leading >= 0 && normalized.rank() > 0;
    for (int d = 0; fits && d < shape.rank(); ++d) {
      std::int64_t& product = d < leading ? rows : cols;
      product = product_or_most(product, shape[d]);
      fits = d < leading || shape[d] == normalized[d - leading];
    }
    if (!fits)
      fail<ShapeError>({name, ": input of shape ", shape, " with normalized shape ", normalized,
                        "; expected one or more extents, those of the input's last dimensions"});
    require_not_negative(name, "eps", eps);
    if (cols == 0) rows = 0;  // no row has a first element
  }

  /// (rows, cols, 1), as rows_of takes it: a view where the strides allow it, a copy otherwise.
  template <class T, class D>
  [[nodiscard]] Tensor<T, D> of(const Tensor<T, D>& x) const {
    return x.reshape({rows, cols, 1});
  }
};

}  // namespace detail

namespace operation {

/// (x - mean) / sqrt(variance + eps) * weight + bias; without `centers`, x / sqrt(mean square + eps) * weight. A weight
/// or bias without memory is absent.
template <bool centers>
struct LayerNorm {
  static constexpr const char* name = centers ? "layer_norm" : "rms_norm";
  static constexpr bool runs_on_duals = true;
  Shape normalized;
  double eps;

  /// For backward: the rows of x, the weight, and the moments of each row.
  template <class T, class D, class R>
  using Saved = Tuple<Tensor<T, D>, Tensor<T, D>, Tensor<R, D>>;

  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    return forward(x, Tensor<T, D>{}, Tensor<T, D>{});
  }
  template <class T, class D>
  auto forward(const Tensor<T, D>& x, const Tensor<T, D>& weight) const {
    return forward(x, weight, Tensor<T, D>{});
  }
  template <class T, class D, class R = compute_t<T>>
  auto forward(const Tensor<T, D>& x, const Tensor<T, D>& given_weight, const Tensor<T, D>& given_bias) const {
    const detail::NormalizedRows count(name, x.shape(), normalized, eps);
    require_shape("weight", given_weight);
    require_shape("bias", given_bias);
    detail::require_same_ordinal(name, x, given_weight, given_bias);
    const auto weight = given_weight.contiguous(), bias = given_bias.contiguous();
    const auto rows = count.of(x);
    const Tensor<T, D> y(x.shape(), x.device());
    const Tensor<R, D> moments({centers ? 2 : 1, count.rows, 1, 1}, x.device());
    Backend<D>::for_each_row(x.device(), count.rows, count.cols,
                             detail::LayerNormRow<T, centers>{detail::rows_of(rows),
                                                              {weight.data(), bias.data()},
                                                              detail::finite_as<R>(name, "eps", eps),
                                                              detail::moments_of<R>(moments),
                                                              detail::rows_of(count.of(y), 1)});
    return Forwarded{y, Tuple(rows, weight, moments)};
  }

  template <class T, class D, class R>
  void backward(const Saved<T, D, R>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    Gradient<T, D> none(nullptr);
    backward(saved, g, dx, none, none);
  }
  template <class T, class D, class R>
  void backward(const Saved<T, D, R>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx, Gradient<T, D>& dweight) const {
    Gradient<T, D> none(nullptr);
    backward(saved, g, dx, dweight, none);
  }
  template <class T, class D, class R>
  void backward(const Saved<T, D, R>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx, Gradient<T, D>& dweight,
                Gradient<T, D>& dbias) const {
    using Target = typename Gradient<T, D>::Target;
    const auto& [x, weight, moments] = saved;
    const auto dy = g.reshape(x.shape());
    const auto target = dx ? dx.open() : Target{};
    const auto out = dx ? target.out.reshape(x.shape()) : target.out;
    const detail::LayerNormRowBackward<T, centers> of_x{detail::rows_of(x),
                                                        detail::rows_of(dy),
                                                        {weight.data(), nullptr},
                                                        detail::moments_of<const R>(moments),
                                                        dx ? detail::rows_of(out, 1) : detail::Rows<T>{},
                                                        target.accumulate};
    const auto to_weight = dweight ? dweight.open() : Target{}, to_bias = dbias ? dbias.open() : Target{};
    if constexpr (SumsColumns<D>) {
      const ColumnSum<T> sums[] = {{to_weight.out.data(), to_weight.accumulate},
                                   {to_bias.out.data(), to_bias.accumulate}};
      const bool only_bias = !dx && !dweight;  // which needs no x
      if ((AlwaysSumsColumns<D> || !only_bias) &&
          Backend<D>::for_each_row(g.device(), x.size(0), x.size(1), detail::LayerNormRowGradients<T, centers>{of_x},
                                   sums))
        return;
    }
    if constexpr (!AlwaysSumsColumns<D>) {
      if (dx) Backend<D>::for_each_row(g.device(), x.size(0), x.size(1), of_x);
      add_sums(saved, dy, to_weight, to_bias);
    }
  }

 private:
  template <class T, class D>
  void require_shape(const char* what, const Tensor<T, D>& x) const {
    if (x.buffer() && !(x.shape() == normalized))
      fail<ShapeError>(
          {name, ": ", what, " of shape ", x.shape(), " for normalized shape ", normalized, "; expected ", normalized});
  }

  /// The gradients of weight and bias: a reduction for each that has memory.
  template <class T, class D, class R, class Target>
  static void add_sums(const Saved<T, D, R>& saved, const Tensor<T, D>& dy, const Target& to_weight,
                       const Target& to_bias) {
    const auto& [x, weight, moments] = saved;
    const auto rstd = moments.select(0, 0);
    if (to_weight.out.buffer()) {
      if constexpr (centers) {
        add_rows<detail::TimesNormalized>(to_weight, dy, x, rstd, x.slice(1, 0, 1), moments.select(0, 1));
      } else {
        add_rows<detail::TimesNormalized>(to_weight, dy, x, rstd);
      }
    }
    if (to_bias.out.buffer()) add_rows<functor::Identity>(to_bias, dy);
  }

  /// The sum of f(rows...) over the rows.
  template <class F, class Target, class T, class D, class... In>
  static void add_rows(const Target& target, const Tensor<T, D>& rows, const Tensor<In, D>&... others) {
    [&]<int... i>(std::integer_sequence<int, i...>) {
      detail::reduce_into(target.out, target.accumulate, rows.shape(), detail::FoldedAxes(name, rows.shape(), 0),
                          Apply<F, Symbol<i>...>{}, fold::Sum<T>{}, rows, others...);
    }(std::make_integer_sequence<int, static_cast<int>(sizeof...(In)) + 1>{});
  }
};

}  // namespace operation

namespace detail {
/// PyTorch's default: the machine epsilon of the type in which rows are computed.
template <class X>
inline constexpr double rms_eps = std::numeric_limits<option_t<value_of<X>>>::epsilon();
}  // namespace detail

/// (x - mean) / sqrt(variance + eps) * weight + bias over the last dimensions (Ba, Kiros and Hinton, 2016), which
/// `normalized_shape` names; the variance is the population's. Accurate beside an offset common to a row, however
/// large.
/// shape: x (..., normalized_shape), weight and bias normalized_shape or an empty handle for none -> the shape of x
/// gradient: with n = (x - mean) rstd and d = g * weight: rstd (d - mean(d) - n mean(d n)) for x; sums over the rows of
///           g n for the weight and of g for the bias
/// cost:  one launch, which reads x once and writes y once; backward one launch for all gradients, on Cuda with a
///        second, which adds the partial sums of blocks. There, few rows, rows of fewer than 32 or more than 4,096
///        columns (32,768 from compute capability 9.0) take a launch for the input, and a reduction for weight and
///        bias each. Saves x, the weight and two numbers per row. Dimensions that do not merge into rows cost a copy.
/// throws ShapeError naming the shapes; ArgumentError unless eps >= 0
///
///     auto y = layer_norm(x, {64}, weight, bias);
template <detail::FloatingOperand X>
[[nodiscard]] auto layer_norm(const X& x, const Shape& normalized_shape, double eps = 1e-5) {
  return apply(operation::LayerNorm<true>{normalized_shape, eps}, x);
}
template <class X, class W>
  requires detail::NormalizedWith<X, W>
[[nodiscard]] auto layer_norm(const X& x, const Shape& normalized_shape, const W& weight, double eps = 1e-5) {
  return apply(operation::LayerNorm<true>{normalized_shape, eps}, x, weight);
}
template <class X, class W, class B>
  requires detail::NormalizedWith<X, W, B>
[[nodiscard]] auto layer_norm(const X& x, const Shape& normalized_shape, const W& weight, const B& bias,
                              double eps = 1e-5) {
  return apply(operation::LayerNorm<true>{normalized_shape, eps}, x, weight, bias);
}

/// x / sqrt(mean(x^2) + eps) * weight over the last dimensions (Zhang and Sennrich, 2019), which `normalized_shape`
/// names. By default eps is the machine epsilon of the type in which x is computed: float for half and bfloat16.
/// shape, gradient, cost, errors: as layer_norm, with the mean as 0, one number per row saved, and no bias
///
///     auto y = rms_norm(x, {64}, weight);
template <detail::FloatingOperand X>
[[nodiscard]] auto rms_norm(const X& x, const Shape& normalized_shape, double eps = detail::rms_eps<X>) {
  return apply(operation::LayerNorm<false>{normalized_shape, eps}, x);
}
template <class X, class W>
  requires detail::NormalizedWith<X, W>
[[nodiscard]] auto rms_norm(const X& x, const Shape& normalized_shape, const W& weight,
                            double eps = detail::rms_eps<X>) {
  return apply(operation::LayerNorm<false>{normalized_shape, eps}, x, weight);
}

#include <locus/refuse/ops/layer_norm.inc>

}}  // namespace locus::LOCUS_ABI
