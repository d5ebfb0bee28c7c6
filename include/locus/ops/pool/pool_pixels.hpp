#pragma once
// The launches of pooling for channels-last images, which are dense. A row of work is the channels of an element of the
// result, or, for a gradient, of the input.

#include <locus/ops/pool/pool_rows.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// A row of work as its image, row and column.
struct PixelOfImage {
  std::int64_t image;
  PoolIndex row, col;
  LOCUS_FN PixelOfImage(std::int64_t i, PoolIndex rows, PoolIndex cols) : image(i / cols / rows) {
    const std::int64_t line = i / cols;
    row = static_cast<PoolIndex>(line - image * rows);
    col = static_cast<PoolIndex>(i - line * cols);
  }
};

/// Channels-last images of an extent: where the channels of an element begin.
template <class T>
struct Pixels {
  const T* data;
  PoolIndex rows, cols;
  [[nodiscard]] LOCUS_FN const T* at(std::int64_t image, PoolIndex row, PoolIndex col, std::int64_t channels) const {
    return data + ((image * rows + row) * cols + col) * channels;
  }
};

/// y (image, p, q) = the largest element of each window; NaN is larger than any.
template <class T>
struct MaxPoolPixel {
  static constexpr int fragments = 1;
  static constexpr int fragment_bytes = sizeof(compute_t<T>);
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(T);
  const T* x;
  DilatedAxis rows, cols;
  T* y;
  compute_t<T> lowest = fold::lowest<T>();

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    using R = compute_t<T>;
    const PixelOfImage here(row, rows.outputs, cols.outputs);
    const Pixels<T> from{x, rows.extent, cols.extent};
    const DilatedRange down = rows.elements_of(here.row), along = cols.elements_of(here.col);
    const R start = lowest;
    auto largest = team.load(RowInput<T>{});
    team.update([=](R, std::int64_t) LOCUS_INLINED { return start; }, largest);
    for (PoolIndex i = down.begin; i < down.end; i += down.step) {
      for (PoolIndex j = along.begin; j < along.end; j += along.step) {
        const T* const element = from.at(here.image, i, j, team.cols());
        team.update(
            [=](R most, std::int64_t c) LOCUS_INLINED {
              const R v = load_as_register(element[c]);
              return ((v > most) | (v != v)) ? v : most;
            },
            largest);
      }
    }
    team.store(
        RowOutput<T>{y + row * team.cols()}, [](R v, std::int64_t) LOCUS_INLINED { return v; }, largest);
  }
};

/// dx (image, i, j) = the gradients of the windows whose largest element stands there: the first of equal ones.
template <class T>
struct MaxPoolGradientPixel {
  static constexpr int fragments = 2;
  static constexpr int fragment_bytes = sizeof(compute_t<T>);
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(T);
  const T* x;
  DilatedAxis rows, cols;
  const T *y, *g;
  T* dx;
  bool accumulate;

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    using R = compute_t<T>;
    const PixelOfImage here(row, rows.extent, cols.extent);
    const PoolRange down = rows.windows_of(here.row), along = cols.windows_of(here.col);
    auto sum = team.load(RowInput<T>{});
    auto has_it = team.load(RowInput<T>{});  // 1 if the element is the first of the largest, else 0
    for (PoolIndex p = down.begin; p < down.end; ++p) {
      for (PoolIndex q = along.begin; q < along.end; ++q) {
        if (!rows.holds(p, here.row) || !cols.holds(q, here.col)) continue;
        find(here, p, q, team, has_it);
        const T* const gradient = Pixels<T>{g, rows.outputs, cols.outputs}.at(here.image, p, q, team.cols());
        team.update([=](R v, R has, std::int64_t c)
                        LOCUS_INLINED { return v + (has != R(0) ? load_as_register(gradient[c]) : R(0)); },
                    sum, has_it);
      }
    }
    team.store(
        RowOutput<T>{dx + row * team.cols(), 1, accumulate}, [](R v, std::int64_t) LOCUS_INLINED { return v; }, sum);
  }

 private:
  /// Whether an element is the first of the largest elements of a window.
  template <class Team, class F>
  LOCUS_FN void find(const PixelOfImage& here, PoolIndex p, PoolIndex q, Team& team, F& has_it) const {
    using R = compute_t<T>;
    const std::int64_t channels = team.cols();
    const Pixels<T> from{x, rows.extent, cols.extent};
    const T* const largest = Pixels<T>{y, rows.outputs, cols.outputs}.at(here.image, p, q, channels);
    const T* const element = from.at(here.image, here.row, here.col, channels);
    team.update(
        [=](R, std::int64_t c) LOCUS_INLINED {
          return same_extreme(load_as_register(element[c]), load_as_register(largest[c])) ? R(1) : R(0);
        },
        has_it);
    const DilatedRange down = rows.elements_of(p), along = cols.elements_of(q);
    for (PoolIndex i = down.begin; i <= here.row; i += down.step) {
      for (PoolIndex j = along.begin; j < (i == here.row ? here.col : along.end); j += along.step) {
        const T* const before = from.at(here.image, i, j, channels);
        team.update(
            [=](R has, std::int64_t c) LOCUS_INLINED {
              return same_extreme(load_as_register(before[c]), load_as_register(largest[c])) ? R(0) : has;
            },
            has_it);
      }
    }
  }
};

