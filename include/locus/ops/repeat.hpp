#pragma once
// Tensors repeated as a whole (tile, repeat) or element by element (repeat_interleave), and grids of coordinates.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/extreme.hpp>
#include <locus/ops/index.hpp>
#include <locus/ops/join.hpp>
#include <locus/ops/scan.hpp>
#include <locus/ops/search.hpp>
#include <locus/tensor/from.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
/// throws ArgumentError
LOCUS_OUT_OF_LINE inline std::int64_t repeated_extent(const char* caller, std::int64_t extent, std::int64_t times) {
  std::int64_t result = 0;
  if (times < 0 || __builtin_mul_overflow(extent, times, &result))
    fail<ArgumentError>({caller, ": ", times, " times an extent of ", extent, "; expected 0 to 2^63 - 1 elements"});
  return result;
}

/// The shape, with ones before it up to the number of dimensions to repeat. throws ArgumentError
[[nodiscard]] LOCUS_OUT_OF_LINE inline Shape shape_to_repeat(const char* caller, const Shape& shape,
                                                             const Shape& times) {
  Shape result = shape;
  while (result.rank() < times.rank()) result.insert(0, 1);
  for (int d = -1; d >= -times.rank(); --d) (void)repeated_extent(caller, result[d], times[d]);
  return result;
}

/// A view with each repeated dimension as two, (times, extent), and the shape that merges them again.
struct Repetition {
  Shape view, expanded, merged;
  void add(std::int64_t times, std::int64_t extent) {
    if (times != 1 && extent != 1) view.push_back(1), expanded.push_back(times), times = 1;
    view.push_back(extent);
    expanded.push_back(times * extent);
  }
  /// For all dimensions. `times` counts from the last one. False if the divided dimensions would be too many at once.
  [[nodiscard]] LOCUS_OUT_OF_LINE bool all(const Shape& shape, const Shape& times) {
    int divided = 0;
    for (int d = 1; d <= times.rank(); ++d) divided += times[-d] != 1 && shape[-d] != 1;
    if (shape.rank() + divided > max_rank) return false;
    merged = shape;
    for (int d = 0; d < shape.rank(); ++d) {
      const std::int64_t n = d < shape.rank() - times.rank() ? 1 : times[d - shape.rank()];
      add(n, shape[d]);
      merged[d] *= n;
    }
    return true;
  }
  /// For one dimension; the others are merged around it.
  [[nodiscard]] LOCUS_OUT_OF_LINE static Repetition one(const Shape& shape, std::int64_t times, int dim) {
    const RowCount count(shape, dim);
    Repetition r{{count.outer, 1, count.cols * count.inner}, {count.outer, times, count.cols * count.inner}, shape};
    r.merged[dim] *= times;
    return r;
  }
};
template <class X>
[[nodiscard]] auto repeated(const char* caller, const X& x, const Shape& times) {
  auto result = reshape(x, shape_to_repeat(caller, x.shape(), times));
  const auto as_divided = [&](const Repetition& r) {
    result = reshape(expand(reshape(result, r.view), r.expanded), r.merged);
  };
  Repetition r;
  if (r.all(result.shape(), times)) {
    as_divided(r);
  } else {
    for (int d = -1; d >= -times.rank(); --d)
      if (times[d] != 1) as_divided(r.one(result.shape(), times[d], result.shape().rank() + d));
  }
  return result;
}
}  // namespace detail

/// x repeated along its dimensions: numpy.tile, Tensor.repeat. `times` counts from the last dimension; with more
/// numbers than dimensions, the first ones make new dimensions.
/// shape: (..., n) -> (..., n * times)     gradient: g, added up over the repetitions
/// cost:  one launch, none where only extents of 1 are repeated, which is a view; backward one. One for each dimension
///        that is repeated where these and all dimensions are more than eight together
/// throws ArgumentError for a negative number, and for extents of 2^63 and more
///
///     tile(from({1, 2}), {2, 2});   // (2, 4)
template <detail::Viewable X>
[[nodiscard]] auto tile(const X& x, const Shape& times) {
  return detail::repeated("tile", x, times);
}
/// Along the last dimension alone: tile(x, 2).
template <detail::Viewable X, std::integral N>
[[nodiscard]] auto tile(const X& x, N times) {
  return tile(x, Shape{static_cast<std::int64_t>(times)});
}
/// The same under PyTorch's name. NumPy's repeat is repeat_interleave.
template <detail::Viewable X>
[[nodiscard]] auto repeat(const X& x, const Shape& times) {
  return detail::repeated("repeat", x, times);
}
template <detail::Viewable X, std::integral N>
[[nodiscard]] auto repeat(const X& x, N times) {
  return repeat(x, Shape{static_cast<std::int64_t>(times)});
}

