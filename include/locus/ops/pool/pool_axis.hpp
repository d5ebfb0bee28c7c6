#pragma once
// Windows of pooling along one dimension: their number, the elements of each, and the windows that hold an element.

#include <locus/core/size_2d.hpp>
#include <locus/core/size_3d.hpp>
#include <locus/core/std/bounds.hpp>

namespace locus { inline namespace LOCUS_ABI {

/// A stride as long as the kernel: windows lie side by side.
inline constexpr std::int64_t same_as_kernel = -1;

namespace detail {

/// A position along a pooled dimension. On a GPU, 64 bits would take twice the registers.
using PoolIndex = std::int32_t;
/// The most elements of an extent with its border; larger numbers count as this one. Sums of three fit a PoolIndex.
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

/// A row of work as its plane and its row there; all planes have as many rows.
struct RowOfPlane {
  std::int64_t plane;
  PoolIndex at;
  LOCUS_FN RowOfPlane(std::int64_t row, PoolIndex rows)
      : plane(row / rows), at(static_cast<PoolIndex>(row - plane * rows)) {}
};

/// Windows along one dimension: window o has the elements from o * step - padding to `reach` after that.
struct PoolAxis {
  PoolIndex extent = 1, outputs = 1, reach = 0, step = 1, padding = 0;

  /// The elements of window o that are not in the border.
  [[nodiscard]] LOCUS_FN PoolRange elements_of(PoolIndex o) const {
    const PoolIndex begin = first_of(o);
    return {larger(begin, PoolIndex{0}), smaller(begin + reach + 1, extent)};
  }
  /// The number of elements of window o, including the border, but nothing beyond it.
  [[nodiscard]] LOCUS_FN PoolIndex padded_count(PoolIndex o) const {
    const PoolIndex begin = first_of(o);
    return smaller(begin + reach + 1, extent + padding) - begin;
  }
  /// The windows that cover element i.
  [[nodiscard]] LOCUS_FN PoolRange windows_of(PoolIndex i) const {
    const PoolIndex at = i + padding, before = at - reach;
    return {before <= 0 ? 0 : (before - 1) / step + 1, smaller(at / step + 1, outputs)};
  }
  [[nodiscard]] LOCUS_FN PoolIndex first_of(PoolIndex o) const { return o * step - padding; }
};

/// The same, where a window has only every `dilation`-th of the elements it covers.
struct DilatedAxis : PoolAxis {
  PoolIndex dilation = 1;

  [[nodiscard]] LOCUS_FN DilatedRange elements_of(PoolIndex o) const {
    PoolIndex begin = first_of(o);
    const PoolIndex end = smaller(begin + reach + 1, extent);
    if (begin < 0) begin = dilation == 1 ? 0 : begin + ((-begin - 1) / dilation + 1) * dilation;
    return {begin, end, dilation};
  }
  /// The subrange of the n windows from o whose tap `tap` lies inside the image, relative to o.
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

/// As many windows as requested, as equal as may be; neighbours share an element if the extent is no multiple.
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

/// Windows along the last three dimensions; those that are not pooled have an extent of 1.
template <class Axis>
struct WindowAxes {
  Axis of[3];
};

/// A size of one or two dimensions as one of three, whose others are 1, or a given number.
[[nodiscard]] constexpr Size3d pooled_size(std::int64_t line, std::int64_t others = 1) {
  return {others, others, line};
}
[[nodiscard]] constexpr Size3d pooled_size(const Size2d& image, std::int64_t others = 1) {
  return {others, image.height, image.width};
}
[[nodiscard]] constexpr Size3d pooled_size(const Size3d& volume, std::int64_t = 1) { return volume; }

/// What the messages of a pool have in common: its name, and the number of pooled dimensions.
struct PoolCaller {
  const char* caller;
  int dims;

  [[nodiscard]] std::string text(const Size3d& size) const {
    return dims == 1   ? std::to_string(size.width)
           : dims == 2 ? to_string(Size2d(size.height, size.width))
                       : to_string(size);
  }
  /// Extent d, 0 to 2, of the last three dimensions of a shape: 1 if it is not pooled.
  [[nodiscard]] std::int64_t extent(const Shape& shape, int d) const { return d < 3 - dims ? 1 : shape[d - 3]; }

  /// throws ShapeError unless a shape is (n, c, ...) or (c, ...) with elements to pool
  LOCUS_OUT_OF_LINE void require_input(const Shape& shape) const {
    bool fits = shape.rank() == dims + 1 || shape.rank() == dims + 2;
    for (int d = 1; d <= dims && fits; ++d) fits = shape[-d] > 0;
    if (!fits)
      fail<ShapeError>({caller, ": an input of shape ", shape, "; expected ",
                        dims == 1   ? "(batch, channels, length)"
                        : dims == 2 ? "(batch, channels, height, width)"
                                    : "(batch, channels, depth, height, width)",
                        ", or the same without the batch, with elements to pool"});
  }
  /// throws ShapeError for more elements along a dimension, the border included, than a launch counts
  static void require_few(std::string_view caller, const Shape& shape, std::int64_t extent) {
    if (extent > most_pooled)
      fail<ShapeError>({caller, ": ", extent, " elements along a dimension of shape ", shape, ", its border included; ",
                        "expected at most ", most_pooled});
  }
};

/// The parameters of pooling; messages name `caller`. In fewer than three dimensions, the first extents are 1.
struct PoolRequest : PoolCaller {
  Size3d kernel, stride, padding = 0, dilation = 1;
  bool ceil_mode = false;

