#pragma once
// Norms of matrices. Not part of locus/locus.hpp; programs link with -llapack.

#include <locus/linalg/svd.hpp>
#include <locus/ops/extreme.hpp>
#include <locus/ops/norm.hpp>

#include <limits>
#include <string_view>

namespace locus { inline namespace LOCUS_ABI {

namespace linalg {

/// Which norm: "fro" or "nuc", 1, 2 or infinity, or -1, -2 or -infinity.
class MatrixNorm {
 public:
  enum Kind { frobenius, nuclear, column_sum, row_sum, singular_value };

  MatrixNorm(const char* name) : MatrixNorm(std::string_view(name)) {}
  MatrixNorm(std::string_view name) : kind_(name == "nuc" ? nuclear : frobenius) {
    if (name != "fro" && name != "nuc")
      fail<ArgumentError>({"linalg::matrix_norm: \"", name, R"("; expected "fro" or "nuc", 1, 2 or infinity)"});
  }
  template <class N>
    requires std::is_arithmetic_v<N>
  MatrixNorm(N order) : MatrixNorm(Order{static_cast<double>(order)}) {}

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] bool is_least() const { return is_least_; }

 private:
  struct Order {
    double number;
  };
  explicit MatrixNorm(Order order) : is_least_(order.number < 0) {
    const double magnitude = is_least_ ? -order.number : order.number;
    if (magnitude == 1) kind_ = column_sum;
    else if (magnitude == 2) kind_ = singular_value;
    else if (magnitude == std::numeric_limits<double>::infinity()) kind_ = row_sum;
    else
      fail<ArgumentError>(
          {"linalg::matrix_norm: order ", order.number, R"(; expected 1, 2 or infinity, of any sign, "fro" or "nuc")"});
  }
  Kind kind_;
  bool is_least_ = false;
};

}  // namespace linalg

namespace operation {

/// The sum of singular values, or one of them.
struct SingularValueNorm {
  static constexpr const char* name = "linalg::matrix_norm";
  bool sums, is_least;

  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    const auto [u, s, vh] = detail::singular(name, x, true, false);
    if (sums) return Forwarded{Tensor<T, D>(sum(s, -1)), Tuple(u, vh)};
    const std::int64_t k = s.size(-1);
    if (k == 0) fail<ShapeError>({name, ": shape ", x.shape(), "; expected one row and column or more"});
    const std::int64_t which = is_least ? k - 1 : 0;
    return Forwarded{s.select(-1, which), Tuple(u.slice(-1, which, which + 1), vh.slice(-2, which, which + 1))};
  }
  template <class T, class D>
  void backward(const Tuple<Tensor<T, D>, Tensor<T, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    const auto& [u, vh] = saved;
    const Tensor<T, D> scaled = u * g.unsqueeze(-1).unsqueeze(-1);
    detail::multiply_to(dx, dx.shape(), scaled, vh);
  }
};

}  // namespace operation

namespace linalg {

/// A norm of each matrix: torch.linalg.matrix_norm. "fro" is the root of the sum of squares; 1 the largest sum of
/// magnitudes of a column, infinity of a row, 2 the largest singular value; -1, -infinity and -2 the least of them;
/// "nuc" the sum of singular values.
/// shape:    (..., m, n) -> (...)
/// gradient: as norm, sum and max; of a singular value g u v^T, and of the sum of all g u vh
/// cost:     one or two launches; of singular values as svd
/// throws ArgumentError for another norm; ShapeError, also if there are no elements to take the largest of; of singular
/// values as svd
///
///     linalg::matrix_norm(x), linalg::matrix_norm(x, 1), linalg::matrix_norm(x, "nuc")
template <detail::MatrixOperand X>
[[nodiscard]] auto matrix_norm(const X& given, const MatrixNorm& which = "fro") {
  const auto& x = given.eval();
  detail::require_matrices("linalg::matrix_norm", x.shape());
  using Result = std::remove_cvref_t<decltype(norm(x, 2, {-2, -1}))>;
  const auto extreme = [&](int summed, int rest) -> Result {
    const Result sums = sum(abs(x), summed, true);
    return which.is_least() ? min(sums, {summed, rest}) : max(sums, {summed, rest});
  };
  switch (which.kind()) {
    case MatrixNorm::frobenius: return Result(norm(x, 2, {-2, -1}));
    case MatrixNorm::column_sum: return extreme(-2, -1);
    case MatrixNorm::row_sum: return extreme(-1, -2);
    default:
      return Result(apply(operation::SingularValueNorm{which.kind() == MatrixNorm::nuclear, which.is_least()}, x));
  }
}

#include <locus/refuse/linalg/matrix_norm.inc>

}  // namespace linalg

}}  // namespace locus::LOCUS_ABI
