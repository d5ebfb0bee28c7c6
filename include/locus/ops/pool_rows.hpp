#pragma once
// The launches of pooling: a row of work for each row of the result, and, of a gradient, for each row of the input.
// Windows are read where they lie; what reaches over the border is left out by index arithmetic.

#include <locus/core/bounds.hpp>
#include <locus/ops/rows.hpp>

namespace locus::inline LOCUS_ABI::detail {

/// begin, begin + step, ... below end
struct PoolRange {
  std::int64_t begin, end, step;
  [[nodiscard]] LOCUS_FN std::int64_t count() const { return end > begin ? (end - begin - 1) / step + 1 : 0; }
};

/// Windows along one dimension: number o has the elements o * step - padding + k * dilation, for k below size.
struct PoolAxis {
  std::int64_t extent = 1, outputs = 1, size = 1, step = 1, padding = 0, dilation = 1;

  /// The elements of window o that are not in the border.
  [[nodiscard]] LOCUS_FN PoolRange elements_of(std::int64_t o) const {
    std::int64_t begin = o * step - padding;
    const std::int64_t end = smaller(begin + (size - 1) * dilation + 1, extent);
    if (begin < 0) begin = dilation == 1 ? 0 : begin + ((-begin - 1) / dilation + 1) * dilation;
    return {begin, end, dilation};
  }
  /// Elements of window o, those of the border included, but not what lies beyond it.
  [[nodiscard]] LOCUS_FN std::int64_t padded_count(std::int64_t o) const {
    const std::int64_t begin = o * step - padding;
    return smaller(begin + size, extent + padding) - begin;
  }
  /// The windows that may hold element i; those that do, by holds().
  [[nodiscard]] LOCUS_FN PoolRange windows_of(std::int64_t i) const {
    const std::int64_t at = i + padding, before = at - (size - 1) * dilation;
    return {before <= 0 ? 0 : (before - 1) / step + 1, smaller(at / step + 1, outputs), 1};
  }
  [[nodiscard]] LOCUS_FN bool holds(std::int64_t o, std::int64_t i) const {
    return dilation == 1 || (i + padding - o * step) % dilation == 0;
  }
};

/// As many windows as are asked for, as equal as may be; neighbours share an element where the extent is no multiple.
struct AdaptiveAxis {
  std::int64_t extent = 1, outputs = 1;

  [[nodiscard]] LOCUS_FN PoolRange elements_of(std::int64_t o) const {
    return {o * extent / outputs, ((o + 1) * extent + outputs - 1) / outputs, 1};
  }
  [[nodiscard]] LOCUS_FN std::int64_t padded_count(std::int64_t o) const { return elements_of(o).count(); }
  [[nodiscard]] LOCUS_FN PoolRange windows_of(std::int64_t i) const {
    return {i * outputs / extent, ((i + 1) * outputs + extent - 1) / extent, 1};
  }
  [[nodiscard]] LOCUS_FN bool holds(std::int64_t, std::int64_t) const { return true; }
};

/// A tensor as planes of rows, of any strides.
template <class T>
struct Planes {
  const T* data;
  std::int64_t plane_stride, row_stride, stride;
};

/// y row (plane, o) = the largest element of each window; NaN is larger than any.
template <class T>
struct MaxPoolRow {
  static constexpr int fragments = 0;
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(T);
  Planes<const T> x;
  PoolAxis rows, cols;
  T* y;
  compute_t<T> lowest = fold::lowest<T>();

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    using R = compute_t<T>;
    const std::int64_t plane = row / rows.outputs, row_stride = x.row_stride, stride = x.stride;
    const PoolRange down = rows.elements_of(row - plane * rows.outputs);
    const T* const from = x.data + plane * x.plane_stride;
    const PoolAxis across = cols;
    const R start = lowest;
    team.store(RowOutput<T>{y + row * team.cols()}, [=](std::int64_t o) LOCUS_INLINED {
      const PoolRange along = across.elements_of(o);
      R largest = start, not_a_number = 0;
      for (std::int64_t i = down.begin; i < down.end; i += down.step) {
        for (std::int64_t j = along.begin; j < along.end; j += along.step) {
          const R v = load_as_register(from[i * row_stride + j * stride]);
          largest = v > largest ? v : largest;  // without a branch
          not_a_number = v != v ? v : not_a_number;
        }
      }
      return not_a_number != not_a_number ? not_a_number : largest;
    });
  }
};

