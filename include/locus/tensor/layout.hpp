#pragma once
// Layout of a tensor's elements in memory, and the views of a layout. Independent of element type and device, so that
// it is compiled once for all.

#include <locus/core/shape.hpp>
#include <locus/core/std/bounds.hpp>

namespace locus { inline namespace LOCUS_ABI {

/// The extent of a reshape that is inferred from the others: -1.
inline constexpr std::int64_t inferred = -1;

/// The end of a dimension, for slice.
inline constexpr std::int64_t to_end = INT64_MAX;

namespace detail {

/// The shape with its -1, if any, inferred. throws ShapeError unless it has as many elements as `from`
[[nodiscard]] LOCUS_OUT_OF_LINE inline Shape infer_extent(const Shape& shape, const Shape& from,
                                                          std::string_view caller = "reshape") {
  const std::int64_t count = elements(from);
  Shape result = shape;
  int unknown = -1;
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape[d] >= 0) continue;
    if (shape[d] != inferred || unknown >= 0)
      fail<ShapeError>({caller, ": extents are 0 or more, and one may be -1; got ", shape});
    unknown = d;
    result[d] = 1;
  }
  const std::int64_t known = elements(result);
  if (unknown >= 0 && known > 0) result[unknown] = count / known;
  if ((unknown >= 0 && known == 0) || elements(result) != count) {
    fail<ShapeError>({caller, ": shape ", from, ", which has ", count, count == 1 ? " element" : " elements",
                      ", does not fit shape ", shape});
  }
  return result;
}

/// The shape with dimensions [first, last] merged into one.
[[nodiscard]] LOCUS_OUT_OF_LINE inline Shape flattened(const Shape& shape, int first, int last) {
  const int rank = larger(shape.rank(), 1);  // a scalar counts as shape (1,)
  first = normalize_axis(first, rank, "flatten");
  last = normalize_axis(last, rank, "flatten");
  if (first > last) fail<ArgumentError>({"flatten: first dimension ", first, " comes after the last, ", last});
  Shape result, merged;
  for (int d = 0; d < rank; ++d) {
    if (d < shape.rank()) (d >= first && d <= last ? merged : result).push_back(shape[d]);
    if (d == last) result.push_back(elements(merged));
  }
  return result;
}

/// The shape with one dimension divided into several; one of the new extents may be -1. throws ShapeError
[[nodiscard]] LOCUS_OUT_OF_LINE inline Shape unflattened(const Shape& shape, int dim, const Shape& sizes) {
  const int at = normalize_axis(dim, shape.rank(), "unflatten");
  if (sizes.rank() == 0) fail<ShapeError>({"unflatten: no sizes for dimension ", at, " of shape ", shape});
  const Shape divided = infer_extent(sizes, Shape{shape[at]}, "unflatten");
  Shape result;
  for (int d = 0; d < at; ++d) result.push_back(shape[d]);
  for (const std::int64_t extent : divided) result.push_back(extent);
  for (int d = at + 1; d < shape.rank(); ++d) result.push_back(shape[d]);
  return result;
}

/// Strides of a view of the elements under shape `to`. False if no strides give it.
[[nodiscard]] LOCUS_OUT_OF_LINE inline bool view_strides(const Shape& from, const Strides& strides, const Shape& to,
                                                         Strides& result) {
  result = row_major(to);
  if (is_contiguous(from, strides) || elements(to) == 0) return true;
  int d = from.rank() - 1;
  std::int64_t run = 1, run_stride = 1, used = 1;  // the dense run of `from` that ends at dimension d
  const auto next_run = [&] {
    while (d >= 0 && from[d] == 1) --d;
    run = d >= 0 ? from[d] : 1;
    run_stride = d >= 0 ? strides[d] : 1;
    for (--d; d >= 0 && (from[d] == 1 || strides[d] == run_stride * run); --d) run *= from[d];
    used = 1;
  };
  next_run();
  for (int i = to.rank() - 1; i >= 0; --i) {
    if (to[i] == 1) continue;
    if (used == run) next_run();
    result[i] = run_stride * used;
    used *= to[i];
    if (run % used != 0) return false;
  }
  return true;
}

/// Number of windows of `size` elements, `dilation` apart, that start every `step` elements within an extent.
/// throws ArgumentError unless all three are 1 or more; ShapeError if no window fits
[[nodiscard]] LOCUS_OUT_OF_LINE inline std::int64_t windows_along(std::string_view name, std::int64_t extent,
                                                                  std::int64_t size, std::int64_t step,
                                                                  std::int64_t dilation) {
  if (size < 1 || step < 1 || dilation < 1) {
    fail<ArgumentError>({name, ": windows of ", size, " elements, ", dilation, " apart, at a step of ", step,
                         "; expected 1 or more of each"});
  }
  std::int64_t reach = 0;  // from the first element of a window to its last
  if (__builtin_mul_overflow(size - 1, dilation, &reach) || reach >= extent) {
    fail<ShapeError>({name, ": windows of ", size, " elements, ", dilation, " apart, along an extent of ", extent,
                      "; expected an extent that holds one"});
  }
  return (extent - 1 - reach) / step + 1;
}

}  // namespace detail

