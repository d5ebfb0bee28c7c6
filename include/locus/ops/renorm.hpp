#pragma once
// Slices scaled down to a norm. Not part of locus/locus.hpp.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/norm.hpp>

namespace locus { inline namespace LOCUS_ABI {

/// Each slice along an axis scaled down to a norm of at most `most`: torch.renorm.
/// shape: as x     gradient: through the norm, too     cost: norm and a launch
/// throws IndexError; ArgumentError unless order is above 0 and `most` 0 or more
///
///     table = renorm(table, 2, 0, 1);   // rows of length 1 at most
template <detail::FloatingOperand X>
[[nodiscard]] auto renorm(const X& x, double order, int axis, double most) {
  using R = compute_t<value_of<X>>;
  const auto& given = x.eval();
  const int along = normalize_axis(axis, given.rank(), "renorm");
  if (!(order > 0)) fail<ArgumentError>({"renorm: order ", order, "; expected a number above 0"});
  if (!(most >= 0)) fail<ArgumentError>({"renorm: norms of at most ", most, "; expected 0 or more"});
  Axes others;
  for (int d = 0; d < given.rank(); ++d)
    if (d != along) others.push_back(d);
  // Of a list, each element is a slice, and its norm is its magnitude.
  using Norms = std::remove_cvref_t<decltype(norm(given, order, others, true))>;
  const Norms norms = others.empty() ? Norms(abs(given)) : norm(given, order, others, true);
  const R limit = static_cast<R>(most);
  return (given * where(norms > limit, limit / (norms + R(1e-7)), R(1))).eval();
}

#include <locus/refuse/ops/renorm.inc>

}}  // namespace locus::LOCUS_ABI