/// dx plane = previous + the gradient of each window, by walk(plane, add), which calls add(element, g): for devices
/// whose rows of work are one thread's, one plane each.
template <class T, class Walk>
struct ScatterPlane {
  static constexpr int fragments = 0;
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(T);
  Walk walk;
  std::int64_t rows, cols;
  T* dx;
  bool accumulate;

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t plane, Team&) const {
    T* const to = dx + plane * rows * cols;
    if (!accumulate)
      for (std::int64_t i = 0; i < rows * cols; ++i) to[i] = T(0);
    walk(plane, [=](std::int64_t element, T g) LOCUS_INLINED { to[element] += g; });
  }
};

/// Equal, or both NaN.
template <class R>
[[nodiscard]] LOCUS_FN bool same_extreme(R a, R b) {
  return (a == b) | ((a != a) & (b != b));
}

/// The gradient of each window, to the first of its largest elements.
template <class T>
struct MaxPoolWalk {
  Planes<const T> x;
  PoolAxis rows, cols;
  const T *y, *g;

  template <class Add>
  LOCUS_FN void operator()(std::int64_t plane, const Add& add) const {
    const T* const from = x.data + plane * x.plane_stride;
    std::int64_t window = plane * rows.outputs * cols.outputs;
    for (std::int64_t p = 0; p < rows.outputs; ++p) {
      const PoolRange down = rows.elements_of(p);
      for (std::int64_t q = 0; q < cols.outputs; ++q, ++window) give(add, from, down, cols.elements_of(q), window);
    }
  }

 private:
  template <class Add>
  LOCUS_FN void give(const Add& add, const T* from, const PoolRange& down, const PoolRange& along,
                     std::int64_t window) const {
    for (std::int64_t i = down.begin; i < down.end; i += down.step) {
      for (std::int64_t j = along.begin; j < along.end; j += along.step) {
        if (same_extreme(from[i * x.row_stride + j * x.stride], y[window])) return add(i * cols.extent + j, g[window]);
      }
    }
  }
};

