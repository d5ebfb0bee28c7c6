#pragma once
// Products of many matrices, and matrices of powers. Not part of locus/locus.hpp, but without LAPACK.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/cumulative.hpp>
#include <locus/ops/join.hpp>
#include <locus/ops/matmul.hpp>
#include <locus/ops/view.hpp>

#include <limits>
#include <vector>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

/// Where the chain of matrices from `first` to `last` is cut for the fewest multiplications: extents[i] and
/// extents[i + 1] are the rows and columns of matrix i.
class ChainCuts {
 public:
  explicit ChainCuts(const std::vector<std::int64_t>& extents)
      : n_(extents.size() - 1), costs_(n_ * n_, 0.), cuts_(n_ * n_, 0) {
    for (std::size_t length = 1; length < n_; ++length)
      for (std::size_t i = 0; i + length < n_; ++i) choose(extents, i, i + length);
  }
  [[nodiscard]] std::size_t cut(std::size_t first, std::size_t last) const { return cuts_[first * n_ + last]; }

 private:
  void choose(const std::vector<std::int64_t>& extents, std::size_t first, std::size_t last) {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t k = first; k < last; ++k) {
      const double own = static_cast<double>(extents[first]) * static_cast<double>(extents[k + 1]) *
                         static_cast<double>(extents[last + 1]);
      const double cost = costs_[first * n_ + k] + costs_[(k + 1) * n_ + last] + own;
      if (cost < least) least = cost, cuts_[first * n_ + last] = k;
    }
    costs_[first * n_ + last] = least;
  }

  std::size_t n_;
  std::vector<double> costs_;
  std::vector<std::size_t> cuts_;
};

template <class Y>
[[nodiscard]] Y chain_product(const std::vector<Y>& factors, const ChainCuts& cuts, std::size_t first,
                              std::size_t last) {
  if (first == last) return factors[first];
  const std::size_t k = cuts.cut(first, last);
  return matmul(chain_product(factors, cuts, first, k), chain_product(factors, cuts, k + 1, last));
}

}  // namespace detail

namespace linalg {

/// The product of matrices in the order of fewest multiplications: torch.linalg.multi_dot, numpy.linalg.multi_dot. The
/// first and the last one may be vectors.
/// shape: (n0, n1), (n1, n2), ... -> (n0, nk); a vector's dimension is absent from the result
/// gradient: as of the products     cost: one product less than there are matrices
/// throws ArgumentError for an empty list; ShapeError naming the pair that does not fit
///
///     auto y = linalg::multi_dot(std::vector{a, b, c, v});
template <detail::FloatingOperand X>
[[nodiscard]] X multi_dot(const std::vector<X>& factors) {
  static constexpr const char* name = "linalg::multi_dot";
  if (factors.empty()) fail<ArgumentError>({name, ": an empty list; expected one matrix or more"});
  std::vector<X> matrices = factors;
  const bool from_vector = factors.front().rank() == 1, to_vector = factors.back().rank() == 1;
  if (factors.size() == 1) return matrices[0];
  if (from_vector) matrices.front() = unsqueeze(factors.front(), 0);
  if (to_vector) matrices.back() = unsqueeze(factors.back(), 1);
  std::vector<std::int64_t> extents;
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    if (matrices[i].rank() != 2)
      fail<ShapeError>({name, ": factor ", i, " of shape ", factors[i].shape(),
                        "; expected matrices, or a vector as the first or last factor"});
    if (i > 0 && matrices[i].size(0) != matrices[i - 1].size(1))
      fail<ShapeError>({name, ": factors ", i - 1, " and ", i, " of shapes ", factors[i - 1].shape(), " and ",
                        factors[i].shape(), "; expected as many columns as the next one has rows"});
    extents.push_back(matrices[i].size(0));
  }
  extents.push_back(matrices.back().size(1));
  X product = detail::chain_product(matrices, detail::ChainCuts(extents), 0, matrices.size() - 1);
  if (to_vector) product = squeeze(product, 1);
  return from_vector ? X(squeeze(product, 0)) : product;
}

/// Powers 0 to n - 1 of each element: torch.linalg.vander. numpy.vander counts down: flip(vander(x), -1).
/// shape: (..., m) -> (..., m, n)     gradient: as of cumprod     cost: as cumprod and two launches
/// throws ArgumentError for n below 0; ShapeError for a scalar
template <detail::FloatingOperand X>
[[nodiscard]] auto vander(const X& x, std::int64_t n) {
  using Y = std::remove_cvref_t<decltype(cumprod(x.eval(), -1))>;
  const auto& given = x.eval();
  if (given.rank() == 0) fail<ShapeError>({"linalg::vander: a scalar; expected (..., m)"});
  if (n < 0) fail<ArgumentError>({"linalg::vander: ", n, " powers; expected 0 or more"});
  Shape shape = given.shape();
  shape.push_back(n < 1 ? 0 : n - 1);
  const auto repeated = expand(unsqueeze(given, -1), shape);
  if (n == 0) return Y(cumprod(repeated, -1));
  shape[-1] = 1;
  return Y(concat(-1, ones<value_of<X>>(shape, given.device()), cumprod(repeated, -1)));
}
/// As many powers as elements.
template <detail::FloatingOperand X>
[[nodiscard]] auto vander(const X& x) {
  if (x.shape().rank() == 0) fail<ShapeError>({"linalg::vander: a scalar; expected (..., m)"});
  return vander(x, x.shape()[-1]);
}

#include <locus/refuse/linalg/multi_dot.inc>

}  // namespace linalg

}}  // namespace locus::LOCUS_ABI
