#pragma once
// The row functors of convolutions: windows as columns, columns summed into images, and groups of few channels.

#include <locus/device/convolution.hpp>
#include <locus/device/row_team.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// Windows whose columns are computed together: [first, end) along each dimension, of so many images. They are
/// contiguous in the result: all of some images, some planes or rows of one, or a part of one row.
struct ConvPart {
  std::int64_t image = 0, images = 1;
  ConvIndex first[3] = {}, end[3] = {1, 1, 1};
  [[nodiscard]] LOCUS_FN std::int64_t extent(int d) const { return end[d] - first[d]; }
  [[nodiscard]] LOCUS_FN std::int64_t windows() const { return extent(0) * extent(1) * extent(2); }  ///< of an image
};

/// Returns i / extent; i becomes the remainder.
[[nodiscard]] LOCUS_FN std::int64_t divide(std::int64_t& i, std::int64_t extent) {
  const std::int64_t quotient = i / extent;
  i -= quotient * extent;
  return quotient;
}

/// columns (in, taps, images, windows of the part) = the elements of windows. A row of work is a row of windows.
template <class T>
struct WindowColumnsRow {
  static constexpr int fragments = 0;
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(T);
  ConvAxis axis[3];
  ConvPart part;
  ConvImages<const T> x;
  T* columns;

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    using R = compute_t<T>;
    std::int64_t rest = row;
    const std::int64_t rows = part.images * part.extent(0) * part.extent(1);
    const std::int64_t c = divide(rest, rows * axis[0].kernel * axis[1].kernel * axis[2].kernel);
    const auto k0 = static_cast<ConvIndex>(divide(rest, rows * axis[1].kernel * axis[2].kernel));
    const auto k1 = static_cast<ConvIndex>(divide(rest, rows * axis[2].kernel));
    const auto k2 = static_cast<ConvIndex>(divide(rest, rows));
    const std::int64_t image = divide(rest, part.extent(0) * part.extent(1));
    const auto o0 = static_cast<ConvIndex>(part.first[0] + divide(rest, part.extent(1)));
    const auto o1 = static_cast<ConvIndex>(part.first[1] + rest);
    const ConvIndex i0 = axis[0].source(o0, k0), i1 = axis[1].source(o1, k1), first = part.first[2];
    const bool inside = axis[0].holds(i0) && axis[1].holds(i1);
    const ConvAxis along = axis[2];
    const std::int64_t step = x.stride[4];
    const T* const from =
        inside ? x.data + (part.image + image) * x.stride[0] + c * x.stride[1] + i0 * x.stride[2] + i1 * x.stride[3]
               : x.data;
    team.store(RowOutput<T>{columns + row * team.cols()}, [=](std::int64_t o) LOCUS_INLINED {
      const ConvIndex i = along.source(first + static_cast<ConvIndex>(o), k2);
      return inside && along.holds(i) ? load_as_register(from[i * step]) : R(0);
    });
  }
};

/// dx (images, in, ...) = columns of windows, as above, summed (+ bias of the channel), for the elements from `begin`
/// on: `planes` of so many `rows`, each as long as a row of work.
template <class T>
struct FoldColumnsRow {
  static constexpr int fragments = 0;
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(T);
  ConvAxis axis[3];
  ConvPart part;
  std::int64_t in;
  ConvIndex begin[3], planes, rows;
  const T *columns, *bias;
  ConvImages<T> dx;
  bool accumulate;

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    using R = compute_t<T>;
    const FoldColumnsRow self = *this;
    std::int64_t rest = row;
    const std::int64_t image = divide(rest, in * planes * rows);
    const std::int64_t c = divide(rest, std::int64_t{planes} * rows);
    const auto i0 = static_cast<ConvIndex>(begin[0] + divide(rest, rows));
    const auto i1 = static_cast<ConvIndex>(begin[1] + rest);
    const std::int64_t windows = part.windows();
    const R shift = bias ? load_as_register(bias[c]) : R(0);
    T* const to = dx.at(part.image + image, c, i1, begin[2]) + i0 * dx.stride[2];
    team.store(RowOutput<T>{to, dx.stride[4], accumulate}, [=](std::int64_t col) LOCUS_INLINED {
      const ConvPart& of = self.part;
      const auto i2 = static_cast<ConvIndex>(self.begin[2] + col);
      R sum = shift;
      self.axis[0].for_each_tap(i0, of.first[0], of.end[0], [&](ConvIndex k0, ConvIndex o0) LOCUS_INLINED {
        self.axis[1].for_each_tap(i1, of.first[1], of.end[1], [&](ConvIndex k1, ConvIndex o1) LOCUS_INLINED {
          const std::int64_t tap = ((c * self.axis[0].kernel + k0) * self.axis[1].kernel + k1) * self.axis[2].kernel;
          const T* const from = self.columns + (tap * of.images + image) * windows +
                                ((o0 - of.first[0]) * of.extent(1) + o1 - of.first[1]) * of.extent(2);
          self.axis[2].for_each_tap(i2, of.first[2], of.end[2], [&](ConvIndex k2, ConvIndex o2) LOCUS_INLINED {
            sum += load_as_register(from[k2 * of.images * windows + o2 - of.first[2]]);
          });
        });
      });
      return sum;
    });
  }
};

/// The end of a convolution, also as the epilogue of a product whose rows are channels, or columns: c = sum + bias of
/// the channel (+ c), then relu if wanted, not with accumulation. bias may be null.
template <class T>
struct ChannelEpilogue {
  using R = compute_t<T>;
  const T* bias = nullptr;
  bool accumulate = false, relu = false, has_channels_as_columns = false;

