#pragma once
// The launches of interpolation: a row of work for each row of the result, and, for a gradient, for each row of the
// input. Channels-last images have a row of work for the channels of an element (pool_pixels.hpp); for them, taps name
// the elements that contribute to it.

#include <locus/ops/pool/pool_pixels.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// The elements along one dimension that contribute to an output, as PyTorch computes it: where the extents are equal,
/// the input's own, whatever the factor. R is the type of coordinates, always float for the nearest element.
template <class R>
struct InterpolatedAxis {
  PoolIndex extent = 1, outputs = 1;
  R scale = 1;   ///< input elements per output element
  R centre = 0;  ///< from a coordinate to its element's centre: 1/2, or 0 where outermost elements coincide

  /// The output is (1 - weight) first + weight second; the second is the first one's neighbour or the same.
  struct Taps {
    PoolIndex first, second;
    R weight;
  };
  [[nodiscard]] LOCUS_FN Taps linear(PoolIndex o) const {
    if (outputs == extent) return {o, o, R(0)};
    const R at = larger(scale * (static_cast<R>(o) + centre) - centre, R(0));
    const PoolIndex first = smaller(static_cast<PoolIndex>(at), extent - 1);
    return {first, smaller(first + 1, extent - 1), smaller(at - static_cast<R>(first), R(1))};
  }
  [[nodiscard]] LOCUS_FN PoolIndex nearest(PoolIndex o) const {
    if (outputs == extent) return o;
    if (outputs == 2 * extent) return o / 2;
    return smaller(static_cast<PoolIndex>(static_cast<R>(o) * scale), extent - 1);
  }

  /// A range that holds all outputs to which element i contributes, with one more on each side since coordinates round.
  [[nodiscard]] LOCUS_FN PoolRange outputs_near(PoolIndex i) const {
    if (!(scale > R(0))) return {0, outputs};
    const R at = static_cast<R>(i) + centre;
    const R begin = (at - R(1)) / scale - centre, end = (at + R(1)) / scale - centre + R(1);
    const PoolIndex margin = 1 + outputs / 1048576;
    const auto bounded = [this](R o) {
      return o <= R(0) ? PoolIndex{0} : o < static_cast<R>(outputs) ? static_cast<PoolIndex>(o) : outputs;
    };
    return {i == 0 ? 0 : larger(bounded(begin) - margin, PoolIndex{0}),
            i == extent - 1 ? outputs : smaller(bounded(end) + margin, outputs)};
  }
};

/// y row (plane, o) = the nearest element of x to each output
template <class T>
struct NearestRow {
  static constexpr int fragments = 0;
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(T);
  Planes<const T> x;
  InterpolatedAxis<float> rows, cols;
  T* y;

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    const RowOfPlane here(row, rows.outputs);
    const T* const from = x.plane(here.plane) + rows.nearest(here.at) * x.row_stride;
    const std::int64_t stride = x.stride;
    const InterpolatedAxis<float> across = cols;
    team.store(RowOutput<T>{y + row * team.cols()}, [=](std::int64_t o) LOCUS_INLINED {
      return load_as_register(from[across.nearest(static_cast<PoolIndex>(o)) * stride]);
    });
  }
};

/// The nearest element to an output.
template <class R>
struct NearestTaps {
  InterpolatedAxis<float> rows, cols;

  template <class F>
  LOCUS_FN void for_each(PoolIndex p, PoolIndex q, const F& f) const {
    f(rows.nearest(p), cols.nearest(q), R(1));
  }
  [[nodiscard]] LOCUS_FN R divisor(PoolIndex, PoolIndex) const { return R(1); }
};

/// The contribution of each output to its element, for devices that scatter.
template <class T>
struct NearestWalk {
  InterpolatedAxis<float> rows, cols;
  const T* g;

  template <class Add>
  LOCUS_FN void operator()(std::int64_t plane, const Add& add) const {
    const T* from = g + plane * rows.outputs * cols.outputs;
    for (PoolIndex p = 0; p < rows.outputs; ++p) {
      const std::int64_t line = std::int64_t{rows.nearest(p)} * cols.extent;
      for (PoolIndex q = 0; q < cols.outputs; ++q) add(line + cols.nearest(q), load_as_register(*from++));
    }
  }
};

/// y row (plane, o) = the four neighbours of each output, by their distances
template <class T>
struct BilinearRow {
  using R = compute_t<T>;
  static constexpr int fragments = 0;
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(T);
  Planes<const T> x;
  InterpolatedAxis<R> rows, cols;
  T* y;

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    const RowOfPlane here(row, rows.outputs);
    const auto down = rows.linear(here.at);
    const T* const plane = x.plane(here.plane);
    const T *const above = plane + down.first * x.row_stride, *const below = plane + down.second * x.row_stride;
    const std::int64_t stride = x.stride;
    const InterpolatedAxis<R> across = cols;
    const R low = R(1) - down.weight, high = down.weight;
    team.store(RowOutput<T>{y + row * team.cols()}, [=](std::int64_t o) LOCUS_INLINED {
      const auto along = across.linear(static_cast<PoolIndex>(o));
      const std::int64_t left = along.first * stride, right = along.second * stride;
      const R near = R(1) - along.weight, far = along.weight;
      return low * (near * load_as_register(above[left]) + far * load_as_register(above[right])) +
             high * (near * load_as_register(below[left]) + far * load_as_register(below[right]));
    });
  }
};