/// Each element along a dimension `times` times, one after the other: numpy.repeat.
/// shape: (..., n, ...) -> (..., n * times, ...)     gradient: g, added up over the repetitions
/// cost:  one launch; backward one     throws as tile
template <detail::Viewable X>
[[nodiscard]] auto repeat_interleave(const X& x, std::int64_t times, int dim) {
  const int along = normalize_axis(dim, x.shape().rank(), "repeat_interleave");
  Shape repeated = x.shape(), merged = x.shape();
  repeated.insert(along + 1, times);
  merged[along] = detail::repeated_extent("repeat_interleave", merged[along], times);
  return reshape(expand(unsqueeze(x, along + 1), repeated), merged);
}
/// Repeats all elements, in row-major order.
template <detail::Viewable X>
[[nodiscard]] auto repeat_interleave(const X& x, std::int64_t times) {
  return repeat_interleave(reshape(x, {inferred}), times, 0);
}

namespace detail {
/// throws ShapeError unless there is a count for each element, or one for all
LOCUS_OUT_OF_LINE inline void require_counts(const Shape& counts, std::int64_t extent) {
  if (counts.rank() > 1 || (elements(counts) != extent && elements(counts) != 1))
    fail<ShapeError>({"repeat_interleave: counts of shape ", counts, " for an extent of ", extent,
                      "; expected one count for each element, or one for all"});
}
/// The end of the repetitions of each element. throws as require_counts; ArgumentError for a negative count, and for
/// 2^63 elements and more
template <class C>
[[nodiscard]] std::vector<std::int64_t> ends_of_repeats(const C& counts, std::int64_t extent) {
  const auto* const count = counts.data();
  require_counts({static_cast<std::int64_t>(counts.size())}, extent);
  std::vector<std::int64_t> ends;
  std::int64_t end = 0;
  for (std::int64_t i = 0; i < extent; ++i) {
    const auto times = static_cast<std::int64_t>(count[counts.size() == 1 ? 0 : i]);
    (void)repeated_extent("repeat_interleave", 1, times);
    if (__builtin_add_overflow(end, times, &end))
      fail<ArgumentError>({"repeat_interleave: the counts add up to 2^63 elements or more"});
    ends.push_back(end);
  }
  return ends;
}

/// The source element of a place, by bisection among the ends.
struct SourceOfRepeat {
  CountBelow<std::int64_t> ends;
  LOCUS_FN void operator()(std::int64_t at, std::int64_t& source) const { ends(at, 0, source); }
};
template <class D>
[[nodiscard]] Tensor<std::int64_t, D> sources_of_repeats(const Tensor<std::int64_t, D>& ends, std::int64_t total) {
  return from_indices<std::int64_t>({total}, ends.device(), SourceOfRepeat{{ends.data(), ends.elements(), 0, true}});
}

template <class X, class I>
concept RepeatedByCounts = Viewable<X> && IndexedOperands<X, I>;
}  // namespace detail

/// Each element along a dimension as often as a list of int64 says, 0 times included: numpy.repeat and
/// torch.repeat_interleave of a list. One count is for all.
/// shape: (..., n, ...), (n,) -> (..., sum of counts, ...)     gradient: g, added up over the repetitions
/// cost:  as cumsum of the counts, four launches, and a wait for the device, which returns their sum; backward as
///        index_select
/// throws ShapeError unless there is a count for each element; ArgumentError for a negative count, and for extents of
/// 2^63 and more
///
///     auto edges = repeat_interleave(nodes, degrees, 0);   // row i of nodes degrees[i] times
template <class X, class I>
  requires detail::RepeatedByCounts<X, I>
