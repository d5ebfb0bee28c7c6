#pragma once
// Elements in another order along dimensions: reversed (flip), rotated (roll), a quarter turn (rot90).

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/view.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

/// A view with the dimensions of `axes`, a bit for each, reversed. For launches of map alone: others do not walk
/// negative strides.
template <class T, class D>
[[nodiscard]] Tensor<T, D> reversed(const Tensor<T, D>& x, unsigned axes) {
  Layout layout = x.layout();
  std::int64_t offset = 0;
  for (int d = 0; d < layout.rank(); ++d)
    if ((axes >> d & 1u) != 0) offset += layout.slice(d, to_end, to_end, -1);
  return Tensor<T, D>(x.buffer(), x.data() + offset, layout.shape, layout.strides);
}

/// The rotation of each dimension, in [0, extent).
struct Shifts {
  std::int64_t by[max_rank] = {};

  Shifts() = default;
  LOCUS_OUT_OF_LINE Shifts(const Shape& shape, const Axes& shifts, const Axes& axes) {
    if (shifts.rank() != axes.rank()) {
      fail<ArgumentError>({"roll: shifts ", shifts, " along axes ", axes, "; expected a shift for each axis"});
    }
    for (int i = 0; i < axes.rank(); ++i) {
      const int d = normalize_axis(axes[i], shape.rank(), "roll");
      const std::int64_t extent = shape[d];
      if (extent == 0) continue;
      const std::int64_t shift = shifts[i] % extent + by[d];
      by[d] = ((shift % extent) + extent) % extent;
    }
  }
  [[nodiscard]] Shifts back(const Shape& shape) const {
    Shifts result;
    for (int d = 0; d < shape.rank(); ++d) result.by[d] = by[d] == 0 ? 0 : shape[d] - by[d];
    return result;
  }
};

/// Calls put(part of to, part of from) for every block that a rotation moves as a whole.
template <class T, class D, class Put>
void roll_parts(const Tensor<T, D>& to, const Tensor<T, D>& from, const Shifts& shifts, const Put& put, int dim = 0) {
  while (dim < from.rank() && shifts.by[dim] == 0) ++dim;
  if (dim >= from.rank()) return put(to, from);
  const std::int64_t n = from.size(dim), by = shifts.by[dim];
  roll_parts(to.slice(dim, by), from.slice(dim, 0, n - by), shifts, put, dim + 1);
  roll_parts(to.slice(dim, 0, by), from.slice(dim, n - by), shifts, put, dim + 1);
}

}  // namespace detail

namespace operation {

struct Flip {
  static constexpr const char* name = "flip";
  static constexpr bool linear = true;
  unsigned axes;  ///< a bit for each
  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    return Forwarded{detail::reversed(x, axes).clone(), Tuple<>()};
  }
  template <class T, class D>
  void backward(const Tuple<>&, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    detail::map_to(dx, functor::Identity{}, detail::reversed(g, axes));
  }
};

struct Roll {
  static constexpr const char* name = "roll";
  static constexpr bool linear = true;
  detail::Shifts shifts;
  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    const Tensor<T, D> y(x.shape(), x.device());
    detail::roll_parts(y, x, shifts, [](const auto& to, const auto& from) { detail::copy_elements(from, to); });
    return Forwarded{y, Tuple<>()};
  }
  template <class T, class D>
  void backward(const Tuple<>&, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    const auto target = dx.open();
    detail::roll_parts(target.out, g, shifts.back(g.shape()), [&](const auto& to, const auto& from) {
      if (target.accumulate) detail::map_into(to, functor::Add{}, to, from);
      else detail::copy_elements(from, to);
    });
  }
};

}  // namespace operation

/// The elements in reverse along axes: one, a list, or all of them. A copy, as in PyTorch.
/// shape: as x     gradient: g, reversed     cost: one launch; backward one
/// throws IndexError; ArgumentError for an axis that is named twice
template <detail::Operand X>
[[nodiscard]] auto flip(const X& x, const ReduceAxes& axes = {}) {
  return apply(operation::Flip{detail::FoldedAxes("flip", x.shape(), axes).folded}, x);
}

/// Rotates the elements by `shifts` along axes; elements beyond the end come back at the start. Negative shifts move
/// back. Without an axis, x counts as one dimension.
/// shape: as x     gradient: g, moved back
/// cost:  two launches, twice as many for each further axis; backward the same
/// throws IndexError; ArgumentError unless there is a shift for each axis
template <detail::Operand X>
[[nodiscard]] auto roll(const X& x, const ReduceAxes& shifts, const ReduceAxes& axes) {
  return apply(operation::Roll{detail::Shifts(x.shape(), shifts.list(), axes.list())}, x);
}
template <detail::Operand X>
[[nodiscard]] auto roll(const X& x, std::int64_t shift) {
  return reshape(roll(reshape(x, {inferred}), shift, 0), x.shape());
}

/// Turns a plane of two dimensions by k quarters from the first towards the second, as in NumPy and PyTorch.
/// shape: (m, n) -> (n, m) for odd k     gradient: g, turned back     cost: one launch, none where k is a multiple of 4
template <detail::Operand X>
[[nodiscard]] auto rot90(const X& x, int k = 1, int first = 0, int second = 1) {
  const int rank = x.shape().rank(), a = normalize_axis(first, rank, "rot90"),
            b = normalize_axis(second, rank, "rot90");
  if (a == b) fail<ArgumentError>({"rot90: dimension ", a, " twice; expected two dimensions"});
  switch ((k % 4 + 4) % 4) {
    case 1: return transpose(flip(x, b), a, b);
    case 2: return transpose(flip(x, {a, b}), a, a);
    case 3: return transpose(flip(x, a), a, b);
    default: return transpose(x, a, a);
  }
}

#include <locus/refuse/ops/flip.inc>

}}  // namespace locus::LOCUS_ABI
