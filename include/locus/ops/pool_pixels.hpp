#pragma once
// The launches of pooling of channels-last images, which are dense: a row of work is the channels of an element of the
// result, or, of a gradient, of the input.

#include <locus/ops/pool_rows.hpp>

namespace locus::inline LOCUS_ABI::detail {

/// A row of work among those of images of so many rows and columns.
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

/// dx (image, i, j) = the gradients of the windows whose largest element stands there; of equal ones, the first has it.
template <class T>
struct MaxPoolGradientPixel {
  static constexpr int fragments = 2;
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
    auto has_it = team.load(RowInput<T>{});  // 1, or 0
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
  /// Whether an element is the largest of a window, and none of the window before it is.
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

/// y (image, p, q) = the mean of each window; 0 of one that lies in the border alone.
template <class T, class Axis>
struct MeanPoolPixel {
  static constexpr int fragments = 1;
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(T);
  const T* x;
  Axis rows, cols;
  PoolDivisor divisor;
  T* y;

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    using R = compute_t<T>;
    const PixelOfImage here(row, rows.outputs, cols.outputs);
    const Pixels<T> from{x, rows.extent, cols.extent};
    const PoolRange down = rows.elements_of(here.row), along = cols.elements_of(here.col);
    auto sum = team.load(RowInput<T>{});
    for (PoolIndex i = down.begin; i < down.end; i += down.step) {
      for (PoolIndex j = along.begin; j < along.end; j += along.step) {
        const T* const element = from.at(here.image, i, j, team.cols());
        team.update([=](R v, std::int64_t c) LOCUS_INLINED { return v + load_as_register(element[c]); }, sum);
      }
    }
    const bool empty = down.begin >= down.end || along.begin >= along.end;
    const R by = divisor.template down<R>(rows, here.row) * divisor.template across<R>(cols, here.col);
    team.store(
        RowOutput<T>{y + row * team.cols()}, [=](R v, std::int64_t) LOCUS_INLINED { return empty ? R(0) : v / by; },
        sum);
  }
};

/// dx (image, i, j) = the shares of the windows that hold each element.
template <class T, class Axis>
struct MeanPoolGradientPixel {
  static constexpr int fragments = 1;
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(T);
  Axis rows, cols;
  PoolDivisor divisor;
  const T* g;
  T* dx;
  bool accumulate;

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    using R = compute_t<T>;
    const PixelOfImage here(row, rows.extent, cols.extent);
    const Pixels<T> from{g, rows.outputs, cols.outputs};
    const PoolRange down = rows.windows_of(here.row), along = cols.windows_of(here.col);
    auto sum = team.load(RowInput<T>{});
    for (PoolIndex p = down.begin; p < down.end; ++p) {
      for (PoolIndex q = along.begin; q < along.end; ++q) {
        const R by = divisor.template down<R>(rows, p) * divisor.template across<R>(cols, q);
        const T* const gradient = from.at(here.image, p, q, team.cols());
        team.update([=](R v, std::int64_t c) LOCUS_INLINED { return v + load_as_register(gradient[c]) / by; }, sum);
      }
    }
    team.store(
        RowOutput<T>{dx + row * team.cols(), 1, accumulate}, [](R v, std::int64_t) LOCUS_INLINED { return v; }, sum);
  }
};

}  // namespace locus::inline LOCUS_ABI::detail
