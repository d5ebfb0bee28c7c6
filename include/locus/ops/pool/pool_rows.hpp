#pragma once
// The launches of pooling: a row of work for each row of the result, and, for a gradient, for each row of the input.
// Windows are read in place; index arithmetic leaves out the border.

#include <locus/ops/pool/pool_axis.hpp>
#include <locus/ops/rows.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// A tensor as planes of rows, of any strides.
template <class T>
struct Planes {
  const T* data;
  std::int64_t plane_stride, row_stride, stride;
  [[nodiscard]] LOCUS_FN const T* plane(std::int64_t p) const { return data + p * plane_stride; }
};

/// y row (plane, o) = the largest element of each window; NaN is larger than any.
template <class T>
struct MaxPoolRow {
  static constexpr int fragments = 0;
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(T);
  Planes<const T> x;
  DilatedAxis rows, cols;
  T* y;
  compute_t<T> lowest = fold::lowest<T>();

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    using R = compute_t<T>;
    const RowOfPlane here(row, rows.outputs);
    const std::int64_t row_stride = x.row_stride, stride = x.stride;
    const DilatedRange down = rows.elements_of(here.at);
    const T* const from = x.plane(here.plane);
    const DilatedAxis across = cols;
    const R start = lowest;
    team.store(RowOutput<T>{y + row * team.cols()}, [=](std::int64_t o) LOCUS_INLINED {
      const DilatedRange along = across.elements_of(static_cast<PoolIndex>(o));
      R largest = start, not_a_number = 0;
      for (PoolIndex i = down.begin; i < down.end; i += down.step) {
        for (PoolIndex j = along.begin; j < along.end; j += along.step) {
          const R v = load_as_register(from[i * row_stride + j * stride]);
          largest = v > largest ? v : largest;  // without a branch
          not_a_number = v != v ? v : not_a_number;
        }
      }
      return not_a_number != not_a_number ? not_a_number : largest;
    });
  }
};

/// dx plane = previous + the gradient of each window, by walk(plane, add), which calls add(element, g). For devices on
/// which one thread runs a row of work: a plane each. Sums of 16 bits are made in float, in the fragment.
template <class T, class Walk>
struct ScatterPlane {
  using R = compute_t<T>;
  static constexpr bool sums_in_place = std::is_same_v<T, R>;
  static constexpr int fragments = sums_in_place ? 0 : 1;
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(T);
  Walk walk;
  std::int64_t rows, cols;
  T* dx;
  bool accumulate;

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t plane, Team& team) const {
    T* const to = dx + plane * rows * cols;
    if constexpr (sums_in_place) {
      if (!accumulate)
        for (std::int64_t i = 0; i < rows * cols; ++i) to[i] = T(0);
      walk(plane, [=](std::int64_t element, R g) LOCUS_INLINED { to[element] += g; });
    } else {
      auto sums = team.load(RowInput<T>{accumulate ? to : nullptr});
      walk(plane, [&](std::int64_t element, R g) LOCUS_INLINED { sums[element] += g; });
      team.store(
          RowOutput<T>{to}, [](R v, std::int64_t) LOCUS_INLINED { return v; }, sums);
    }
  }
};

/// out (planes, rows, cols) = previous + gradients of windows. One launch. On a device whose loops follow_indices,
/// walk(plane, add) scatters them from window to window, a plane for each row of work: the host divides the planes
/// among its threads by their elements. Other devices collect them by `collected`, a functor of rows of elements.
template <class T, class D, class Walk, class Row>
void add_from_windows(const Tensor<T, D>& out, [[maybe_unused]] bool accumulate, std::int64_t planes, std::int64_t rows,
                      std::int64_t cols, [[maybe_unused]] const Walk& walk, [[maybe_unused]] const Row& collected) {
  if constexpr (CostModel<D>::follows_indices) {
    Backend<D>::for_each_row(out.device(), planes, rows * cols,
                             ScatterPlane<T, Walk>{walk, rows, cols, out.data(), accumulate});
  } else {
    Backend<D>::for_each_row(out.device(), planes * rows, cols, collected);
  }
}

/// Equal, or both NaN.
template <class R>
[[nodiscard]] LOCUS_FN bool same_extreme(R a, R b) {
  return (a == b) | ((a != a) & (b != b));
}

/// The gradient of each window goes to the first of its largest elements. These are found for several windows side by
/// side, by selects in place of unpredictable branches.
template <class T>
struct MaxPoolWalk {
  using R = compute_t<T>;
  static constexpr PoolIndex at_once = 64;
  Planes<const T> x;
  DilatedAxis rows, cols;
  const T *y, *g;

