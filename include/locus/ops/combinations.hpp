#pragma once
// Products and combinations of the elements of lists, and matrices along a diagonal. Not part of locus/locus.hpp.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/index.hpp>
#include <locus/ops/join.hpp>
#include <locus/ops/pad.hpp>
#include <locus/ops/repeat.hpp>
#include <locus/tensor/from.hpp>

#include <cstdint>
#include <vector>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

/// The positions of all combinations of r of n elements, in lexicographic order. throws ArgumentError
[[nodiscard]] LOCUS_OUT_OF_LINE inline std::vector<std::int64_t> positions_of_combinations(std::int64_t n, int r,
                                                                                           bool repeats) {
  if (r < 0) fail<ArgumentError>({"combinations: of ", r, " elements; expected 0 or more"});
  std::vector<std::int64_t> all, chosen(static_cast<std::size_t>(r));
  const auto width = static_cast<std::int64_t>(r);
  const auto first_of_rest = [&](std::int64_t i, std::int64_t value) {
    for (std::int64_t k = i; k < width; ++k) chosen[static_cast<std::size_t>(k)] = repeats ? value : value + k - i;
  };
  const auto last = [&](std::int64_t i) { return repeats ? n - 1 : n - width + i; };
  first_of_rest(0, 0);
  if (width > 0 && (n == 0 || (!repeats && width > n))) return all;
  for (;;) {
    all.insert(all.end(), chosen.begin(), chosen.end());
    std::int64_t i = width - 1;
    while (i >= 0 && chosen[static_cast<std::size_t>(i)] == last(i)) --i;
    if (i < 0) return all;
    first_of_rest(i, chosen[static_cast<std::size_t>(i)] + 1);
  }
}

}  // namespace detail

/// All combinations of r elements of a list: torch.combinations, itertools.combinations. With `repeats`, an element may
/// stand more than once.
/// shape: (n) -> (count, r)     gradient: as index_select
/// cost:  the host lists the positions; a copy of them and a launch
/// throws ShapeError unless x has one dimension; ArgumentError for a negative r
template <detail::Operand X>
[[nodiscard]] auto combinations(const X& x, int r = 2, bool repeats = false) {
  if (x.shape().rank() != 1)
    fail<ShapeError>({"combinations: shape ", x.shape(), "; expected a list, with one dimension"});
  const auto positions = detail::positions_of_combinations(x.shape()[0], r, repeats);
  const auto count = static_cast<std::int64_t>(positions.size());
  return reshape(index_select(x, 0, from(positions, {count}, x.device())), {r == 0 ? 0 : count / r, r});
}

/// All tuples of one element of each list, the last list fastest: torch.cartesian_prod, itertools.product.
/// shape: (m), (n), ... -> (m n ..., number of lists)     gradient: g, added up over the tuples     cost: as stack
/// throws ShapeError unless each has one dimension, or none
template <class X, class... Rest>
  requires detail::Joinable<X, Rest...>
[[nodiscard]] auto cartesian_prod(const X& first, const Rest&... rest) {
  const auto mesh = meshgrid(first, rest...);
  using Y = std::remove_cvref_t<decltype(reshape(mesh[0], {inferred}))>;
  std::vector<Y> columns;
  for (const auto& each : mesh) columns.push_back(reshape(each, {elements(each.shape())}));
  return stack(columns, 1);
}

/// A matrix with these matrices along its diagonal, 0 elsewhere: torch.block_diag, scipy.linalg.block_diag. A vector is
/// a matrix of one row, a scalar of one element.
/// shape: (m, n), (p, q), ... -> (m + p + ..., n + q + ...)     gradient: the block of g
/// cost:  a launch for each block, and concat     throws ShapeError for more than two dimensions; ArgumentError for
/// none
template <class X>
  requires detail::Joinable<X>
[[nodiscard]] X block_diag(const std::vector<X>& blocks) {
  if (blocks.empty()) fail<ArgumentError>({"block_diag: no matrices; expected at least one"});
  std::vector<X> matrices;
  std::int64_t columns = 0, before = 0;
  for (const X& block : blocks) {
    if (block.rank() > 2) fail<ShapeError>({"block_diag: a block of shape ", block.shape(), "; expected a matrix"});
    matrices.push_back(block.rank() == 2 ? block : X(reshape(block, {1, block.elements()})));
    columns += matrices.back().size(1);
  }
  for (X& matrix : matrices) {
    const std::int64_t own = matrix.size(1);
    matrix = pad(matrix, {before, columns - before - own});
    before += own;
  }
  return concat(matrices, 0);
}

#include <locus/refuse/ops/combinations.inc>

}}  // namespace locus::LOCUS_ABI
