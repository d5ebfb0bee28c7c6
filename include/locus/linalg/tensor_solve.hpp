#pragma once
// Linear equations of tensors of any rank. Not part of locus/locus.hpp; programs link with -llapack.

#include <locus/linalg/solve.hpp>
#include <locus/ops/view.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace linalg {

/// x of tensordot(a, x, x.rank()) = b: torch.linalg.tensorsolve, numpy.linalg.tensorsolve. `moved` dimensions of a go
/// to its end first. shape: a (b's extents..., x's extents...), with as many elements in both -> x     gradient, cost:
/// as solve throws ShapeError; IndexError; NumericError for a singular matrix
template <class A, class B>
  requires detail::MatrixOperands<A, B>
[[nodiscard]] auto tensorsolve(const A& a, const B& b, const Axes& moved = {}) {
  static constexpr const char* name = "linalg::tensorsolve";
  const int rank = a.shape().rank();
  Axes order, last;
  bool is_last[max_rank] = {};
  for (const auto axis : moved) {
    const int d = normalize_axis(axis, rank, name);
    last.push_back(d);
    is_last[d] = true;
  }
  for (int d = 0; d < rank; ++d)
    if (!is_last[d]) order.push_back(d);
  for (const auto d : last) order.push_back(d);
  const auto turned = permute(a, order);
  const Shape shape = turned.shape(), given = b.shape();
  Shape result;
  for (int d = given.rank(); d < rank; ++d) result.push_back(shape[d]);
  if (given.rank() > rank || elements(given) != elements(result) ||
      elements(shape) != elements(given) * elements(result))
    fail<ShapeError>({name, ": a of shape ", shape, " with b of shape ", given,
                      "; expected the extents of b in front, and as many elements in the others"});
  const std::int64_t n = elements(given);
  return reshape(solve(reshape(turned, {n, n}), reshape(b, {n})), result);
}

/// The inverse of tensordot with x: tensordot(tensorinv(x, count), b, count) is the x of tensorsolve.
/// shape: (m..., n...), where the first `count` extents m and the others n have as many elements -> (n..., m...)
/// gradient, cost: as inv     throws ShapeError; ArgumentError unless count is above 0; NumericError
template <detail::MatrixOperand X>
[[nodiscard]] auto tensorinv(const X& x, int count = 2) {
  static constexpr const char* name = "linalg::tensorinv";
  const Shape shape = x.shape();
  if (count <= 0 || count > shape.rank())
    fail<ArgumentError>({name, ": count ", count, " of a tensor of shape ", shape, "; expected 1 to its rank"});
  Shape first, result;
  for (int d = count; d < shape.rank(); ++d) result.push_back(shape[d]);
  const std::int64_t n = elements(result);
  for (int d = 0; d < count; ++d) first.push_back(shape[d]), result.push_back(shape[d]);
  if (elements(first) != n)
    fail<ShapeError>({name, ": shape ", shape, "; expected as many elements in its first ", count,
                      " extents, which have ", elements(first), ", as in the others, which have ", n});
  return reshape(inv(reshape(x, {n, n})), result);
}

#include <locus/refuse/linalg/tensor_solve.inc>

}}}  // namespace locus::LOCUS_ABI::linalg