/// dx row (plane, i) = the gradients of the windows whose largest element stands there; of equal ones, the first has
/// it.
template <class T>
struct MaxPoolGradientRow {
  static constexpr int fragments = 0;
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(T);
  Planes<const T> x;
  PoolAxis rows, cols;
  const T *y, *g;
  T* dx;
  bool accumulate;

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    using R = compute_t<T>;
    const std::int64_t plane = row / rows.extent, i = row - plane * rows.extent;
    const PoolRange down = rows.windows_of(i);
    const MaxPoolGradientRow self = *this;
    const std::int64_t first = plane * rows.outputs * cols.outputs;
    const T* const from = x.data + plane * x.plane_stride;
    team.store(RowOutput<T>{dx + row * team.cols(), 1, accumulate}, [=](std::int64_t j) LOCUS_INLINED {
      const PoolRange along = self.cols.windows_of(j);
      const R here = load_as_register(from[i * self.x.row_stride + j * self.x.stride]);
      R sum = 0;
      for (std::int64_t p = down.begin; p < down.end; ++p) {
        for (std::int64_t q = along.begin; q < along.end; ++q) {
          const std::int64_t window = first + p * self.cols.outputs + q;
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
  [[nodiscard]] LOCUS_FN bool is_first(const T* from, const PoolRange& down, const PoolRange& along, std::int64_t i,
                                       std::int64_t j, R largest) const {
    for (std::int64_t k = down.begin; k <= i; k += down.step) {
      for (std::int64_t l = along.begin; l < (k == i ? j : along.end); l += along.step)
        if (same_extreme(load_as_register(from[k * x.row_stride + l * x.stride]), largest)) return false;
    }
    return true;
  }
};

/// By what the sum of a window is divided.
struct PoolDivisor {
  std::int64_t fixed = 0;  ///< 0: the number of its elements
  bool counts_border = true;

  /// The factor of one of the two dimensions.
  template <class Axis>
  [[nodiscard]] LOCUS_FN std::int64_t along(const Axis& axis, std::int64_t o) const {
    return counts_border ? axis.padded_count(o) : axis.elements_of(o).count();
  }
  template <class R>
  [[nodiscard]] LOCUS_FN R of(std::int64_t down, std::int64_t across) const {
    return static_cast<R>(fixed != 0 ? fixed : down * across);
  }
};

/// y row (plane, o) = the mean of each window; 0 of one that lies in the border alone
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
    const std::int64_t plane = row / rows.outputs, o = row - plane * rows.outputs;
    const std::int64_t row_stride = x.row_stride, stride = x.stride;
    const PoolRange down = rows.elements_of(o);
    const std::int64_t height = divisor.along(rows, o);
    const T* const from = x.data + plane * x.plane_stride;
    const Axis across = cols;
    const PoolDivisor by = divisor;
    team.store(RowOutput<T>{y + row * team.cols()}, [=](std::int64_t p) LOCUS_INLINED {
      const PoolRange along = across.elements_of(p);
      R sum = 0;
      for (std::int64_t i = down.begin; i < down.end; i += down.step)
        for (std::int64_t j = along.begin; j < along.end; j += along.step)
          sum += load_as_register(from[i * row_stride + j * stride]);
      return down.begin >= down.end || along.begin >= along.end ? R(0)
                                                                : sum / by.template of<R>(height, by.along(across, p));
    });
  }
};

/// The share of each element of each window.
template <class T, class Axis>
struct MeanPoolWalk {
  Axis rows, cols;
  PoolDivisor divisor;
  const T* g;

  template <class Add>
  LOCUS_FN void operator()(std::int64_t plane, const Add& add) const {
    const T* from = g + plane * rows.outputs * cols.outputs;
    for (std::int64_t p = 0; p < rows.outputs; ++p) {
      const PoolRange down = rows.elements_of(p);
      const std::int64_t height = divisor.along(rows, p);
      for (std::int64_t q = 0; q < cols.outputs; ++q) {
        const PoolRange along = cols.elements_of(q);
        const T share = *from++ / divisor.template of<T>(height, divisor.along(cols, q));
        for (std::int64_t i = down.begin; i < down.end; i += down.step)
          for (std::int64_t j = along.begin; j < along.end; j += along.step) add(i * cols.extent + j, share);
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
    const std::int64_t plane = row / rows.extent, i = row - plane * rows.extent;
    const PoolRange down = rows.windows_of(i);
    const Axis height = rows, across = cols;
    const PoolDivisor by = divisor;
    const T* const from = g + plane * rows.outputs * cols.outputs;
    team.store(RowOutput<T>{dx + row * team.cols(), 1, accumulate}, [=](std::int64_t j) LOCUS_INLINED {
      const PoolRange along = across.windows_of(j);
      R sum = 0;
      for (std::int64_t p = down.begin; p < down.end; ++p) {
        const std::int64_t of_rows = by.along(height, p);
        for (std::int64_t q = along.begin; q < along.end; ++q)
          sum += load_as_register(from[p * across.outputs + q]) / by.template of<R>(of_rows, by.along(across, q));
      }
      return sum;
    });
  }
};

}  // namespace locus::inline LOCUS_ABI::detail
