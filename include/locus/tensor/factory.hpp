#pragma once
// New tensors: filled, counted, random, or from given values. T defaults to float, D to Cpu: zeros({2, 3}),
// ones<double>({4}), rand<float, Cuda>({8, 8}), arange<std::int64_t>(10), eye<float>(3, Cuda{1}).

#include <locus/core/math.hpp>
#include <locus/tensor/from.hpp>
#include <locus/tensor/random.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

/// start + index * step: exact for integers, even if the product overflows; otherwise in double precision, rounded
/// once.
template <class T>
struct ArangeElement {
  using Number = std::conditional_t<FloatingDType<T>, double, std::int64_t>;
  Number start, step;
  [[nodiscard]] LOCUS_FN Number at(std::int64_t index) const {
    using W = math::wrapping_t<Number>;
    return static_cast<Number>(static_cast<W>(start) + static_cast<W>(index) * static_cast<W>(step));
  }
  LOCUS_FN void operator()(std::int64_t index, compute_t<T>& out) const { out = register_of<T>(at(index)); }
};

/// Counted from the nearer end, so that both ends are exact.
template <class T>
struct LinspaceElement {
  double start, end, step;
  std::int64_t steps;
  LOCUS_FN void operator()(std::int64_t index, compute_t<T>& out) const {
    const bool front = index < (steps + 1) / 2;
    const double distance = static_cast<double>(front ? index : steps - 1 - index) * step;
    out = register_of<T>(front ? start + distance : end - distance);
  }
};

template <class T>
struct EyeElement {
  std::int64_t cols;
  LOCUS_FN void operator()(std::int64_t index, compute_t<T>& out) const {
    out = static_cast<compute_t<T>>(index / cols == index % cols);
  }
};

/// Count of the numbers start, start + step, ... before end. throws ArgumentError
template <class T, class Number>
[[nodiscard]] std::int64_t arange_count(Number start, Number end, Number step) {
  const auto refuse = [&](std::string_view why) {
    fail<ArgumentError>({"arange: from ", start, " to ", end, " by ", step, ": ", why});
  };
  if (step == 0) refuse("the step must not be 0");
  if (step > 0 ? end < start : end > start) refuse("the step leads away from the end");
  if constexpr (std::is_same_v<Number, double>) {
    const double count = __builtin_ceil((end - start) / step);
    if (!(count < 0x1p62)) refuse("expected finite numbers, and fewer than 2^62 elements");
    return static_cast<std::int64_t>(count);
  } else {
    const auto distance = step > 0 ? static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(start)
                                   : static_cast<std::uint64_t>(start) - static_cast<std::uint64_t>(end);
    const auto stride =
        step > 0 ? static_cast<std::uint64_t>(step) : std::uint64_t{0} - static_cast<std::uint64_t>(step);
    const std::uint64_t count = distance / stride + (distance % stride != 0);
    if (count >= std::uint64_t{1} << 62) refuse("expected fewer than 2^62 elements");
    if (count > 0) {
      const auto last = ArangeElement<T>{start, step}.at(static_cast<std::int64_t>(count - 1));
      if (static_cast<std::int64_t>(static_cast<T>(start)) != start ||
          static_cast<std::int64_t>(static_cast<T>(last)) != last)
        refuse(join("not every element fits ", dtype_name<T>()));
    }
    return static_cast<std::int64_t>(count);
  }
}

template <class T, Device D>
[[nodiscard]] Tensor<T, D> arange(typename ArangeElement<T>::Number start, typename ArangeElement<T>::Number end,
                                  typename ArangeElement<T>::Number step, D device) {
  return from_indices<T>({arange_count<T>(start, end, step)}, device, ArangeElement<T>{start, step});
}

}  // namespace detail

/// Uninitialized elements. throws OutOfMemory, and ShapeError for a negative extent, as do all functions below
template <DType T = float, MemorySpace D = Cpu>
[[nodiscard]] Tensor<T, D> empty(const Shape& shape, D device = {}) {
  return Tensor<T, D>(shape, device);
}

