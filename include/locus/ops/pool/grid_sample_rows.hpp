#pragma once
// The launches of sampling at points of a grid. A point has taps along each dimension, elements with a weight; its
// value is the sum over all combinations of taps.

#include <locus/ops/pool/pool_rows.hpp>

namespace locus { inline namespace LOCUS_ABI {

enum class SampleMode { bilinear, nearest, bicubic };
/// Elements beyond the border: zeros, those of the border, or reflected ones.
enum class SamplePadding { zeros, border, reflection };

namespace detail {

/// Number of taps along each dimension.
[[nodiscard]] constexpr int sample_taps(SampleMode mode) {
  return mode == SampleMode::nearest ? 1 : mode == SampleMode::bilinear ? 2 : 4;
}

/// A coordinate, and its derivative by the grid's number.
template <class R>
struct SampledPoint {
  R at, slope;
};

/// The taps of a point along one dimension: -1 for an element beyond the border, which is 0.
template <class R, int count>
struct SampleTaps {
  PoolIndex at[count];
  R weight[count], slope[count];  ///< slope: of the weight by the grid's number
};

/// One dimension of an input that is sampled.
struct SampledAxis {
  PoolIndex extent = 1;
  SamplePadding padding = SamplePadding::zeros;
  bool align_corners = false;

  template <class R, SampleMode mode>
  [[nodiscard]] LOCUS_FN auto taps(R number) const {
    SampledPoint<R> point = unscaled(number);
    if constexpr (mode != SampleMode::bicubic) point = bordered(point);
    if constexpr (mode == SampleMode::nearest) {
      return SampleTaps<R, 1>{{inside(math::round(point.at))}, {R(1)}, {R(0)}};
    } else {
      const R first = math::floor(point.at), t = point.at - first;
      if constexpr (mode == SampleMode::bilinear)
        return SampleTaps<R, 2>{{inside(first), inside(first + R(1))}, {R(1) - t, t}, {-point.slope, point.slope}};
      else return cubic(first, t, point.slope);
    }
  }

 private:
  /// From -1 to 1, the borders of the input or the centres of its outermost elements, to its elements.
  template <class R>
  [[nodiscard]] LOCUS_FN SampledPoint<R> unscaled(R number) const {
    const R size = static_cast<R>(extent);
    if (align_corners) return {(number + R(1)) / R(2) * (size - R(1)), (size - R(1)) / R(2)};
    return {((number + R(1)) * size - R(1)) / R(2), size / R(2)};
  }
  template <class R>
  [[nodiscard]] LOCUS_FN SampledPoint<R> bordered(const SampledPoint<R>& point) const {
    if (padding == SamplePadding::zeros) return point;
    return clipped(padding == SamplePadding::reflection ? reflected(point) : point);
  }
  template <class R>
  [[nodiscard]] LOCUS_FN SampledPoint<R> clipped(const SampledPoint<R>& point) const {
    const R last = static_cast<R>(extent - 1);
    if (!(point.at > R(0))) return {R(0), R(0)};  // NaN, too
    return point.at >= last ? SampledPoint<R>{last, R(0)} : point;
  }
  /// Reflected at the centres of the outermost elements, or at their outer borders.
  template <class R>
  [[nodiscard]] LOCUS_FN SampledPoint<R> reflected(const SampledPoint<R>& point) const {
    const R low = align_corners ? R(0) : R(-0.5), span = static_cast<R>(align_corners ? extent - 1 : extent);
    if (!(span > R(0))) return {R(0), R(0)};
    const R distance = point.at - low, magnitude = distance < R(0) ? -distance : distance;
    const R flips = math::floor(magnitude / span), rest = magnitude - flips * span;
    const bool is_odd = flips - math::floor(flips / R(2)) * R(2) >= R(1);
    const R slope = distance < R(0) ? -point.slope : point.slope;
    return is_odd ? SampledPoint<R>{span - rest + low, -slope} : SampledPoint<R>{rest + low, slope};
  }
  /// The element at a whole number, -1 beyond the border.
  template <class R>
  [[nodiscard]] LOCUS_FN PoolIndex inside(R at) const {
    return at >= R(0) && at < static_cast<R>(extent) ? static_cast<PoolIndex>(at) : -1;
  }
  /// Keys's kernel with a = -0.75, as PyTorch's; each tap beyond the border is taken from where the padding says.
  template <class R>
  [[nodiscard]] LOCUS_FN SampleTaps<R, 4> cubic(R first, R t, R slope) const {
    const R a = R(-0.75), s = R(1) - t;
    const auto near = [a](R d) { return ((a + R(2)) * d - (a + R(3))) * d * d + R(1); };
    const auto far = [a](R d) { return ((a * d - R(5) * a) * d + R(8) * a) * d - R(4) * a; };
    const auto near_slope = [a](R d) { return (R(3) * (a + R(2)) * d - R(2) * (a + R(3))) * d; };
    const auto far_slope = [a](R d) { return (R(3) * a * d - R(10) * a) * d + R(8) * a; };
    SampleTaps<R, 4> taps{
        {},
        {far(t + R(1)), near(t), near(s), far(s + R(1))},
        {far_slope(t + R(1)) * slope, near_slope(t) * slope, -near_slope(s) * slope, -far_slope(s + R(1)) * slope}};
    for (int k = 0; k < 4; ++k)
      taps.at[k] = inside(math::round(bordered(SampledPoint<R>{first + static_cast<R>(k - 1), R(0)}).at));
    return taps;
  }
};

/// The points of a grid of two or three dimensions in an input of three, of which the first may be 1. Grids are dense.
template <class T, SampleMode mode>
struct SampledGrid {
  using R = compute_t<T>;
  static constexpr int count = sample_taps(mode);
  SampledAxis axes[3];  ///< depth, height, width
  const T* grid;
  int dims;
  std::int64_t points;  ///< of each sample

