#pragma once
// Windows along one dimension, as pooling places them: how many there are, what each has, and which hold an element.

#include <locus/core/size_2d.hpp>
#include <locus/core/std/bounds.hpp>

namespace locus { inline namespace LOCUS_ABI {

/// As a stride: windows lie side by side.
inline constexpr std::int64_t same_as_kernel = -1;

namespace detail {

/// A position along a pooled dimension. On a GPU, 64 bits would take twice the registers.
using PoolIndex = std::int32_t;
/// What an extent and its border have at most, and whatever is larger counts as: sums of three fit a PoolIndex.
inline constexpr std::int64_t most_pooled = std::int64_t{1} << 29;

/// begin ... end - 1
struct PoolRange {
  PoolIndex begin, end;
  static constexpr PoolIndex step = 1;
  [[nodiscard]] LOCUS_FN PoolIndex count() const { return end > begin ? end - begin : 0; }
};
/// begin, begin + step, ... below end
struct DilatedRange {
  PoolIndex begin, end, step;
};

/// A row of work among those of planes with as many rows each.
struct RowOfPlane {
  std::int64_t plane;
  PoolIndex at;
  LOCUS_FN RowOfPlane(std::int64_t row, PoolIndex rows)
      : plane(row / rows), at(static_cast<PoolIndex>(row - plane * rows)) {}
};

/// Windows along one dimension: number o has elements from o * step - padding to `reach` after that.
struct PoolAxis {
  PoolIndex extent = 1, outputs = 1, reach = 0, step = 1, padding = 0;

  /// The elements of window o that are not in the border.
  [[nodiscard]] LOCUS_FN PoolRange elements_of(PoolIndex o) const {
    const PoolIndex begin = first_of(o);
    return {larger(begin, PoolIndex{0}), smaller(begin + reach + 1, extent)};
  }
  /// Elements of window o, those of the border included, but not what lies beyond it.
  [[nodiscard]] LOCUS_FN PoolIndex padded_count(PoolIndex o) const {
    const PoolIndex begin = first_of(o);
    return smaller(begin + reach + 1, extent + padding) - begin;
  }
  /// The windows that reach over element i.
  [[nodiscard]] LOCUS_FN PoolRange windows_of(PoolIndex i) const {
    const PoolIndex at = i + padding, before = at - reach;
    return {before <= 0 ? 0 : (before - 1) / step + 1, smaller(at / step + 1, outputs)};
  }
  [[nodiscard]] LOCUS_FN PoolIndex first_of(PoolIndex o) const { return o * step - padding; }
};

/// The same, where a window has only every `dilation`-th of the elements it reaches over.
struct DilatedAxis : PoolAxis {
  PoolIndex dilation = 1;

  [[nodiscard]] LOCUS_FN DilatedRange elements_of(PoolIndex o) const {
    PoolIndex begin = first_of(o);
    const PoolIndex end = smaller(begin + reach + 1, extent);
    if (begin < 0) begin = dilation == 1 ? 0 : begin + ((-begin - 1) / dilation + 1) * dilation;
    return {begin, end, dilation};
  }
  /// Of windows o ... o + n - 1, counted from 0, those whose element `tap` from their first one is not in the border.
  [[nodiscard]] LOCUS_FN PoolRange windows_inside(PoolIndex tap, PoolIndex o, PoolIndex n) const {
    const std::int64_t first = std::int64_t{o} * step - padding + tap;
    const std::int64_t begin = first < 0 ? (-first - 1) / step + 1 : 0;
    const std::int64_t end = first >= extent ? 0 : (extent - 1 - first) / step + 1;
    return {static_cast<PoolIndex>(smaller(begin, std::int64_t{n})),
            static_cast<PoolIndex>(smaller(end, std::int64_t{n}))};
  }
  [[nodiscard]] LOCUS_FN bool holds(PoolIndex o, PoolIndex i) const {
    return dilation == 1 || (i - first_of(o)) % dilation == 0;
  }
};

/// As many windows as are asked for, as equal as may be; neighbours share an element where the extent is no multiple.
struct AdaptiveAxis {
  PoolIndex extent = 1, outputs = 1;

  [[nodiscard]] LOCUS_FN PoolRange elements_of(PoolIndex o) const {
    return {share(o, extent, outputs, 0), share(o + 1, extent, outputs, outputs - 1)};
  }
  [[nodiscard]] LOCUS_FN PoolIndex padded_count(PoolIndex o) const { return elements_of(o).count(); }
  [[nodiscard]] LOCUS_FN PoolRange windows_of(PoolIndex i) const {
    return {share(i, outputs, extent, 0), share(i + 1, outputs, extent, extent - 1)};
  }