/// to (image, row, col) = the weighted sum of elements of `from` (+ the previous value), over the divisor of `taps`,
/// which calls f(row, col, weight) for each of these elements.
template <class T, class Taps>
struct WeightedPixel {
  using R = compute_t<T>;
  static constexpr int fragments = 1;
  static constexpr int fragment_bytes = sizeof(compute_t<T>);
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(T);
  Taps taps;
  Pixels<T> from;
  PoolIndex rows, cols;  ///< of the result
  T* to;
  bool accumulate;

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    const PixelOfImage here(row, rows, cols);
    auto sum = team.load(RowInput<T>{});
    taps.for_each(here.row, here.col, [&](PoolIndex i, PoolIndex j, R weight) LOCUS_INLINED {
      const T* const element = from.at(here.image, i, j, team.cols());
      team.update([=](R v, std::int64_t c) LOCUS_INLINED { return v + weight * load_as_register(element[c]); }, sum);
    });
    const R by = taps.divisor(here.row, here.col);
    team.store(
        RowOutput<T>{to + row * team.cols(), 1, accumulate}, [=](R v, std::int64_t) LOCUS_INLINED { return v / by; },
        sum);
  }
};

/// The elements of the window of an output, and the divisor of their sum; 1 for a window in the border alone.
template <class R, class Axis>
struct MeanTaps {
  Axis rows, cols;
  PoolDivisor by;

  template <class F>
  LOCUS_FN void for_each(PoolIndex p, PoolIndex q, const F& f) const {
    const PoolRange down = rows.elements_of(p), along = cols.elements_of(q);
    for (PoolIndex i = down.begin; i < down.end; i += down.step)
      for (PoolIndex j = along.begin; j < along.end; j += along.step) f(i, j, R(1));
  }
  [[nodiscard]] LOCUS_FN R divisor(PoolIndex p, PoolIndex q) const {
    const bool is_empty = rows.elements_of(p).count() == 0 || cols.elements_of(q).count() == 0;
    return is_empty ? R(1) : by.template down<R>(rows, p) * by.template across<R>(cols, q);
  }
};
/// The windows that hold an element, with its share of each.
template <class R, class Axis>
struct MeanGradientTaps {
  Axis rows, cols;
  PoolDivisor by;

  template <class F>
  LOCUS_FN void for_each(PoolIndex i, PoolIndex j, const F& f) const {
    const PoolRange down = rows.windows_of(i), along = cols.windows_of(j);
    for (PoolIndex p = down.begin; p < down.end; ++p)
      for (PoolIndex q = along.begin; q < along.end; ++q)
        f(p, q, R(1) / (by.template down<R>(rows, p) * by.template across<R>(cols, q)));
  }
  [[nodiscard]] LOCUS_FN R divisor(PoolIndex, PoolIndex) const { return R(1); }
};

}}}  // namespace locus::LOCUS_ABI::detail