  struct Taps {
    SampleTaps<R, count> of[3];
  };
  [[nodiscard]] LOCUS_FN Taps at(std::int64_t sample, std::int64_t point) const {
    const T* const numbers = grid + (sample * points + point) * dims;
    Taps taps;
    for (int d = 0; d < 3; ++d) {
      if (d < 3 - dims) {
        for (int k = 0; k < count; ++k) taps.of[d].at[k] = k == 0 ? 0 : -1, taps.of[d].slope[k] = R(0);
        for (int k = 0; k < count; ++k) taps.of[d].weight[k] = R(1);
      } else {
        taps.of[d] = axes[d].template taps<R, mode>(load_as_register(numbers[2 - d]));
      }
    }
    return taps;
  }
  /// Calls f(element, weights...) for each combination of taps inside the input.
  template <class F>
  LOCUS_FN void for_each(const Taps& taps, const F& f) const {
    for (int k = 0; k < count; ++k) {
      if (taps.of[0].at[k] < 0) continue;
      for (int i = 0; i < count; ++i) {
        if (taps.of[1].at[i] < 0) continue;
        for (int j = 0; j < count; ++j) {
          if (taps.of[2].at[j] < 0) continue;
          f(element(taps, k, i, j), k, i, j);
        }
      }
    }
  }
  [[nodiscard]] LOCUS_FN std::int64_t element(const Taps& taps, int k, int i, int j) const {
    return (std::int64_t{taps.of[0].at[k]} * axes[1].extent + taps.of[1].at[i]) * axes[2].extent + taps.of[2].at[j];
  }
  [[nodiscard]] LOCUS_FN static R weight(const Taps& taps, int k, int i, int j) {
    return taps.of[0].weight[k] * taps.of[1].weight[i] * taps.of[2].weight[j];
  }
  /// The derivative of a weight by number a of the point: 0 is x, the last dimension.
  [[nodiscard]] LOCUS_FN static R slope(const Taps& taps, int a, int k, int i, int j) {
    const R x = a == 0 ? taps.of[2].slope[j] : taps.of[2].weight[j];
    const R y = a == 1 ? taps.of[1].slope[i] : taps.of[1].weight[i];
    const R z = a == 2 ? taps.of[0].slope[k] : taps.of[0].weight[k];
    return x * y * z;
  }
  /// The number of elements of a plane.
  [[nodiscard]] LOCUS_FN std::int64_t elements() const {
    return std::int64_t{axes[0].extent} * axes[1].extent * axes[2].extent;
  }
};

/// y row (plane, row of points) = the values at the points. x is dense.
template <class T, SampleMode mode>
struct SampleRow {
  static constexpr int fragments = 0;
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(T);
  SampledGrid<T, mode> grid;
  const T* x;
  std::int64_t channels;
  T* y;

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    using R = compute_t<T>;
    const std::int64_t rows = grid.points / team.cols(), plane = row / rows, sample = plane / channels;
    const std::int64_t first = (row - plane * rows) * team.cols();
    const SampledGrid<T, mode> from = grid;
    const T* const elements = x + plane * grid.elements();
    team.store(RowOutput<T>{y + row * team.cols()}, [=](std::int64_t c) LOCUS_INLINED {
      const auto taps = from.at(sample, first + c);
      R sum = 0;
      from.for_each(taps, [&](std::int64_t element, int k, int i, int j) LOCUS_INLINED {
        sum += from.weight(taps, k, i, j) * load_as_register(elements[element]);
      });
      return sum;
    });
  }
};

/// dgrid row (sample, row of points) = the gradient of each number of each point, summed over the channels.
template <class T, SampleMode mode>
struct SampleGridGradientRow {
  static constexpr int fragments = 0;
  SampledGrid<T, mode> grid;
  const T *x, *g;
  std::int64_t channels;
  T* dgrid;
  bool accumulate;

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    using R = compute_t<T>;
    const std::int64_t dims = grid.dims, cols = team.cols() / dims, rows = grid.points / cols, sample = row / rows;
    const std::int64_t first = (row - sample * rows) * cols, elements = grid.elements();
    const SampleGridGradientRow self = *this;
    team.store(RowOutput<T>{dgrid + row * team.cols(), 1, accumulate}, [=](std::int64_t c) LOCUS_INLINED {
      const std::int64_t point = first + c / dims;
      const int number = static_cast<int>(c % dims);
      const auto taps = self.grid.at(sample, point);
      R sum = 0;
      for (std::int64_t channel = sample * self.channels; channel < (sample + 1) * self.channels; ++channel) {
        const T* const from = self.x + channel * elements;
        R slope = 0;
        self.grid.for_each(taps, [&](std::int64_t element, int k, int i, int j) LOCUS_INLINED {
          slope += self.grid.slope(taps, number, k, i, j) * load_as_register(from[element]);
        });
        sum += slope * load_as_register(self.g[channel * self.grid.points + point]);
      }
      return sum;
    });
  }
};

/// The gradients of the elements of a plane: walk(plane, add).
template <class T, SampleMode mode>
struct SampleWalk {
  using R = compute_t<T>;
  SampledGrid<T, mode> grid;
  const T* g;
  std::int64_t channels;