  /// throws ArgumentError unless kernel, stride and dilation are 1 or more, and the border at most half a window
  LOCUS_OUT_OF_LINE const PoolRequest& checked() const {
    for (const Size3d& size : {kernel, stride, dilation})
      if (size.depth < 1 || size.height < 1 || size.width < 1)
        fail<ArgumentError>({caller, ": a kernel of ", text(kernel), ", a stride of ", text(stride),
                             " and a dilation of ", text(dilation), "; expected 1 or more of each"});
    const auto fits = [](std::int64_t border, std::int64_t size, std::int64_t apart) {
      return border >= 0 && border <= reach(size, apart) / 2 + reach(size, apart) % 2;
    };
    if (!fits(padding.depth, kernel.depth, dilation.depth) || !fits(padding.height, kernel.height, dilation.height) ||
        !fits(padding.width, kernel.width, dilation.width))
      fail<ArgumentError>({caller, ": padding of ", text(padding), " for a kernel of ", text(kernel), " dilated by ",
                           text(dilation), "; expected at most half of it"});
    return *this;
  }

  /// The axes for the last dimensions of an input. throws ShapeError
  [[nodiscard]] LOCUS_OUT_OF_LINE WindowAxes<DilatedAxis> plan(const Shape& shape) const {
    require_input(shape);
    const DilatedAxis cols = axis(shape, extent(shape, 2), kernel.width, stride.width, padding.width, dilation.width);
    const DilatedAxis rows =
        axis(shape, extent(shape, 1), kernel.height, stride.height, padding.height, dilation.height);
    return {{axis(shape, extent(shape, 0), kernel.depth, stride.depth, padding.depth, dilation.depth), rows, cols}};
  }
  /// The same for one or two dimensions.
  void plan(const Shape& shape, DilatedAxis& rows, DilatedAxis& cols) const {
    const auto axes = plan(shape);
    rows = axes.of[1], cols = axes.of[2];
  }

 private:
  /// The distance from a window's first element to its last, at most INT64_MAX / 2.
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
  /// The number of windows, as PyTorch counts them: none begins beyond the input and the border before it.
  [[nodiscard]] std::int64_t outputs(std::int64_t extent, std::int64_t last, std::int64_t step,
                                     std::int64_t border) const {
    const std::int64_t room = extent + 2 * border - last - 1;
    if (room < 0) return ceil_mode && -room < step ? 1 : 0;
    const std::int64_t whole = room / step + 1;
    if (!ceil_mode || room % step == 0) return whole;
    return whole * step >= extent + border ? whole : whole + 1;
  }
};

/// throws ArgumentError
template <class Extent>
[[nodiscard]] PoolRequest pool_request(const char* caller, int dims, const Extent& kernel, const Extent& stride,
                                       const Extent& padding, const Extent& dilation, bool ceil_mode) {
  return PoolRequest{{caller, dims},
                     pooled_size(kernel),
                     stride == Extent(same_as_kernel) ? pooled_size(kernel) : pooled_size(stride),
                     pooled_size(padding, 0),
                     pooled_size(dilation),
                     ceil_mode}
      .checked();
}

/// A pool to a given size, by windows that divide an input into as many parts.
struct AdaptiveRequest : PoolCaller {
  Size3d size;

  /// throws ArgumentError unless all are 1 or more
  LOCUS_OUT_OF_LINE const AdaptiveRequest& checked() const {
    if (size.depth < 1 || size.height < 1 || size.width < 1)
      fail<ArgumentError>({caller, ": a size of ", text(size), "; expected 1 or more", dims == 1 ? "" : " of each"});
    return *this;
  }
  /// The axes for the last dimensions of an input. throws ShapeError
  [[nodiscard]] LOCUS_OUT_OF_LINE WindowAxes<AdaptiveAxis> plan(const Shape& shape) const {
    require_input(shape);
    const auto axis = [&](int d, std::int64_t outputs) {
      for (const std::int64_t count : {extent(shape, d), outputs}) require_few(caller, shape, count);
      return AdaptiveAxis{static_cast<PoolIndex>(extent(shape, d)), static_cast<PoolIndex>(outputs)};
    };
    return {{axis(0, size.depth), axis(1, size.height), axis(2, size.width)}};
  }
};

}  // namespace detail

}}  // namespace locus::LOCUS_ABI