/// The order of a tensor's elements in memory.
enum class MemoryFormat : unsigned char {
  row_major,     ///< the last dimension is contiguous
  channels_last  ///< images (batch, channels, height, width), or volumes with a depth: the channels are contiguous
};

namespace detail {
/// Dimensions of images or volumes in the order of channels_last, innermost first.
inline constexpr int by_channels_last[2][5] = {{1, 3, 2, 0, 0}, {1, 4, 3, 2, 0}};

/// throws ShapeError for channels_last unless the shape is an image's or a volume's
[[nodiscard]] LOCUS_OUT_OF_LINE inline Strides strides_of(const Shape& shape, MemoryFormat format) {
  if (format == MemoryFormat::row_major) return row_major(shape);
  if (shape.rank() != 4 && shape.rank() != 5) {
    fail<ShapeError>({"channels_last: shape ", shape,
                      "; expected images (batch, channels, height, width) or volumes (batch, channels, depth, height, "
                      "width)"});
  }
  Strides strides = Dims::filled(shape.rank(), 1);
  std::int64_t stride = 1;
  for (int i = 0; i < shape.rank(); ++i) {
    const int d = by_channels_last[shape.rank() - 4][i];
    strides[d] = stride;
    stride = wrapping_product(stride, larger(shape[d], std::int64_t{1}));
  }
  return strides;
}
}  // namespace detail

/// Extents and strides. Each view changes them and returns the offset of the new first element; tensor.hpp describes
/// the parameters.
struct Layout {
  Shape shape = Dims::filled(1, 0);
  Strides strides = Dims::filled(1, 1);

  [[nodiscard]] int rank() const { return shape.rank(); }
  [[nodiscard]] bool is_contiguous() const { return locus::is_contiguous(shape, strides); }

  /// channels_last if the elements lie in that order, gaps allowed. If both orders fit, as with one channel, the
  /// strides of extents of 1 decide.
  [[nodiscard]] LOCUS_OUT_OF_LINE MemoryFormat format() const {
    if (rank() != 4 && rank() != 5) return MemoryFormat::row_major;
    std::int64_t least = 1;  // lower bound of the next stride
    for (int i = 0; i < rank(); ++i) {
      const int d = detail::by_channels_last[rank() - 4][i];
      if (d == 0 && shape[0] == 1) break;  // one image: the batch stride does not matter
      if (shape[d] == 0 || strides[d] < least) return MemoryFormat::row_major;
      least = detail::wrapping_product(strides[d], shape[d]);
    }
    return is_contiguous() && strides[1] == strides[0] ? MemoryFormat::row_major : MemoryFormat::channels_last;
  }

  LOCUS_OUT_OF_LINE std::int64_t slice(int dim, std::int64_t start, std::int64_t end, std::int64_t step) {
    dim = normalize_axis(dim, rank(), "slice");
    if (step == 0) fail<ArgumentError>({"slice: step 0; expected 1 or more, or -1 or less to go down"});
    const std::int64_t extent = shape[dim];
    if (step < 0) return slice_down(dim, start, end, step);
    start = detail::within(start < 0 ? start + extent : start, std::int64_t{0}, extent);
    end = detail::within(end < 0 ? end + extent : end, std::int64_t{0}, extent);
    const std::int64_t offset = detail::is_empty(shape) ? 0 : start * strides[dim];
    shape[dim] = end > start ? (end - start - 1) / step + 1 : 0;
    if (shape[dim] > 1) strides[dim] = detail::wrapping_product(strides[dim], step);
    return offset;
  }