[[nodiscard]] auto repeat_interleave(const X& x, const I& counts, int dim) {
  using D = device_of<X>;
  const std::int64_t extent = x.shape()[normalize_axis(dim, x.shape().rank(), "repeat_interleave")];
  const Tensor<std::int64_t, D> given = counts.value();
  detail::require_counts(given.shape(), extent);
  if (extent == 0) return index_select(x, dim, Tensor<std::int64_t, D>({0}, x.device()));
  const Tensor<std::int64_t, D> each = given.reshape({given.elements()}).expand({extent});
  const Tensor<std::int64_t, D> ends = cumsum(each, 0), least = min(each), most = max(each);
  for (const std::int64_t times : {least.item(), most.item()})
    (void)detail::repeated_extent("repeat_interleave", extent, times);
  return index_select(x, dim, detail::sources_of_repeats(ends, ends.select(0, -1).item()));
}
/// The counts as a vector, an array or a span of integers: two launches and a copy of them; nothing waits for the
/// device.
template <detail::Viewable X, detail::IntegerList C>
  requires detail::Computes<X>
[[nodiscard]] auto repeat_interleave(const X& x, const C& counts, int dim) {
  const std::int64_t extent = x.shape()[normalize_axis(dim, x.shape().rank(), "repeat_interleave")];
  const std::vector<std::int64_t> ends = detail::ends_of_repeats(counts, extent);
  const std::int64_t total = ends.empty() ? 0 : ends.back();
  return index_select(x, dim, detail::sources_of_repeats(from(ends, {extent}, x.device()), total));
}
/// Repeats all elements, in row-major order.
template <class X, class C>
  requires detail::RepeatedByCounts<X, C> || (detail::Viewable<X> && detail::Computes<X> && detail::IntegerList<C>)
[[nodiscard]] auto repeat_interleave(const X& x, const C& counts) {
  return repeat_interleave(reshape(x, {inferred}), counts, 0);
}

namespace detail {
template <Role role, class X>
[[nodiscard]] auto in_mesh(const X& x, const Shape& shape, int dim) {
  if constexpr (role == Role::traced && X::role != Role::traced) {
    return in_mesh<role>(trace(x), shape, dim);
  } else {
    if (x.shape().rank() > 1) {
      fail<ShapeError>({"meshgrid: coordinates of shape ", x.shape(), "; expected one dimension, or none"});
    }
    Shape alone = Dims::filled(shape.rank(), 1);
    alone[dim] = shape[dim];
    return expand(reshape(x, alone), shape);
  }
}
}  // namespace detail

/// How coordinates of a grid are laid out: the first along dimension 0, as in a matrix, or along dimension 1, as in an
/// image, where the second is along dimension 0 (NumPy's default).
enum class MeshIndexing { ij, xy };

/// The coordinates of a grid, each expanded along the dimensions of the others, as torch.meshgrid. Views.
/// shape: (m,), (n,) -> (m, n) each; of MeshIndexing::xy (n, m) each
/// gradient: g, added up over the dimensions of the others
/// throws ShapeError unless each has one dimension, or none
///
///     auto [y, x] = meshgrid(arange(3), arange(4));                      // (3, 4) both
///     auto [u, v] = meshgrid<MeshIndexing::xy>(arange(4), arange(3));    // (3, 4) both
template <MeshIndexing indexing = MeshIndexing::ij, class X, class... Rest>
  requires detail::Joinable<X, Rest...>
[[nodiscard]] auto meshgrid(const X& first, const Rest&... rest) {
  constexpr Role role = detail::joint_role<X::role, Rest::role...>;
  constexpr int last_swapped = indexing == MeshIndexing::xy && sizeof...(Rest) > 0 ? 1 : -1;
  Shape shape{first.shape().rank() == 0 ? 1 : first.shape()[0], (rest.shape().rank() == 0 ? 1 : rest.shape()[0])...};
  if (last_swapped == 1) std::swap(shape[0], shape[1]);
  int next = 0;
  const auto laid_out = [&](const auto& x) {
    const int dim = next++;
    return detail::in_mesh<role>(x, shape, dim <= last_swapped ? 1 - dim : dim);
  };
  return std::array{laid_out(first), laid_out(rest)...};
}

#include <locus/refuse/ops/repeat.inc>

}}  // namespace locus::LOCUS_ABI