template <DType T = float, MemorySpace D = Cpu, detail::NumberFor<T> N>
[[nodiscard]] Tensor<T, D> full(const Shape& shape, N value, D device = {}) {
  detail::require_fits<T>("full", value, ", or another element type");
  Tensor<T, D> out(shape, device);
  out.fill_(convert<T>(detail::own_number(value)));
  return out;
}
template <DType T = float, MemorySpace D = Cpu>
[[nodiscard]] Tensor<T, D> zeros(const Shape& shape, D device = {}) {
  return full<T>(shape, convert<T>(0), device);
}
template <DType T = float, MemorySpace D = Cpu>
[[nodiscard]] Tensor<T, D> ones(const Shape& shape, D device = {}) {
  return full<T>(shape, convert<T>(1), device);
}

/// start, start + step, ... before end. Unlike PyTorch's, the element type does not follow the arguments.
/// throws ArgumentError if the step is 0 or leads away from the end, or an element does not fit T
template <DType T = float, Device D = Cpu, detail::NumberFor<T> Start, detail::NumberFor<T> End,
          detail::NumberFor<T> Step = int>
  requires(!std::is_same_v<T, bool> && !is_complex<T>)
[[nodiscard]] Tensor<T, D> arange(Start start, End end, Step step = 1, D device = {}) {
  using Number = typename detail::ArangeElement<T>::Number;
  return detail::arange<T>(convert<Number>(start), convert<Number>(end), convert<Number>(step), device);
}
template <DType T = float, Device D = Cpu, detail::NumberFor<T> End>
  requires(!std::is_same_v<T, bool> && !is_complex<T>)
[[nodiscard]] Tensor<T, D> arange(End end, D device = {}) {
  return locus::arange<T>(0, end, 1, device);
}

/// `steps` numbers at equal distances, both ends included and exact. throws ArgumentError for negative steps
template <FloatingDType T = float, Device D = Cpu>
[[nodiscard]] Tensor<T, D> linspace(double start, double end, std::int64_t steps, D device = {}) {
  if (steps < 0) fail<ArgumentError>({"linspace: ", steps, " steps; expected 0 or more"});
  const double parts = steps > 1 ? static_cast<double>(steps - 1) : 1;
  const double distance = end - start;
  const double step = __builtin_isfinite(distance) ? distance / parts : end / parts - start / parts;
  return detail::from_indices<T>({steps}, device, detail::LinspaceElement<T>{start, end, step, steps});
}

/// Ones on the diagonal, zeros elsewhere; shape (rows, cols).
template <DType T = float, Device D = Cpu>
[[nodiscard]] Tensor<T, D> eye(std::int64_t rows, std::int64_t cols, D device = {}) {
  return detail::from_indices<T>({rows, cols}, device, detail::EyeElement<T>{cols});
}
template <DType T = float, Device D = Cpu>
[[nodiscard]] Tensor<T, D> eye(std::int64_t size, D device = {}) {
  return locus::eye<T>(size, size, device);
}

// Shape and device of another tensor, and its element type unless T is given.

template <class T = void, detail::HasPlace X>
[[nodiscard]] auto empty_like(const X& x) {
  return empty<std::conditional_t<std::is_void_v<T>, value_of<X>, T>>(x.shape(), x.device());
}
template <class T = void, detail::HasPlace X>
[[nodiscard]] auto zeros_like(const X& x) {
  return zeros<std::conditional_t<std::is_void_v<T>, value_of<X>, T>>(x.shape(), x.device());
}
template <class T = void, detail::HasPlace X>
[[nodiscard]] auto ones_like(const X& x) {
  return ones<std::conditional_t<std::is_void_v<T>, value_of<X>, T>>(x.shape(), x.device());
}
template <class T = void, detail::HasPlace X, class N>
[[nodiscard]] auto full_like(const X& x, N value) {
  return full<std::conditional_t<std::is_void_v<T>, value_of<X>, T>>(x.shape(), value, x.device());
}

#include <locus/refuse/tensor/factory.inc>

}}  // namespace locus::LOCUS_ABI