  /// The elements (i, i + offset) of two dimensions, as the last dimension. throws ArgumentError if both are the same
  LOCUS_OUT_OF_LINE std::int64_t diagonal(std::int64_t offset, int first, int second) {
    first = normalize_axis(first, rank(), "diagonal");
    second = normalize_axis(second, rank(), "diagonal");
    if (first == second) fail<ArgumentError>({"diagonal: dimension ", first, " twice; expected two dimensions"});
    const std::int64_t rows = shape[first], cols = shape[second];
    offset = detail::within(offset, -rows, cols);
    const std::int64_t length =
        offset < 0 ? detail::smaller(rows + offset, cols) : detail::smaller(rows, cols - offset);
    const std::int64_t moved = length == 0 || detail::is_empty(shape) ? 0
                               : offset < 0                           ? -offset * strides[first]
                                                                      : offset * strides[second];
    const auto stride = static_cast<std::int64_t>(static_cast<std::uint64_t>(strides[first]) +
                                                  static_cast<std::uint64_t>(strides[second]));
    erase(detail::larger(first, second));
    erase(detail::smaller(first, second));
    shape.push_back(length);
    strides.push_back(stride);
    return moved;
  }

  LOCUS_OUT_OF_LINE void unfold(int dim, std::int64_t size, std::int64_t step, std::int64_t dilation) {
    dim = normalize_axis(dim, rank(), "unfold");
    const std::int64_t windows = detail::windows_along("unfold", shape[dim], size, step, dilation);
    const std::int64_t stride = strides[dim];
    shape[dim] = windows;
    strides[dim] = detail::wrapping_product(stride, step);
    shape.push_back(size);
    strides.push_back(detail::wrapping_product(stride, dilation));
  }

  LOCUS_OUT_OF_LINE std::int64_t select(int dim, std::int64_t index) {
    dim = normalize_axis(dim, rank(), "select");
    const std::int64_t extent = shape[dim];
    if (index < -extent || index >= extent) {
      fail<IndexError>({"select: index ", index, " is out of range for dimension ", dim, " of ", shape});
    }
    const std::int64_t offset = detail::is_empty(shape) ? 0 : (index < 0 ? index + extent : index) * strides[dim];
    erase(dim);
    return offset;
  }

  LOCUS_OUT_OF_LINE void transpose(int a, int b) {
    a = normalize_axis(a, rank(), "transpose");
    b = normalize_axis(b, rank(), "transpose");
    std::swap(shape[a], shape[b]);
    std::swap(strides[a], strides[b]);
  }

  LOCUS_OUT_OF_LINE void permute(const Axes& order) {
    if (order.rank() != rank()) fail<ShapeError>({"permute: order ", order, " for a tensor of shape ", shape});
    const Layout before = *this;
    bool seen[max_rank] = {};
    for (int i = 0; i < rank(); ++i) {
      const int from = normalize_axis(order[i], rank(), "permute");
      if (seen[from]) fail<ShapeError>({"permute: order ", order, " names dimension ", from, " twice"});
      seen[from] = true;
      shape[i] = before.shape[from];
      strides[i] = before.strides[from];
    }
  }

  /// False, without a change, if only a copy can have this shape.
  [[nodiscard]] LOCUS_OUT_OF_LINE bool reshape(const Shape& wanted) {
    Strides result;
    if (!detail::view_strides(shape, strides, wanted, result)) return false;
    shape = wanted;
    strides = result;
    return true;
  }

  LOCUS_OUT_OF_LINE void squeeze(int dim) {
    dim = normalize_axis(dim, rank(), "squeeze");
    if (shape[dim] == 1) erase(dim);
  }
  void squeeze() {
    for (int d = rank() - 1; d >= 0; --d) squeeze(d);
  }

  LOCUS_OUT_OF_LINE void unsqueeze(int dim) {
    dim = normalize_axis(dim, rank() + 1, "unsqueeze");
    strides.insert(dim, dim < rank() ? detail::wrapping_product(strides[dim], shape[dim]) : 1);
    shape.insert(dim, 1);
  }

  LOCUS_OUT_OF_LINE void expand(Shape target) {
    const int added = target.rank() - rank();
    if (added < 0) fail<ShapeError>({"expand: ", shape, " has more dimensions than ", target});
    for (int d = 0; d < target.rank(); ++d) {
      if (target[d] == -1 && d >= added) target[d] = shape[d - added];
      if (target[d] < 0)
        fail<ShapeError>({"expand: ", shape, " to ", target, ": a new dimension needs an extent of 0 or more"});
    }
    if (!(broadcast(shape, target, "expand") == target))
      fail<ShapeError>({"expand: ", shape, " cannot be repeated to ", target});
    (void)elements(target);  // throws for too many elements
    strides = broadcast_strides(shape, strides, target);
    shape = target;
  }

  /// Offset of an index along a dimension; negative indices count from the end. throws IndexError
  [[nodiscard]] std::int64_t offset_of(int dim, std::int64_t index) const {
    const std::int64_t extent = shape.begin()[dim];
    if (index < -extent || index >= extent) refuse_index(dim, index);
    return detail::wrapping_product(index < 0 ? index + extent : index, strides.begin()[dim]);
  }

