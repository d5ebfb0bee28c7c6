#pragma once
// Images as columns of their windows, and back: F.unfold and F.fold.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/core/size_2d.hpp>
#include <locus/ops/pad.hpp>
#include <locus/ops/unfold.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
/// throws ShapeError unless an operand is (batch, ...) or (...) of so many dimensions, the batch counted
inline void require_rank(std::string_view name, const Shape& shape, int with_batch, std::string_view expected) {
  if (shape.rank() == with_batch || shape.rank() == with_batch - 1) return;
  fail<ShapeError>({name, ": shape ", shape, "; expected ", expected, ", or the same without the batch"});
}
/// throws ArgumentError for a negative border
inline void require_padding(std::string_view name, const Size2d& padding) {
  if (padding.height < 0 || padding.width < 0)
    fail<ArgumentError>({name, ": padding of ", padding, "; expected 0 or more"});
}
/// The size of images with their border. throws ShapeError if they have more than 2^63 elements
[[nodiscard]] LOCUS_OUT_OF_LINE inline Size2d padded_size(std::string_view name, const Size2d& size,
                                                          const Size2d& padding) {
  Size2d padded = size;
  bool overflows = false;
  for (int i = 0; i < 2; ++i) {
    overflows |= __builtin_add_overflow(padded.height, padding.height, &padded.height);
    overflows |= __builtin_add_overflow(padded.width, padding.width, &padded.width);
  }
  std::int64_t elements = 0;
  if (overflows || __builtin_mul_overflow(padded.height, padded.width, &elements))
    fail<ShapeError>({name, ": a size of ", size, " padded by ", padding, "; expected less than 2^63 elements"});
  return padded;
}
}  // namespace detail

/// The windows of images as columns: F.unfold, with its order of arguments. The border is 0.
/// shape: (batch, c, h, w) -> (batch, c kh kw, windows), with or without the batch
/// cost:  as pad, and one launch; backward two launches, and as pad's
template <detail::FloatingOperand X>
[[nodiscard]] auto im2col(const X& x, Size2d kernel, Size2d dilation = 1, Size2d padding = 0, Size2d step = 1) {
  detail::require_rank("im2col", x.shape(), 4, "(batch, channels, height, width)");
  detail::require_padding("im2col", padding);
  const auto padded = pad(x, {padding.width, padding.width, padding.height, padding.height});
  const auto windows = unfold(unfold(padded, -2, kernel.height, step.height, dilation.height), -2, kernel.width,
                              step.width, dilation.width);
  const Shape& shape = windows.shape();
  const int last = shape.rank() - 1;
  Axes order;
  Shape columns;
  for (int d = 0; d < last - 3; ++d) order.push_back(d), columns.push_back(shape[d]);
  for (const int d : {last - 1, last, last - 3, last - 2}) order.push_back(d);
  columns[-1] = columns[-1] * kernel.height * kernel.width;
  columns.push_back(shape[last - 3] * shape[last - 2]);
  return reshape(permute(windows, order), columns);
}

/// Adds columns of windows up to images: F.fold, with its order of arguments, the adjoint of im2col.
/// shape: (batch, c kh kw, windows) -> (batch, c, h, w) for the size {h, w}, with or without the batch
/// cost:  two launches and one to make the columns dense; backward one
/// throws ShapeError unless the columns fit such images; ArgumentError
template <detail::FloatingOperand X>
[[nodiscard]] auto col2im(const X& x, Size2d size, Size2d kernel, Size2d dilation = 1, Size2d padding = 0,
                          Size2d step = 1) {
  constexpr const char* name = "col2im";
  const Shape given = x.shape();
  detail::require_rank(name, given, 3, "(batch, channels kh kw, windows)");
  detail::require_padding(name, padding);
  const auto [height, width] = detail::padded_size(name, size, padding);
  const std::int64_t rows = detail::windows_along(name, height, kernel.height, step.height, dilation.height);
  const std::int64_t cols = detail::windows_along(name, width, kernel.width, step.width, dilation.width);
  const std::int64_t elements = kernel.height * kernel.width;
  if (given[-1] != rows * cols || given[-2] % elements != 0) {
    fail<ShapeError>({name, ": columns of shape ", given, "; expected a multiple of ", elements, " rows and ",
                      rows * cols, " columns for windows of ", kernel, " in ", size, " padded by ", padding});
  }
  const bool batched = given.rank() == 3;
  const std::int64_t batch = batched ? given[0] : 1, channels = given[-2] / elements;
  const auto windows =
      permute(reshape(x, {batch, channels, kernel.height, kernel.width, rows, cols}), {0, 1, 4, 5, 2, 3});
  const auto padded = fold_windows(fold_windows(windows, 3, width, step.width, dilation.width), 2, height, step.height,
                                   dilation.height);
  const auto images = slice(slice(padded, 2, padding.height, padding.height + size.height), 3, padding.width,
                            padding.width + size.width);
  return batched ? images : squeeze(images, 0);
}

#include <locus/refuse/ops/im2col.inc>

}}  // namespace locus::LOCUS_ABI