  template <class Add>
  LOCUS_FN void operator()(std::int64_t plane, const Add& add) const {
    for (std::int64_t point = 0; point < grid.points; ++point) {
      const auto taps = grid.at(plane / channels, point);
      const R gradient = load_as_register(g[plane * grid.points + point]);
      grid.for_each(taps, [&](std::int64_t element, int k, int i, int j)
                              LOCUS_INLINED { add(element, grid.weight(taps, k, i, j) * gradient); });
    }
  }
};

/// One combination of taps of each point: its element among those of all samples, -1 beyond the border.
template <class T, SampleMode mode>
struct TapPlaceRow {
  static constexpr int fragments = 0;
  SampledGrid<T, mode> grid;
  int k, i, j;
  std::int64_t* places;

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t sample, Team& team) const {
    const TapPlaceRow self = *this;
    team.store(RowOutput<std::int64_t>{places + sample * team.cols()}, [=](std::int64_t point) LOCUS_INLINED {
      const auto taps = self.grid.at(sample, point);
      const bool is_inside = taps.of[0].at[self.k] >= 0 && taps.of[1].at[self.i] >= 0 && taps.of[2].at[self.j] >= 0;
      return is_inside ? sample * self.grid.elements() + self.grid.element(taps, self.k, self.i, self.j) : -1;
    });
  }
};
/// rows (sample, point) = the gradients of the channels of such a tap.
template <class T, SampleMode mode>
struct TapGradientRow {
  static constexpr int fragments = 0;
  SampledGrid<T, mode> grid;
  int k, i, j;
  const T* g;
  compute_t<T>* rows;

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    const std::int64_t points = grid.points, sample = row / points, point = row - sample * points;
    const auto weight = grid.weight(grid.at(sample, point), k, i, j);
    const T* const from = g + sample * team.cols() * points + point;
    team.store(RowOutput<compute_t<T>>{rows + row * team.cols()},
               [=](std::int64_t c) LOCUS_INLINED { return weight * load_as_register(from[c * points]); });
  }
};

}  // namespace detail

}}  // namespace locus::LOCUS_ABI
