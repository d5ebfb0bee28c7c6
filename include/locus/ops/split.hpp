#pragma once
// A tensor cut along a dimension into several views: the inverse of concat and stack.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/view.hpp>

#include <vector>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
/// Consecutive slices of one dimension; size(i) is the extent of slice i.
template <class X, class Size>
[[nodiscard]] auto cut(const X& x, int dim, std::int64_t parts, const Size& size) {
  std::vector<decltype(slice(x, dim, 0))> result;
  std::int64_t begin = 0;
  for (std::int64_t i = 0; i < parts; ++i) {
    const std::int64_t end = begin + size(i);
    result.push_back(slice(x, dim, begin, end));
    begin = end;
  }
  return result;
}
}  // namespace detail

/// Parts of `size` along a dimension, the last one smaller where the extent is no multiple of it: torch.split.
/// gradient: the gradients of the parts, side by side
/// cost:     nothing; backward one launch for each part, and one to clear the gradient, unless it is added to
/// throws ArgumentError unless size is 1 or more; IndexError for an axis out of range
///
///     for (const auto& batch : split(x, 32)) ...
template <detail::Viewable X>
[[nodiscard]] auto split(const X& x, std::int64_t size, int dim = 0) {
  const int along = normalize_axis(dim, x.shape().rank(), "split");
  const std::int64_t extent = x.shape()[along];
  if (size < 1) fail<ArgumentError>({"split: parts of ", size, " elements; expected 1 or more"});
  return detail::cut(x, along, extent == 0 ? 1 : (extent - 1) / size + 1,
                     [=](std::int64_t i) { return detail::smaller(size, extent - i * size); });
}
/// Parts of these sizes, as split otherwise. throws ArgumentError unless they add up to the extent
///
///     auto parts = split(x, std::vector<std::int64_t>{2, 3}, 1);
template <detail::Viewable X>
[[nodiscard]] auto split(const X& x, const std::vector<std::int64_t>& sizes, int dim = 0) {
  const int along = normalize_axis(dim, x.shape().rank(), "split");
  std::int64_t total = 0;
  for (const std::int64_t size : sizes) {
    if (size < 0 || size > x.shape()[along] - total)
      fail<ArgumentError>({"split: a part of ", size, " after parts of ", total, " in an extent of ", x.shape()[along],
                           "; expected sizes that add up to it"});
    total += size;
  }
  if (total != x.shape()[along])
    fail<ArgumentError>({"split: parts of ", total, " together, for an extent of ", x.shape()[along],
                         "; expected sizes that add up to it"});
  return detail::cut(x, along, static_cast<std::int64_t>(sizes.size()),
                     [&](std::int64_t i) { return sizes[static_cast<std::size_t>(i)]; });
}

/// At most `chunks` parts of one size, but for a smaller last one, as in PyTorch: 5 elements in 4 chunks are 2, 2, 1.
/// Otherwise as split. throws ArgumentError unless chunks is 1 or more
template <detail::Viewable X>
[[nodiscard]] auto chunk(const X& x, std::int64_t chunks, int dim = 0) {
  const int along = normalize_axis(dim, x.shape().rank(), "chunk");
  if (chunks < 1) fail<ArgumentError>({"chunk: ", chunks, " chunks; expected 1 or more"});
  const std::int64_t extent = x.shape()[along];
  if (extent == 0) return detail::cut(x, along, chunks, [](std::int64_t) { return std::int64_t{0}; });
  return split(x, (extent - 1) / chunks + 1, along);
}

/// The slices along a dimension, without this dimension: the inverse of stack. Otherwise as split.
///
///     auto columns = unbind(x, 1);
template <detail::Viewable X>
[[nodiscard]] auto unbind(const X& x, int dim = 0) {
  const int along = normalize_axis(dim, x.shape().rank(), "unbind");
  std::vector<decltype(select(x, dim, 0))> result;
  for (std::int64_t i = 0; i < x.shape()[along]; ++i) result.push_back(select(x, along, i));
  return result;
}

#include <locus/refuse/ops/split.inc>

}}  // namespace locus::LOCUS_ABI
