#pragma once
// The launches of max pooling with positions, in one to three dimensions: the place of each window's largest element,
// the elements at these places, and the gradient, which goes back to them.

#include <locus/ops/pool/pool_rows.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// The shape of a plane's last three dimensions, and the place of an element in row-major order.
struct PlaneExtents {
  std::int64_t rows = 1, cols = 1;
  [[nodiscard]] LOCUS_FN std::int64_t place(std::int64_t d, std::int64_t h, std::int64_t w) const {
    return (d * rows + h) * cols + w;
  }
};

/// y row (plane, o0, o1) = the place of each window's largest element within its plane: the first of equal ones, the
/// first NaN before all, -1 for a window without elements. x is dense.
template <class T, class Axis>
struct LargestPlaceRow {
  static constexpr int fragments = 0;
  static constexpr std::int64_t bytes_per_element = sizeof(T) + sizeof(std::int64_t);
  const T* x;
  WindowAxes<Axis> axes;
  std::int64_t* y;

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    using R = compute_t<T>;
    const RowOfPlane outer(row, axes.of[1].outputs), first(outer.plane, axes.of[0].outputs);
    const auto deep = axes.of[0].elements_of(first.at);
    const auto down = axes.of[1].elements_of(outer.at);
    const Axis across = axes.of[2];
    const PlaneExtents of{axes.of[1].extent, across.extent};
    const T* const from = x + first.plane * axes.of[0].extent * of.rows * of.cols;
    team.store(RowOutput<std::int64_t>{y + row * team.cols()}, [=](std::int64_t o) LOCUS_INLINED {
      const auto along = across.elements_of(static_cast<PoolIndex>(o));
      std::int64_t found = -1;
      R largest = 0;
      for (PoolIndex d = deep.begin; d < deep.end; d += deep.step) {
        for (PoolIndex i = down.begin; i < down.end; i += down.step) {
          for (PoolIndex j = along.begin; j < along.end; j += along.step) {
            const R v = load_as_register(from[of.place(d, i, j)]);
            const bool is_larger = (found < 0) | (v > largest) | ((v != v) & (largest == largest));
            largest = is_larger ? v : largest;
            found = is_larger ? of.place(d, i, j) : found;
          }
        }
      }
      return found;
    });
  }
};

/// y plane = the elements of the plane of x at these places; `missing` at -1.
template <class T>
struct PlacedPlane {
  static constexpr int fragments = 0;
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(T) + sizeof(std::int64_t);
  const T* x;
  const std::int64_t* places;
  std::int64_t elements;
  T* y;
  compute_t<T> missing = fold::lowest<T>();

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t plane, Team& team) const {
    using R = compute_t<T>;
    const T* const from = x + plane * elements;
    const std::int64_t* const at = places + plane * team.cols();
    const R none = missing;
    team.store(RowOutput<T>{y + plane * team.cols()},
               [=](std::int64_t o) LOCUS_INLINED { return at[o] < 0 ? none : R(load_as_register(from[at[o]])); });
  }
};

/// The gradient of each window, for the element at its place.
template <class T>
struct PlacedWalk {
  using R = compute_t<T>;
  const std::int64_t* places;
  const T* g;
  std::int64_t windows;

  template <class Add>
  LOCUS_FN void operator()(std::int64_t plane, const Add& add) const {
    for (std::int64_t o = plane * windows; o < (plane + 1) * windows; ++o)
      if (places[o] >= 0) add(places[o], load_as_register(g[o]));
  }
};

/// dx row (plane, i0, i1) = the gradients of the windows whose place is the element
template <class T, class Axis>
struct PlacedGradientRow {
  static constexpr int fragments = 0;
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(T) + sizeof(std::int64_t);
  WindowAxes<Axis> axes;
  const std::int64_t* places;
  const T* g;
  T* dx;
  bool accumulate;

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    using R = compute_t<T>;
    const RowOfPlane outer(row, axes.of[1].extent), first(outer.plane, axes.of[0].extent);
    const PoolRange deep = axes.of[0].windows_of(first.at), down = axes.of[1].windows_of(outer.at);
    const Axis across = axes.of[2];
    const std::int64_t begin = PlaneExtents{axes.of[1].extent, across.extent}.place(first.at, outer.at, 0);
    const PlaneExtents of{axes.of[1].outputs, across.outputs};
    const std::int64_t windows = axes.of[0].outputs * of.rows * of.cols * first.plane;
    const std::int64_t* const at = places + windows;
    const T* const from = g + windows;
    team.store(RowOutput<T>{dx + row * team.cols(), 1, accumulate}, [=](std::int64_t col) LOCUS_INLINED {
      const PoolRange along = across.windows_of(static_cast<PoolIndex>(col));
      R sum = 0;
      for (PoolIndex p = deep.begin; p < deep.end; ++p)
        for (PoolIndex q = down.begin; q < down.end; ++q)
          for (PoolIndex r = along.begin; r < along.end; ++r)
            if (at[of.place(p, q, r)] == begin + col) sum += load_as_register(from[of.place(p, q, r)]);
      return sum;
    });
  }
};

}}}  // namespace locus::LOCUS_ABI::detail