 private:
  /// (i * n + rounding) / parts
  [[nodiscard]] LOCUS_FN static PoolIndex share(PoolIndex i, PoolIndex n, PoolIndex parts, PoolIndex rounding) {
    return static_cast<PoolIndex>((static_cast<std::int64_t>(i) * n + rounding) / parts);
  }
};

/// What pooling is asked for, and by which function, for its messages. Of one dimension, heights are 1.
struct PoolRequest {
  const char* caller;
  int dims;
  Size2d kernel, stride = same_as_kernel, padding = 0, dilation = 1;
  bool ceil_mode = false;

  /// throws ArgumentError unless kernel, stride and dilation are 1 or more, and the border at most half a window
  LOCUS_OUT_OF_LINE PoolRequest checked() const {
    PoolRequest result = *this;
    if (stride == Size2d(same_as_kernel)) result.stride = kernel;
    for (const Size2d& size : {kernel, result.stride, dilation})
      if (size.height < 1 || size.width < 1)
        fail<ArgumentError>({caller, ": a kernel of ", text(kernel), ", a stride of ", text(result.stride),
                             " and a dilation of ", text(dilation), "; expected 1 or more of each"});
    const auto fits = [](std::int64_t border, std::int64_t size, std::int64_t apart) {
      return border >= 0 && border <= reach(size, apart) / 2 + reach(size, apart) % 2;
    };
    if (!fits(padding.height, kernel.height, dilation.height) || !fits(padding.width, kernel.width, dilation.width))
      fail<ArgumentError>({caller, ": padding of ", text(padding), " for a kernel of ", text(kernel), " dilated by ",
                           text(dilation), "; expected at most half of it"});
    return result;
  }

  /// The axes for the last dimensions of an input. throws ShapeError
  LOCUS_OUT_OF_LINE void plan(const Shape& shape, DilatedAxis& rows, DilatedAxis& cols) const {
    require_input(caller, dims, shape);
    cols = axis(shape, shape[-1], kernel.width, stride.width, padding.width, dilation.width);
    rows = axis(shape, dims == 2 ? shape[-2] : 1, kernel.height, stride.height, padding.height, dilation.height);
  }

  /// throws ShapeError unless a shape is (n, c, ...) or (c, ...) with elements to pool
  LOCUS_OUT_OF_LINE static void require_input(std::string_view caller, int dims, const Shape& shape) {
    bool fits = shape.rank() == dims + 1 || shape.rank() == dims + 2;
    for (int d = 1; d <= dims && fits; ++d) fits = shape[-d] > 0;
    if (!fits)
      fail<ShapeError>({caller, ": an input of shape ", shape, "; expected ",
                        dims == 1 ? "(batch, channels, length)" : "(batch, channels, height, width)",
                        ", or the same without the batch, with elements to pool"});
  }
  /// throws ShapeError for more elements along a dimension, the border included, than a launch counts
  static void require_few(std::string_view caller, const Shape& shape, std::int64_t extent) {
    if (extent > most_pooled)
      fail<ShapeError>({caller, ": ", extent, " elements along a dimension of shape ", shape, ", its border included; ",
                        "expected at most ", most_pooled});
  }

 private:
  [[nodiscard]] std::string text(const Size2d& size) const {
    return dims == 1 ? std::to_string(size.width) : to_string(size);
  }
  /// From the first element of a window to its last; 2^62 where that is more.
  [[nodiscard]] static std::int64_t reach(std::int64_t size, std::int64_t dilation) {
    std::int64_t product = 0;
    const bool overflows = __builtin_mul_overflow(size - 1, dilation, &product);
    return overflows ? INT64_MAX / 2 : smaller(product, INT64_MAX / 2);
  }
  [[nodiscard]] DilatedAxis axis(const Shape& shape, std::int64_t extent, std::int64_t size, std::int64_t step,
                                 std::int64_t border, std::int64_t apart) const {
    const std::int64_t count = outputs(extent, reach(size, apart), step, border);
    if (count < 1)
      fail<ShapeError>({caller, ": a kernel of ", text(kernel), " dilated by ", text(dilation),
                        " for an input of shape ", shape, " padded by ", text(padding),
                        "; expected a kernel no larger than the padded input"});
    require_few(caller, shape, extent + 2 * border);
    const auto bounded = [](std::int64_t n) { return static_cast<PoolIndex>(smaller(n, most_pooled)); };
    return {{bounded(extent), bounded(count), bounded(reach(size, apart)), bounded(step), bounded(border)},
            bounded(apart)};
  }
  /// As PyTorch counts them: no window begins beyond the input and the border before it.
  [[nodiscard]] std::int64_t outputs(std::int64_t extent, std::int64_t last, std::int64_t step,
                                     std::int64_t border) const {
    const std::int64_t room = extent + 2 * border - last - 1;
    if (room < 0) return ceil_mode && -room < step ? 1 : 0;
    const std::int64_t whole = room / step + 1;
    if (!ceil_mode || room % step == 0) return whole;
    return whole * step >= extent + border ? whole : whole + 1;
  }
};

}  // namespace detail

}}  // namespace locus::LOCUS_ABI