  /// Whether every element has the same offset in `other`.
  [[nodiscard]] LOCUS_OUT_OF_LINE bool same_places(const Layout& other) const {
    if (!(shape == other.shape)) return false;
    for (int d = 0; d < rank(); ++d)
      if (shape[d] != 1 && strides[d] != other.strides[d]) return false;
    return true;
  }

  /// Whether the elements lie densely in the order of a format.
  [[nodiscard]] LOCUS_OUT_OF_LINE bool is_dense(MemoryFormat order) const {
    if (order == MemoryFormat::row_major) return is_contiguous();
    return (rank() == 4 || rank() == 5) && same_places({shape, detail::strides_of(shape, order)});
  }

  /// Range of the elements in memory, relative to the tensor's first element; empty without elements.
  struct Span {
    std::int64_t begin, end;
  };
  [[nodiscard]] LOCUS_OUT_OF_LINE Span span() const {
    if (elements(shape) == 0) return {0, 0};
    Span reached{0, 1};
    for (int d = 0; d < rank(); ++d) {
      const std::int64_t reach = (shape[d] - 1) * strides[d];
      (reach < 0 ? reached.begin : reached.end) += reach;
    }
    return reached;
  }

  /// Whether two elements may share memory: in order of size, each stride has to exceed the reach of the smaller ones.
  [[nodiscard]] LOCUS_OUT_OF_LINE bool shares_elements() const {
    if (detail::is_empty(shape) || is_contiguous()) return false;
    std::int64_t reach = 0;  // from the first to the last element of the dimensions so far
    for (unsigned left = (1u << rank()) - 1u; left != 0;) {
      int next = -1;
      for (int d = 0; d < rank(); ++d)
        if ((left >> d & 1u) != 0 && (next < 0 || step_of(d) < step_of(next))) next = d;
      left &= ~(1u << next);
      if (shape[next] == 1) continue;
      if (step_of(next) <= reach) return true;
      reach += (shape[next] - 1) * step_of(next);
    }
    return false;
  }
  /// throws ArgumentError if elements may share memory, as it would be undefined which of the written values stays.
  /// Views whose elements are merely interleaved, as some from unfold, are refused, too: telling them apart takes a
  /// search.
  LOCUS_OUT_OF_LINE void require_distinct_elements(std::string_view operation) const {
    if (shares_elements()) {
      fail<ArgumentError>({operation, " on a view of shape ", shape,
                           ", expanded or unfolded, whose elements may share memory; use .clone() first"});
    }
  }

 private:
  /// A slice of a negative step. Only launches of `map` support the resulting negative stride: see Tensor::slice.
  std::int64_t slice_down(int dim, std::int64_t start, std::int64_t end, std::int64_t step) {
    const std::int64_t extent = shape[dim], before = -1;
    start = detail::within(start < 0 ? start + extent : start, before, extent - 1);
    end = end == to_end ? before : detail::within(end < 0 ? end + extent : end, before, extent - 1);
    const bool empty = start <= end || detail::is_empty(shape);
    const std::int64_t offset = empty ? 0 : start * strides[dim];
    shape[dim] = start > end ? 1 - (start - end - 1) / step : 0;
    if (shape[dim] > 1) strides[dim] = detail::wrapping_product(strides[dim], step);
    return offset;
  }

  [[nodiscard]] std::int64_t step_of(int dim) const { return strides[dim] < 0 ? -strides[dim] : strides[dim]; }

  [[noreturn, gnu::cold, gnu::noinline]] void refuse_index(int dim, std::int64_t index) const {
    fail<IndexError>({"index ", index, " is out of range for dimension ", dim, " of ", shape});
  }
  void erase(int dim) {
    shape.erase(dim);
    strides.erase(dim);
  }
};

namespace detail {
/// The format of a result: channels_last if an operand of this shape has it and no operand of this shape is dense
/// row-major. Null: an operand without memory.
[[nodiscard]] LOCUS_OUT_OF_LINE inline MemoryFormat joint_format(const Shape& shape,
                                                                 std::initializer_list<const Layout*> operands) {
  MemoryFormat format = MemoryFormat::row_major;
  if (shape.rank() != 4 && shape.rank() != 5) return format;
  for (const Layout* const operand : operands) {
    if (!operand || !(operand->shape == shape)) continue;
    if (operand->format() == MemoryFormat::channels_last) format = MemoryFormat::channels_last;
    else if (operand->is_contiguous()) return MemoryFormat::row_major;
  }
  return format;
}
}  // namespace detail

}}  // namespace locus::LOCUS_ABI
