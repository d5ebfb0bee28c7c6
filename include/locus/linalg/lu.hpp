#pragma once
// The LU factorization of matrices, which solve, inv and det use.

#include <locus/linalg/matrices.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// Factors of the transposed matrices: row-major memory is the transpose in column-major order.
template <class T, class D>
struct LuFactors {
  Tensor<T, D> factors;            ///< (..., n, n)
  Tensor<std::int32_t, D> pivots;  ///< (..., n)
};

struct OnlyNan {
  template <class R> LOCUS_FN R operator()(R x) const { return x == x ? R(0) : x; }
};
struct InfoUnlessNan {
  template <class R> LOCUS_FN std::int32_t operator()(std::int32_t info, R x) const { return x == x ? info : 0; }
};
/// For a device that does not find NaN: fills the diagonal of the factors with NaN in matrices that hold NaN, and
/// clears their info, so that they do not count as singular, as in LAPACK. Three launches.
template <class T, class D>
void restore_nan(const Tensor<T, D>& a, const LuFactors<T, D>& lu, const Tensor<std::int32_t, D>& info) {
  const Tensor<T, D> unknown(info.shape(), a.device());
  reduce_into(unknown, false, a.shape(), FoldedAxes("linalg", a.shape(), {-2, -1}),
              Apply<OnlyNan, Symbol<0>>{{}, {Symbol<0>{}}}, fold::Sum<T>{}, a);
  const Tensor<T, D> diagonal = lu.factors.diagonal(0, -2, -1);
  map_into(diagonal, functor::Add{}, diagonal, unknown.unsqueeze(-1));
  map_into(info, InfoUnlessNan{}, info, unknown);
}

/// Factors square matrices of any stride, in one copy of them. throws ShapeError
template <class T, class D>
[[nodiscard]] LuFactors<T, D> lu_factors(const char* name, const Tensor<T, D>& a, const Tensor<std::int32_t, D>& info) {
  LuFactors<T, D> lu{a.clone(), Tensor<std::int32_t, D>(per_matrix(a.shape(), a.size(-1)), a.device())};
  Factorization<D>::lu(a.device(), matrix_batch(name, a.shape()), lu.factors.data(), lu.pivots.data(), info.data());
  if constexpr (!Factorization<D>::finds_nan) restore_nan(a, lu, info);
  return lu;
}
/// The same of matrices that have an inverse. Waits for the device. throws NumericError naming matrix and pivot
template <class T, class D>
[[nodiscard]] LuFactors<T, D> regular_lu_factors(const char* name, const Tensor<T, D>& a) {
  const Tensor<std::int32_t, D> info(per_matrix(a.shape()), a.device());
  LuFactors<T, D> lu = lu_factors(name, a, info);
  if (!a.empty())
    require_no_info(info, [&](std::int64_t matrix, std::int32_t pivot) {
      fail<NumericError>({name, ": ", matrix_name(a.shape(), matrix), " is singular: pivot ", pivot - 1,
                          " is 0, so that row ", pivot - 1,
                          " follows from the rows before it; expected an inverse to exist: drop such rows, ",
                          "add a multiple of the identity, or use linalg::lstsq"});
    });
  return lu;
}

/// Replaces b, memory of shape (..., columns, n) with as many matrices as there are factors, by the solutions: of a x =
/// b for the factored a, or of a^T x = b.
template <class T, class D>
void lu_solve(const char* name, const LuFactors<T, D>& lu, bool transposed, const Tensor<T, D>& b) {
  if (b.empty()) return;
  const MatrixBatch batch = matrix_batch(name, lu.factors.shape());
  const std::int64_t columns = b.elements() / (batch.count * batch.rows);
  Factorization<D>::lu_solve(b.device(), batch, !transposed, lu.factors.data(), lu.pivots.data(),
                             factored_extent(name, columns), b.data());
}

/// The factors, broadcast to `batch`. A single matrix stays as it is: all right sides become its columns.
template <class T, class D>
[[nodiscard]] LuFactors<T, D> factors_for(const LuFactors<T, D>& lu, const Shape& batch) {
  if (elements(batch_shape(lu.factors.shape())) == 1) return lu;
  Shape vectors = batch, matrices = batch;
  vectors.push_back(-1);
  matrices.push_back(-1), matrices.push_back(-1);
  return {lu.factors.expand(matrices).contiguous(), lu.pivots.expand(vectors).contiguous()};
}

/// The batch of solutions of a x = right, for right sides as columns: given, or where that is a vector, its column.
/// throws ShapeError
[[nodiscard]] LOCUS_OUT_OF_LINE inline Shape solved_batch(const char* name, const Shape& a, const Shape& right,
                                                          const Shape& given, bool takes_vectors = false) {
  if (right.rank() < 2 || right[-2] != a[-1])
    fail<ShapeError>({name, ": matrices of shape ", a, " with right sides of shape ", given, "; expected ",
                      takes_vectors ? join("(", a[-1], ") or ") : "", "(..., ", a[-1], ", k)"});
  const Shape left = batch_shape(a), other = batch_shape(right);
  for (int i = 1; i <= left.rank() && i <= other.rank(); ++i)
    if (left[-i] != other[-i] && left[-i] != 1 && other[-i] != 1)
      fail<ShapeError>({name, ": ", left[-i], " matrices, of shape ", a, ", meet ", other[-i],
                        " right sides, of shape ", given,
                        "; batches broadcast only where their extents are equal or 1"});
  return broadcast(left, other);
}
/// The solutions as columns, which lie one after another in memory.
template <class T, class D>
[[nodiscard]] Tensor<T, D> solutions(const char* name, const LuFactors<T, D>& lu, bool transposed,
                                     const Tensor<T, D>& right, const Shape& batch) {
  Shape columns = batch;
  columns.push_back(right.size(-1));
  columns.push_back(right.size(-2));
  const Tensor<T, D> x = right.transpose().expand(columns).clone();
  lu_solve(name, lu, transposed, x);
  return x.transpose();
}

/// The identity for each matrix, dense.
template <class T, class D>
[[nodiscard]] Tensor<T, D> identities(const Tensor<T, D>& like) {
  Tensor<T, D> result(like.shape(), like.device());
  result.fill_(T(0));
  result.diagonal(0, -2, -1).fill_(T(1));
  return result;
}

}}}  // namespace locus::LOCUS_ABI::detail