/// The four neighbours of an output, by their distances.
template <class R>
struct BilinearTaps {
  InterpolatedAxis<R> rows, cols;

  template <class F>
  LOCUS_FN void for_each(PoolIndex p, PoolIndex q, const F& f) const {
    const auto down = rows.linear(p), along = cols.linear(q);
    const R low = R(1) - down.weight, high = down.weight, near = R(1) - along.weight, far = along.weight;
    f(down.first, along.first, low * near);
    f(down.first, along.second, low * far);
    f(down.second, along.first, high * near);
    f(down.second, along.second, high * far);
  }
  [[nodiscard]] LOCUS_FN R divisor(PoolIndex, PoolIndex) const { return R(1); }
};

/// The contributions of each output to its four elements, for devices that scatter.
template <class T>
struct BilinearWalk {
  using R = compute_t<T>;
  InterpolatedAxis<R> rows, cols;
  const T* g;

  template <class Add>
  LOCUS_FN void operator()(std::int64_t plane, const Add& add) const {
    const T* from = g + plane * rows.outputs * cols.outputs;
    for (PoolIndex p = 0; p < rows.outputs; ++p) {
      const auto down = rows.linear(p);
      const std::int64_t above = std::int64_t{down.first} * cols.extent,
                         below = std::int64_t{down.second} * cols.extent;
      for (PoolIndex q = 0; q < cols.outputs; ++q) {
        const auto along = cols.linear(q);
        const R v = load_as_register(*from++), high = v * down.weight, low = v - high;
        const R low_far = low * along.weight, high_far = high * along.weight;
        add(above + along.first, low - low_far);
        add(above + along.second, low_far);
        add(below + along.first, high - high_far);
        add(below + along.second, high_far);
      }
    }
  }
};

/// The share of element i in output o.
struct NearestShare {
  template <class R>
  [[nodiscard]] LOCUS_FN static R of(const InterpolatedAxis<float>& axis, PoolIndex o, PoolIndex i) {
    return axis.nearest(o) == i ? R(1) : R(0);
  }
};
struct LinearShare {
  template <class R>
  [[nodiscard]] LOCUS_FN static R of(const InterpolatedAxis<R>& axis, PoolIndex o, PoolIndex i) {
    const auto taps = axis.linear(o);
    return (taps.first == i ? R(1) - taps.weight : R(0)) + (taps.second == i ? taps.weight : R(0));
  }
};
/// dx row (plane, i) = the shares of each element in the outputs around it, for devices that gather.
template <class T, class Share, class Axis>
struct InterpolateGradientRow {
  using R = compute_t<T>;
  static constexpr int fragments = 0;
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(T);
  Axis rows, cols;
  const T* g;
  T* dx;
  bool accumulate;

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    const RowOfPlane place(row, rows.extent);
    const PoolIndex i = place.at;
    const PoolRange down = rows.outputs_near(i);
    const Axis height = rows, across = cols;
    const T* const from = g + place.plane * rows.outputs * cols.outputs;
    team.store(RowOutput<T>{dx + row * team.cols(), 1, accumulate}, [=](std::int64_t col) LOCUS_INLINED {
      const auto j = static_cast<PoolIndex>(col);
      const PoolRange along = across.outputs_near(j);
      R sum = 0;
      for (PoolIndex p = down.begin; p < down.end; ++p) {
        const R of_row = Share::template of<R>(height, p, i);
        if (of_row == R(0)) continue;
        const T* const line = from + std::int64_t{p} * across.outputs;
        R of_line = 0;
        for (PoolIndex q = along.begin; q < along.end; ++q) {
          const R of_col = Share::template of<R>(across, q, j);
          if (of_col != R(0)) of_line += of_col * load_as_register(line[q]);
        }
        sum += of_row * of_line;
      }
      return sum;
    });
  }
};

/// The outputs to which an element contributes, with its shares.
template <class R, class Share, class Axis>
struct ShareTaps {
  Axis rows, cols;

  template <class F>
  LOCUS_FN void for_each(PoolIndex i, PoolIndex j, const F& f) const {
    const PoolRange down = rows.outputs_near(i), along = cols.outputs_near(j);
    for (PoolIndex p = down.begin; p < down.end; ++p) {
      const R of_row = Share::template of<R>(rows, p, i);
      if (of_row == R(0)) continue;
      for (PoolIndex q = along.begin; q < along.end; ++q) {
        const R share = of_row * Share::template of<R>(cols, q, j);
        if (share != R(0)) f(p, q, share);
      }
    }
  }
  [[nodiscard]] LOCUS_FN R divisor(PoolIndex, PoolIndex) const { return R(1); }
};

}}}  // namespace locus::LOCUS_ABI::detail
