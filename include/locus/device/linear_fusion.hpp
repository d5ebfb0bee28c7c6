#pragma once
// Optional fusions with the products of linear layers, forward and backward. ops/linear.hpp tests the concepts of this
// header; a device without them needs a separate reduction or map.

#include <locus/device/verbs.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
template <class F, class R>
concept DerivedByOutput = requires(const F& f, R y) { f.by_output(y); };
/// An adjoint times the derivative of an activation: from its output if F has by_output, else from its input.
template <class F, class R>
[[nodiscard]] LOCUS_FN R times_derivative(R adjoint, const F& f, R value) {
  if constexpr (DerivedByOutput<F, R>) return times_slope<F>(adjoint, f.by_output(value));
  else return times_slope<F>(adjoint, f.by_input(value));
}
}  // namespace detail

/// The epilogue of a product that gives the gradient of y = activation(z): c = product * activation'(z), the gradient
/// of z.
template <class T, class Activation>
struct DerivativeEpilogue {
  Activation activation;
  const T* value;  ///< y or z, the argument of the derivative: a matrix of c's shape with dense rows
  std::int64_t row_stride;
  const void* kept = nullptr;  ///< data about z that gemm_and_keep kept; see KeepsForDerivatives

  template <class A>
  [[nodiscard]] constexpr DerivativeEpilogue<T, A> with(const A& other) const {
    return {other, value, row_stride, kept};
  }
  [[nodiscard]] constexpr bool accumulates() const { return false; }
  [[nodiscard]] LOCUS_FN compute_t<T> operator()(compute_t<T> product, compute_t<T>, std::int64_t row,
                                                 std::int64_t col) const {
    return detail::times_derivative(product, activation, load_as_register(value[row * row_stride + col]));
  }
};

/// The fused products of a device; specialize it to add some. Each takes one product, and a c with dense rows.
template <class D>
struct LinearFusion;

/// A device whose product also sums the rows of its left factor, in one launch.
///
///     LinearFusion<D>::gemm_and_sums(device, a, b, c, accumulate, sums, sum)
///
/// computes c = a b (+ c if `accumulate`) and sums[i] = sum over k of a(i, k). False, without effect, if the device
/// cannot, or if a separate product and sum(), which launches the computation of the sums, are faster.
template <class D>
concept SumsFactors = requires(D device, MatrixRef<const float> a, MatrixRef<float> c, void (*sum)()) {
  { LinearFusion<D>::gemm_and_sums(device, a, a, c, bool{}, c.data, sum) } -> std::same_as<bool>;
};

/// A device whose product with an activation keeps data for the activation's derivative, which its product with a
/// DerivativeEpilogue reads. The kept data have as many rows as c, of
///
///     LinearFusion<D>::template kept_columns<T>(activation, c.cols)
///
/// elements. That is 0 if no product applies the derivative, and always 0 unless
///
///     LinearFusion<D>::template keeps<T, Activation>
///
/// is true. If the derivative follows from the activation's input, the input is kept, at the beginning of each row.
///
///     LinearFusion<D>::gemm_and_keep(device, a, b, c, epilogue, kept)     c = activation(a b + bias)
///     LinearFusion<D>::gemm_and_column_sums(device, a, b, c, derivative_epilogue, sums, sum)
///
/// The latter also computes sums[j] = sum over i of c(i, j). Both return false, without effect, if the device cannot,
/// or if separate launches of the product, its epilogue, and sum(), which writes the sums, are faster.
template <class D>
concept KeepsForDerivatives =
    requires(D device, MatrixRef<const float> a, MatrixRef<float> c, void* kept,
             Epilogue<float, detail::ProbeActivation<float>> epilogue,
             DerivativeEpilogue<float, detail::ProbeActivation<float>> derivative, void (*sum)()) {
      { LinearFusion<D>::template keeps<float, detail::ProbeActivation<float>> } -> std::convertible_to<bool>;
      { LinearFusion<D>::template kept_columns<float>(epilogue.activation, c.cols) } -> std::same_as<std::int64_t>;
      { LinearFusion<D>::gemm_and_keep(device, a, a, c, epilogue, kept) } -> std::same_as<bool>;
      { LinearFusion<D>::gemm_and_column_sums(device, a, a, c, derivative, c.data, sum) } -> std::same_as<bool>;
    };

}}  // namespace locus::LOCUS_ABI
