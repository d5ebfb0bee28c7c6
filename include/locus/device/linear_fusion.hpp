#pragma once
// What a device may fuse with the products of linear layers, forward and backward. ops/linear.hpp asks for the concepts
// of this header; on a device without them a reduction or a map stands beside the product.

#include <locus/device/verbs.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
template <class F, class R>
concept DerivedByOutput = requires(const F& f, R y) { f.by_output(y); };
/// An adjoint times the derivative of an activation, from its output if that tells, or else from its input.
template <class F, class R>
[[nodiscard]] LOCUS_FN R times_derivative(R adjoint, const F& f, R value) {
  if constexpr (DerivedByOutput<F, R>) return times_slope<F>(adjoint, f.by_output(value));
  else return times_slope<F>(adjoint, f.by_input(value));
}
}  // namespace detail

/// The epilogue of the product that is the gradient of y = activation(z): c = product * activation'(z), the gradient of
/// z.
template <class T, class Activation>
struct DerivativeEpilogue {
  Activation activation;
  const T* value;  ///< y or z, whichever the derivative is a function of: a matrix like c with dense rows
  std::int64_t row_stride;
  const void* kept = nullptr;  ///< what a device that KeepsForDerivatives kept of z

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

/// The fused products of a device; specialize it to add one, or several. All take one product, and a c with dense rows.
template <class D>
struct LinearFusion;

/// A device whose product also sums the rows of its left factor, in one launch.
///
///     LinearFusion<D>::gemm_and_sums(device, a, b, c, accumulate, sums, sum)
///
/// makes c = a b (+ c where `accumulate`) and sums[i] = sum over k of a(i, k). False, and then nothing happened, where
/// it cannot, or where the product alone and sum(), which launches what writes the sums, are faster.
template <class D>
concept SumsFactors = requires(D device, MatrixRef<const float> a, MatrixRef<float> c, void (*sum)()) {
  { LinearFusion<D>::gemm_and_sums(device, a, a, c, bool{}, c.data, sum) } -> std::same_as<bool>;
};

/// A device whose product with an activation keeps what the activation's derivative needs, and whose product with a
/// DerivativeEpilogue reads that. What it keeps has as many rows as c, of
///
///     LinearFusion<D>::template kept_columns<T>(activation, c.cols)
///
/// elements, 0 where products apply no such derivative: always, unless
///
///     LinearFusion<D>::template keeps<T, Activation>
///
/// Where the derivative follows from the activation's input, that is what is kept, at the beginning of each row.
///
///     LinearFusion<D>::gemm_and_keep(device, a, b, c, epilogue, kept)     c = activation(a b + bias)
///     LinearFusion<D>::gemm_and_column_sums(device, a, b, c, derivative_epilogue, sums, sum)
///
/// The latter also makes sums[j] = sum over i of c(i, j). False, and then nothing happened, where it cannot, or where
/// separate launches are faster: of the product, of its epilogue, and of sum(), which writes the sums.
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
