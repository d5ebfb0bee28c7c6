#pragma once
// Integer powers of matrices. Not part of locus/locus.hpp; programs link with -llapack.

#include <locus/linalg/solve.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace linalg {

/// The product of |n| factors x, or of as many inverses if n is negative; identities if n is 0:
/// torch.linalg.matrix_power, numpy.linalg.matrix_power. By repeated squaring.
/// shape: (..., n, n)     gradient: as of the products
/// cost:  up to 2 log2(n) products; of a negative n as inv, too
/// throws ShapeError; of a negative n NumericError for a singular matrix, naming it
template <detail::MatrixOperand X>
[[nodiscard]] auto matrix_power(const X& x, std::int64_t n) {
  const auto& given = x.eval();
  using Y = std::remove_cvref_t<decltype(matmul(given, given))>;
  detail::require_square("linalg::matrix_power", given.shape());
  if (n == 0) return Y(detail::identities(given.value().contiguous()));
  const auto as_result = [&] {
    if constexpr (std::is_same_v<Y, std::remove_cvref_t<decltype(given)>>) return given;
    else return Y(given.value());
  };
  Y square = n < 0 ? Y(inv(given)) : as_result(), result = square;
  bool is_empty = true;
  const std::uint64_t count = n < 0 ? -static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n);
  for (std::uint64_t rest = count; rest != 0; rest >>= 1) {
    if (rest & 1) result = is_empty ? square : Y(matmul(result, square)), is_empty = false;
    if (rest > 1) square = matmul(square, square);
  }
  return result;
}

#include <locus/refuse/linalg/matrix_power.inc>

}}}  // namespace locus::LOCUS_ABI::linalg