  [[nodiscard]] ChannelEpilogue of_columns() const { return {bias, accumulate, relu, true}; }
  [[nodiscard]] constexpr bool accumulates() const { return accumulate; }
  [[nodiscard]] LOCUS_FN R shift(std::int64_t channel) const { return bias ? load_as_register(bias[channel]) : R(0); }
  [[nodiscard]] LOCUS_FN R rectified(R sum) const { return relu && sum < R(0) ? R(0) : sum; }  // NaN stays
  [[nodiscard]] LOCUS_FN R operator()(R product, R previous, std::int64_t row, std::int64_t col) const {
    return rectified(product + shift(has_channels_as_columns ? col : row) + previous);
  }
};

/// y (batch, out, ...) = the windows of x times their weights, each output by itself, and the epilogue. A row of work
/// is a row of y.
template <class T>
struct GroupedConvRow {
  static constexpr int fragments = 0;
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(T);
  ConvShape shape;
  ConvImages<const T> x;
  const T* w;
  ConvImages<T> y;
  ChannelEpilogue<T> epilogue;

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    using R = compute_t<T>;
    std::int64_t rest = row;
    const std::int64_t image = divide(rest, shape.out * shape.axis[0].outputs * shape.axis[1].outputs);
    const std::int64_t out = divide(rest, std::int64_t{shape.axis[0].outputs} * shape.axis[1].outputs);
    const auto o0 = static_cast<ConvIndex>(divide(rest, shape.axis[1].outputs)), o1 = static_cast<ConvIndex>(rest);
    const std::int64_t channels = shape.group_in(), first = out / shape.group_out() * channels;
    const ConvAxis rows = shape.axis[0], lines = shape.axis[1], along = shape.axis[2];
    const ConvImages<const T> images = x;
    const T* const from = x.data + image * x.stride[0] + first * x.stride[1];
    const T* const weights = w + out * channels * rows.kernel * lines.kernel * along.kernel;
    const ChannelEpilogue<T> end = epilogue;
    const R shift = end.shift(out);
    T* const to = y.at(image, out, o1, 0) + o0 * y.stride[2];
    team.store(RowOutput<T>{to, y.stride[4], end.accumulate}, [=](std::int64_t o2) LOCUS_INLINED {
      R sum = shift;
      const T* weight = weights;
      for (std::int64_t c = 0; c < channels; ++c) {
        for (ConvIndex k0 = 0; k0 < rows.kernel; ++k0) {
          const ConvIndex i0 = rows.source(o0, k0);
          for (ConvIndex k1 = 0; k1 < lines.kernel; ++k1, weight += along.kernel) {
            const ConvIndex i1 = lines.source(o1, k1);
            if (!rows.holds(i0) || !lines.holds(i1)) continue;
            const T* const line = from + c * images.stride[1] + i0 * images.stride[2] + i1 * images.stride[3];
            for (ConvIndex k2 = 0; k2 < along.kernel; ++k2) {
              const ConvIndex i2 = along.source(static_cast<ConvIndex>(o2), k2);
              if (along.holds(i2)) sum += load_as_register(line[i2 * images.stride[4]]) * load_as_register(weight[k2]);
            }
          }
        }
      }
      return end.rectified(sum);
    });
  }
};

/// dx (batch, in, ...) = the gradients of the windows that hold an element, times their weights (+ bias).
template <class T>
struct GroupedGradientRow {
  static constexpr int fragments = 0;
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(T);
  ConvShape shape;
  ConvImages<const T> g;
  const T *w, *bias;
  ConvImages<T> dx;
  bool accumulate;

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    using R = compute_t<T>;
    std::int64_t rest = row;
    const std::int64_t image = divide(rest, shape.in * shape.axis[0].extent * shape.axis[1].extent);
    const std::int64_t c = divide(rest, std::int64_t{shape.axis[0].extent} * shape.axis[1].extent);
    const auto i0 = static_cast<ConvIndex>(divide(rest, shape.axis[1].extent)), i1 = static_cast<ConvIndex>(rest);
    const std::int64_t channels = shape.group_in(), outs = shape.group_out();
    const std::int64_t first = c / channels * outs, within = c % channels;
    const ConvAxis rows = shape.axis[0], lines = shape.axis[1], along = shape.axis[2];
    const ConvImages<const T> gradients = g;
    const T* const from = g.at(image, first, 0, 0);
    const T* const weights = w + first * channels * rows.kernel * lines.kernel * along.kernel;
    const R shift = bias ? load_as_register(bias[c]) : R(0);
    T* const to = dx.at(image, c, i1, 0) + i0 * dx.stride[2];
    team.store(RowOutput<T>{to, dx.stride[4], accumulate}, [=](std::int64_t i2) LOCUS_INLINED {
      R sum = shift;
      for (std::int64_t o = 0; o < outs; ++o) {
        rows.for_each_tap(i0, 0, rows.outputs, [&](ConvIndex k0, ConvIndex o0) LOCUS_INLINED {
          lines.for_each_tap(i1, 0, lines.outputs, [&](ConvIndex k1, ConvIndex o1) LOCUS_INLINED {
            const T* const line = from + o * gradients.stride[1] + o0 * gradients.stride[2] + o1 * gradients.stride[3];
            const T* const weight =
                weights + (((o * channels + within) * rows.kernel + k0) * lines.kernel + k1) * along.kernel;
            along.for_each_tap(static_cast<ConvIndex>(i2), 0, along.outputs,
                               [&](ConvIndex k2, ConvIndex o2) LOCUS_INLINED {
                                 sum += load_as_register(line[o2 * gradients.stride[4]]) * load_as_register(weight[k2]);
                               });
          });
        });
      }
      return sum;
    });
  }
};

}}}  // namespace locus::LOCUS_ABI::detail
