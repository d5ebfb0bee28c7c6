#pragma once
// Common parts of functions of matrices: the operands that they take, matrices of any stride as a device's
// factorizations take them, and errors that name a matrix of a batch.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/cpu/factorization.hpp>
#include <locus/cuda/factorization.hpp>
#include <locus/ops/matmul.hpp>
#include <locus/ops/reduce.hpp>

#include <limits>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

#include <locus/refuse/linalg/matrices_mistakes.inc>

/// A tensor of matrices of float or double, where there are factorizations.
template <class X>
concept MatrixOperand = TensorLike<X> && IsWrong<MatrixMistake<X>, Wrong::nothing> && FactorizingDevice<device_of<X>>;
/// The same, without a gradient.
template <class X>
concept PlainMatrixOperand = MatrixOperand<X> && IsWrong<PlainMatrixMistake<X>, Wrong::nothing>;
/// Two matrix operands that fit together.
template <class A, class B>
concept MatrixOperands =
    TensorLike<A> && TensorLike<B> && IsWrong<MatricesMistake<A, B>, Wrong::nothing> && FactorizingDevice<device_of<A>>;

/// An extent as LAPACK and cuSOLVER take it. throws ShapeError where it is too large for them
[[nodiscard]] LOCUS_OUT_OF_LINE inline int factored_extent(const char* name, std::int64_t extent) {
  if (extent > INT32_MAX) fail<ShapeError>({name, ": ", extent, " rows or columns; expected fewer than 2^31"});
  return static_cast<int>(extent);
}

/// Matrices in the last two dimensions, as a factorization reads their dense memory: rows is the last extent, so that a
/// row-major matrix is the transposed one in column-major order.
[[nodiscard]] LOCUS_OUT_OF_LINE inline MatrixBatch matrix_batch(const char* name, const Shape& memory) {
  return {elements(batch_shape(memory)), factored_extent(name, memory[-1]), factored_extent(name, memory[-2])};
}

/// throws ShapeError
LOCUS_OUT_OF_LINE inline void require_matrices(const char* name, const Shape& shape) {
  if (shape.rank() < 2) fail<ShapeError>({name, ": shape ", shape, "; expected matrices, (..., rows, cols)"});
}
LOCUS_OUT_OF_LINE inline void require_square(const char* name, const Shape& shape) {
  if (shape.rank() < 2 || shape[-1] != shape[-2])
    fail<ShapeError>({name, ": shape ", shape, "; expected square matrices, (..., n, n)"});
}

/// The shape of one number, or of `extent` numbers, for each matrix.
[[nodiscard]] LOCUS_OUT_OF_LINE inline Shape per_matrix(const Shape& shape) { return batch_shape(shape); }
[[nodiscard]] LOCUS_OUT_OF_LINE inline Shape per_matrix(const Shape& shape, std::int64_t extent) {
  Shape result = batch_shape(shape);
  result.push_back(extent);
  return result;
}
[[nodiscard]] LOCUS_OUT_OF_LINE inline Shape per_matrix(const Shape& shape, std::int64_t rows, std::int64_t cols) {
  Shape result = per_matrix(shape, rows);
  result.push_back(cols);
  return result;
}

/// The name of a matrix of a batch in errors: "the matrix", or "matrix (1, 0) of the batch".
[[nodiscard]] LOCUS_COLD inline std::string matrix_name(const Shape& shape, std::int64_t matrix) {
  const Shape batch = batch_shape(shape);
  if (batch.rank() == 0) return join("the matrix of shape ", shape);
  Dims index = Dims::filled(batch.rank(), 0);
  for (int d = batch.rank(); d-- > 0; matrix /= batch[d]) index[d] = matrix % batch[d];
  return join("matrix ", Shape(index), " of the batch of shape ", shape);
}

/// Calls refuse(matrix, info) for the first matrix whose info is not 0. Waits for the device.
template <class D, class F>
void require_no_info(const Tensor<std::int32_t, D>& info, const F& refuse) {
  const Tensor<std::int32_t, Cpu> answers = info.template to<Cpu>();
  for (std::int64_t i = 0; i < answers.elements(); ++i)
    if (answers.data()[i] != 0) refuse(i, answers.data()[i]);
}

/// Iterations over NaN may not end. Waits for the device.
/// cost: one launch
/// throws NumericError naming the first matrix that holds NaN or infinity
template <class T, class D>
void require_finite_matrices(const char* name, const Tensor<T, D>& x) {
  const Tensor<T, Cpu> sums = Tensor<T, D>(sum(x - x, {-2, -1})).template to<Cpu>();
  for (std::int64_t i = 0; i < sums.elements(); ++i)
    if (sums.data()[i] != 0)
      fail<NumericError>({name, ": ", matrix_name(x.shape(), i),
                          " holds NaN or infinity; expected finite numbers: look with isfinite where they come from"});
}
/// throws NumericError for an iteration that did not converge
template <class D>
void require_convergence(const char* name, const Shape& shape, const Tensor<std::int32_t, D>& info) {
  require_no_info(info, [&](std::int64_t matrix, std::int32_t) {
    fail<NumericError>({name, ": ", matrix_name(shape, matrix),
                        ": the iteration did not converge; scale the matrix, or compute in double"});
  });
}

/// A copy whose memory has each matrix in column-major order: its last two dimensions are exchanged.
template <class T, class D>
[[nodiscard]] Tensor<T, D> column_major(const Tensor<T, D>& x) {
  return x.transpose().clone();
}

/// values(j) - values(i) in row i and column j; infinite where i = j.
template <class T, class D>
[[nodiscard]] Tensor<T, D> gaps(const Tensor<T, D>& values) {
  const Tensor<T, D> result = values.unsqueeze(-2) - values.unsqueeze(-1);
  result.diagonal(0, -2, -1).fill_(std::numeric_limits<T>::infinity());
  return result;
}

}}}  // namespace locus::LOCUS_ABI::detail
