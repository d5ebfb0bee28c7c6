#pragma once
// Orthogonal initial values.

#include <locus/nn/init.hpp>
#include <locus/ops/matmul.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn::init {

namespace detail {
/// Makes neighbouring rows orthonormal, by the modified method of Gram and Schmidt.
template <class T>
void orthonormalize_rows(T* rows, std::int64_t count, std::int64_t length) {
  const auto product = [length](const T* a, const T* b) {
    T sum = 0;
    for (std::int64_t k = 0; k < length; ++k) sum += a[k] * b[k];
    return sum;
  };
  for (std::int64_t i = 0; i < count; ++i) {
    T* const row = rows + i * length;
    for (std::int64_t j = 0; j < i; ++j) {
      const T* const other = rows + j * length;
      const T share = product(row, other);
      for (std::int64_t k = 0; k < length; ++k) row[k] -= share * other[k];
    }
    const T scale = 1 / math::sqrt(product(row, row));
    for (std::int64_t k = 0; k < length; ++k) row[k] *= scale;
  }
}
/// Makes the rows of a matrix with no more rows than columns orthonormal, 32 at a time: products subtract their
/// projections on all earlier rows. Each panel is treated twice, after which rows are orthogonal to the last digits
/// (Giraud et al., 2005).
template <class T>
void orthonormalize(const Tensor<T, Cpu>& matrix) {
  constexpr std::int64_t rows_at_once = 32;
  for (std::int64_t first = 0; first < matrix.size(0); first += rows_at_once) {
    const std::int64_t last = locus::detail::smaller(first + rows_at_once, matrix.size(0));
    const Tensor<T, Cpu> done = matrix.slice(0, 0, first), panel = matrix.slice(0, first, last);
    for (int round = 0; round < 2; ++round) {
      if (first > 0) panel.copy_(panel - matmul(matmul(panel, done.transpose()), done));
      orthonormalize_rows(panel.data(), last - first, matrix.size(1));
    }
  }
}
}  // namespace detail

/// gain times a uniformly distributed orthogonal matrix (Saxe et al., 2013) of shape (size(0), the rest): its rows are
/// orthonormal, or its columns if it has more rows. Computed on the host, in double.
/// cost: 2 m n k multiplications where k is the smaller of m and n, and a copy to the device
/// throws ShapeError for a weight of fewer than two dimensions, ArgumentError for a gain that is negative or not finite
template <detail::Fillable W>
const W& orthogonal_(const W& weight, double gain = 1) {
  using T = value_of<W>;
  using D = device_of<W>;
  locus::detail::require_not_negative("orthogonal_", "gain", gain);
  const Shape shape = weight.shape();
  if (shape.rank() < 2) fail<ShapeError>({"orthogonal_: expected a weight of two or more dimensions, got ", shape});
  if (elements(shape) == 0) return weight;
  if (!detail::draws) return zeros_(weight);
  const std::int64_t rows = shape[0], columns = elements(shape) / rows;
  const auto numbers = locus::detail::draw_from_default<D>(rows * columns);
  Generator<Cpu> generator{numbers.seed, numbers.offset};
  const Tensor<double, Cpu> matrix =
      randn<double, Cpu>({locus::detail::smaller(rows, columns), locus::detail::larger(rows, columns)}, generator);
  detail::orthonormalize(matrix);
  const Tensor<double, Cpu> scaled = (rows <= columns ? matrix : matrix.transpose().contiguous()) * gain;
  weight.value().copy_(scaled.template as<T>().reshape(shape).template to<D>(weight.device()));
  return weight;
}

#include <locus/refuse/nn/orthogonal.inc>

}}}  // namespace locus::LOCUS_ABI::nn::init
