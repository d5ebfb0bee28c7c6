#pragma once
// How the ranks along an axis divide a parameter: for files, which have the whole.

#include <locus/distributed/spread/ranks.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

/// How the ranks along A divide a member of a layer, which lists it so: visit("weight", weight, Divided<A>{.dim = 0}).
/// Rank r of n has the elements from extent * r / n to extent * (r + 1) / n.
template <class A>
struct Divided {
  using axis = A;
  int dim = 0;                 ///< the dimension of which each rank has a part
  std::int64_t blocks = 1;     ///< it consists of so many blocks of one extent, of each of which a rank has a part
  bool is_transposed = false;  ///< whether files have the transposed matrix
};

namespace detail {

/// x as (extent of dim within a block, ...), with the blocks among the other dimensions. A view.
template <class T, class D>
[[nodiscard]] Tensor<T, D> with_extent_first(const Tensor<T, D>& x, int dim, std::int64_t blocks) {
  Shape shape = x.shape();
  shape[dim] /= blocks;
  shape.insert(dim, blocks);
  return x.reshape(shape).transpose(0, dim + 1);
}
/// The other way.
template <class T, class D>
[[nodiscard]] Tensor<T, D> with_extent_at(const Tensor<T, D>& x, int dim) {
  const Tensor<T, D> split = x.transpose(0, dim + 1).contiguous();
  Shape shape = split.shape();
  const std::int64_t blocks = shape[dim];
  shape.erase(dim);
  shape[dim] *= blocks;
  return split.reshape(shape);
}

/// This rank's part of the whole, or none, without elements, where it has no such dimension or blocks.
template <class A, class T, class D>
[[nodiscard]] Tensor<T, D> part_of(const Ranks<A, D>& ranks, const Tensor<T, D>& whole, const Divided<A>& how) {
  if (how.dim >= whole.rank() || whole.size(how.dim) % how.blocks != 0) return {};
  const auto first = with_extent_first(whole, how.dim, how.blocks);
  const std::int64_t extent = first.size(0), rank = ranks.rank(), size = ranks.size();
  return with_extent_at(first.slice(0, extent * rank / size, extent * (rank + 1) / size), how.dim);
}
/// The whole of the ranks' parts, whose extents may differ. Two collectives.
template <class A, class T, class D>
[[nodiscard]] Tensor<T, D> whole_of(const Ranks<A, D>& ranks, const Tensor<T, D>& part, const Divided<A>& how) {
  const auto first = with_extent_first(part, how.dim, how.blocks).contiguous();
  const Tensor<std::int64_t, D> mine({}, part.device());
  const auto extents = ranks.communicator().all_gather(mine.fill_(first.size(0))).template to<Cpu>();
  std::int64_t most = 0, all = 0;
  for (int rank = 0; rank < ranks.size(); ++rank) {
    all += extents(rank);
    if (extents(rank) > most) most = extents(rank);
  }
  Shape shape = first.shape();
  shape[0] = most;
  const Tensor<T, D> padded = zeros<T>(shape, part.device());
  padded.slice(0, 0, first.size(0)).copy_(first);
  const Tensor<T, D> gathered = ranks.communicator().all_gather(padded);
  shape[0] = all;
  const Tensor<T, D> whole(shape, part.device());
  std::int64_t begin = 0;
  for (int rank = 0; rank < ranks.size(); begin += extents(rank++))
    whole.slice(0, begin, begin + extents(rank)).copy_(gathered.select(0, rank).slice(0, 0, extents(rank)));
  return with_extent_at(whole, how.dim);
}

}  // namespace detail

}}}  // namespace locus::LOCUS_ABI::dist
