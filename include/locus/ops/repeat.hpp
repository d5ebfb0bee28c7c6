#pragma once
// Tensors repeated as a whole (tile, repeat) or element by element (repeat_interleave), and grids of coordinates.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/join.hpp>
#include <locus/ops/rows.hpp>

namespace locus::inline LOCUS_ABI {

namespace detail {
/// throws ArgumentError
LOCUS_OUT_OF_LINE inline std::int64_t repeated_extent(const char* caller, std::int64_t extent, std::int64_t times) {
  std::int64_t result = 0;
  if (times < 0 || __builtin_mul_overflow(extent, times, &result))
    fail<ArgumentError>({caller, ": ", times, " times an extent of ", extent, "; expected 0 to 2^63 - 1 elements"});
  return result;
}

/// The shape with ones before it, so that it has as many dimensions as it is repeated along. throws ArgumentError
[[nodiscard]] LOCUS_OUT_OF_LINE inline Shape shape_to_repeat(const Shape& shape, const Shape& times) {
  Shape result = shape;
  while (result.rank() < times.rank()) result.insert(0, 1);
  for (int d = -1; d >= -times.rank(); --d) (void)repeated_extent("repeat", result[d], times[d]);
  return result;
}

/// A view of dimensions that are repeated as two each, (times, extent), and how to merge these again.
struct Repetition {
  Shape view, expanded, merged;
  void add(std::int64_t times, std::int64_t extent) {
    if (times != 1 && extent != 1) view.push_back(1), expanded.push_back(times), times = 1;
    view.push_back(extent);
    expanded.push_back(times * extent);
  }
  /// Of all dimensions. `times` counts from the last one. False, where these are too many to divide at once.
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
  /// Of one dimension; the others are merged around it.
  [[nodiscard]] LOCUS_OUT_OF_LINE static Repetition one(const Shape& shape, std::int64_t times, int dim) {
    const RowCount count(shape, dim);
    Repetition r{{count.outer, 1, count.cols * count.inner}, {count.outer, times, count.cols * count.inner}, shape};
    r.merged[dim] *= times;
    return r;
  }
};
}  // namespace detail

/// x repeated along its dimensions: numpy.tile, Tensor.repeat. `times` counts from the last dimension; of more numbers
/// than dimensions, the first make new ones.
/// shape: (..., n) -> (..., n * times)     gradient: g, added up over the repetitions
/// cost:  one launch, none where only extents of 1 are repeated, which is a view; backward one. One for each dimension
///        that is repeated where these and all dimensions are more than eight together
/// throws ArgumentError for a negative number, and for extents of 2^63 and more
///
///     tile(from({1, 2}), {2, 2});   // (2, 4)
template <detail::Viewable X>
[[nodiscard]] auto tile(const X& x, const Shape& times) {
  auto result = reshape(x, detail::shape_to_repeat(x.shape(), times));
  const auto as_divided = [&](const detail::Repetition& r) {
    result = reshape(expand(reshape(result, r.view), r.expanded), r.merged);
  };
  detail::Repetition r;
  if (r.all(result.shape(), times)) {
    as_divided(r);
  } else {
    for (int d = -1; d >= -times.rank(); --d)
      if (times[d] != 1) as_divided(r.one(result.shape(), times[d], result.shape().rank() + d));
  }
  return result;
}
/// The same under PyTorch's name. NumPy's repeat is repeat_interleave.
template <detail::Viewable X>
[[nodiscard]] auto repeat(const X& x, const Shape& times) {
  return tile(x, times);
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
/// Of all elements, in row-major order.
template <detail::Viewable X>
[[nodiscard]] auto repeat_interleave(const X& x, std::int64_t times) {
  return repeat_interleave(reshape(x, {inferred}), times, 0);
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

/// The coordinates of a grid, each expanded along the dimensions of the others, as torch.meshgrid with indexing "ij".
/// NumPy's "xy" is swapaxes(..., 0, 1) of each. Views.
/// shape: (m,), (n,) -> (m, n) each     gradient: g, added up over the dimensions of the others
/// throws ShapeError unless each has one dimension, or none
///
///     auto [y, x] = meshgrid(arange(3), arange(4));   // (3, 4) both
template <class X, class... Rest>
  requires detail::Joinable<X, Rest...>
[[nodiscard]] auto meshgrid(const X& first, const Rest&... rest) {
  constexpr Role role = detail::joint_role<X::role, Rest::role...>;
  const Shape shape{first.shape().rank() == 0 ? 1 : first.shape()[0],
                    (rest.shape().rank() == 0 ? 1 : rest.shape()[0])...};
  int dim = 0;
  return std::array{detail::in_mesh<role>(first, shape, dim++), detail::in_mesh<role>(rest, shape, dim++)...};
}

#include <locus/refuse/ops/repeat.inc>

}  // namespace locus::inline LOCUS_ABI