  template <class Add>
  LOCUS_FN void operator()(std::int64_t plane, const Add& add) const {
    const T* const from = x.plane(plane);
    std::int64_t window = plane * rows.outputs * cols.outputs;
    for (PoolIndex p = 0; p < rows.outputs; ++p) {
      for (PoolIndex q = 0; q < cols.outputs; q += at_once) {
        const PoolIndex n = smaller(cols.outputs - q, at_once);
        PoolIndex row[at_once], col[at_once];
        if (x.stride == 1 && cols.step == 1) find<1>(row, col, from, rows.elements_of(p), q, n, window);
        else if (x.stride == 1 && cols.step == 2) find<2>(row, col, from, rows.elements_of(p), q, n, window);
        else find<0>(row, col, from, rows.elements_of(p), q, n, window);
        for (PoolIndex k = 0; k < n; ++k, ++window)
          if (row[k] >= 0) add(std::int64_t{row[k]} * cols.extent + col[k], load_as_register(g[window]));
      }
    }
  }

 private:
  /// The position of the first of the largest elements of windows q, q + 1, ...; row -1 if a window lies in the border
  /// alone. With a `known_step` of 0, steps and strides are known at run time alone.
  template <PoolIndex known_step>
  LOCUS_FN void find(PoolIndex (&row)[at_once], PoolIndex (&col)[at_once], const T* from, const DilatedRange& down,
                     PoolIndex q, PoolIndex n, std::int64_t window) const {
    const std::int64_t stride = known_step == 0 ? x.stride : 1, step = known_step == 0 ? cols.step : known_step;
    const T* const largest = y + window;
    for (PoolIndex k = 0; k < n; ++k) row[k] = -1, col[k] = 0;
    if (down.end <= down.begin) return;
    for (PoolIndex i = down.begin + (down.end - 1 - down.begin) / down.step * down.step; i >= down.begin;
         i -= down.step) {
      const T* const line = from + i * x.row_stride;
      for (PoolIndex tap = cols.reach; tap >= 0; tap -= cols.dilation) {  // the first element last
        const PoolRange inside = cols.windows_inside(tap, q, n);
        const std::int64_t first = q * step + tap - cols.padding;
        LOCUS_IVDEP
        for (PoolIndex k = inside.begin; k < inside.end; ++k) {
          const bool found =
              same_extreme(load_as_register(line[(first + k * step) * stride]), load_as_register(largest[k]));
          row[k] = found ? i : row[k];
          col[k] = found ? static_cast<PoolIndex>(first + k * step) : col[k];
        }
      }
    }
  }
};

/// dx row (plane, i) = the gradients of the windows whose largest element stands there: the first of equal ones.
template <class T>
struct MaxPoolGradientRow {
  static constexpr int fragments = 0;
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(T);
  Planes<const T> x;
  DilatedAxis rows, cols;
  const T *y, *g;
  T* dx;
  bool accumulate;

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    using R = compute_t<T>;
    const RowOfPlane place(row, rows.extent);
    const PoolIndex i = place.at;
    const PoolRange down = rows.windows_of(i);
    const MaxPoolGradientRow self = *this;
    const std::int64_t first = place.plane * rows.outputs * cols.outputs;
    const T* const from = x.plane(place.plane);
    team.store(RowOutput<T>{dx + row * team.cols(), 1, accumulate}, [=](std::int64_t col) LOCUS_INLINED {
      const auto j = static_cast<PoolIndex>(col);
      const PoolRange along = self.cols.windows_of(j);
      const R here = load_as_register(from[i * self.x.row_stride + j * self.x.stride]);
      R sum = 0;
      for (PoolIndex p = down.begin; p < down.end; ++p) {
        for (PoolIndex q = along.begin; q < along.end; ++q) {
          const std::int64_t window = first + std::int64_t{p} * self.cols.outputs + q;
          const R largest = load_as_register(self.y[window]);
          if (!same_extreme(here, largest) || !self.rows.holds(p, i) || !self.cols.holds(q, j)) continue;
          if (self.is_first(from, self.rows.elements_of(p), self.cols.elements_of(q), i, j, largest))
            sum += load_as_register(self.g[window]);
        }
      }
      return sum;
    });
  }

 private:
  /// Whether no element of the window before (i, j) is the largest.
  template <class R>
  [[nodiscard]] LOCUS_FN bool is_first(const T* from, const DilatedRange& down, const DilatedRange& along, PoolIndex i,
                                       PoolIndex j, R largest) const {
    for (PoolIndex k = down.begin; k <= i; k += down.step) {
      for (PoolIndex l = along.begin; l < (k == i ? j : along.end); l += along.step)
        if (same_extreme(load_as_register(from[k * x.row_stride + l * x.stride]), largest)) return false;
    }
    return true;
  }
};

/// The divisor of a window's sum, as a factor for each of the two dimensions.
struct PoolDivisor {
  std::int64_t fixed = 0;  ///< 0: the number of its elements
  bool counts_border = true;

  template <class R, class Axis>
  [[nodiscard]] LOCUS_FN R down(const Axis& rows, PoolIndex o) const {
    return fixed != 0 ? static_cast<R>(fixed) : static_cast<R>(count(rows, o));
  }
  template <class R, class Axis>
  [[nodiscard]] LOCUS_FN R across(const Axis& cols, PoolIndex o) const {
    return fixed != 0 ? R(1) : static_cast<R>(count(cols, o));
  }

 private:
  template <class Axis>
  [[nodiscard]] LOCUS_FN PoolIndex count(const Axis& axis, PoolIndex o) const {
    return counts_border ? axis.padded_count(o) : axis.elements_of(o).count();
  }
};

/// y row (plane, o) = the mean of each window; 0 for a window in the border alone
template <class T, class Axis>
struct MeanPoolRow {
  static constexpr int fragments = 0;
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(T);
  Planes<const T> x;
  Axis rows, cols;
  PoolDivisor divisor;
  T* y;

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    using R = compute_t<T>;
    const RowOfPlane here(row, rows.outputs);
    const std::int64_t row_stride = x.row_stride, stride = x.stride;
    const PoolRange down = rows.elements_of(here.at);
    const R height = divisor.template down<R>(rows, here.at);
    const T* const from = x.plane(here.plane);
    const Axis across = cols;
    const PoolDivisor by = divisor;
    team.store(RowOutput<T>{y + row * team.cols()}, [=](std::int64_t col) LOCUS_INLINED {
      const auto p = static_cast<PoolIndex>(col);
      const PoolRange along = across.elements_of(p);
      R sum = 0;
      for (PoolIndex i = down.begin; i < down.end; i += down.step)
        for (PoolIndex j = along.begin; j < along.end; j += along.step)
          sum += load_as_register(from[i * row_stride + j * stride]);
      const bool empty = down.begin >= down.end || along.begin >= along.end;
      return empty ? R(0) : sum / (height * by.template across<R>(across, p));
    });
  }
};

/// The share of each element of each window.
template <class T, class Axis>
struct MeanPoolWalk {
  using R = compute_t<T>;
  Axis rows, cols;
  PoolDivisor divisor;
  const T* g;

  template <class Add>
  LOCUS_FN void operator()(std::int64_t plane, const Add& add) const {
    const T* from = g + plane * rows.outputs * cols.outputs;
    for (PoolIndex p = 0; p < rows.outputs; ++p) {
      const PoolRange down = rows.elements_of(p);
      const R height = divisor.template down<R>(rows, p);
      for (PoolIndex q = 0; q < cols.outputs; ++q) {
        const PoolRange along = cols.elements_of(q);
        const R share = load_as_register(*from++) / (height * divisor.template across<R>(cols, q));
        for (PoolIndex i = down.begin; i < down.end; i += down.step)
          for (PoolIndex j = along.begin; j < along.end; j += along.step) add(std::int64_t{i} * cols.extent + j, share);
      }
    }
  }
};

/// dx row (plane, i) = the shares of the windows that hold each element
template <class T, class Axis>
struct MeanPoolGradientRow {
  static constexpr int fragments = 0;
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(T);
  Axis rows, cols;
  PoolDivisor divisor;
  const T* g;
  T* dx;
  bool accumulate;

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    using R = compute_t<T>;
    const RowOfPlane here(row, rows.extent);
    const PoolRange down = rows.windows_of(here.at);
    const Axis height = rows, across = cols;
    const PoolDivisor by = divisor;
    const T* const from = g + here.plane * rows.outputs * cols.outputs;
    team.store(RowOutput<T>{dx + row * team.cols(), 1, accumulate}, [=](std::int64_t col) LOCUS_INLINED {
      const auto j = static_cast<PoolIndex>(col);
      const PoolRange along = across.windows_of(j);
      R sum = 0;
      for (PoolIndex p = down.begin; p < down.end; ++p) {
        const R of_rows = by.template down<R>(height, p);
        for (PoolIndex q = along.begin; q < along.end; ++q)
          sum += load_as_register(from[std::int64_t{p} * across.outputs + q]) /
                 (of_rows * by.template across<R>(across, q));
      }
      return sum;
    });
  }
};

}}}  // namespace locus::LOCUS_ABI::detail
