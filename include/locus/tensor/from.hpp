#pragma once
// Tensors of given values: nested lists, vectors and spans, iterators. Values are collected on the host and copied to
// the device once.

#include <locus/core/std/bounds.hpp>
#include <locus/core/std/iterator.hpp>
#include <locus/tensor/copy.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

/// Whether a number of type N may initialize an element of T: no fraction for an integer or a bool, and complex numbers
/// for complex elements alone.
template <class N, class T>
concept NumberFor = ((Arithmetic<N> || is_16_bit_float<N>)&&(DifferentiableDType<T> || std::is_integral_v<N>)) ||
                    (ComplexNumber<N> && is_complex<T>) || (is_dual<N> && std::is_same_v<N, T>);

}  // namespace detail

/// A number or a nested list, for `from`.
template <DType T>
class Nested {
 public:
  template <detail::NumberFor<T> N>
  Nested(N number) : number_(convert<T>(detail::own_number(number))) {
    detail::require_fits<T>("from", number, ", or another element type");
  }
  Nested() : is_list_(true) {}
  Nested(std::initializer_list<Nested> list) : list_(list), is_list_(true) {}

  /// throws ShapeError if lists differ in length or depth
  [[nodiscard]] Shape shape() const {
    Shape shape;
    measure(0, shape);
    return shape;
  }
  /// Writes the numbers in row-major order; returns the end.
  T* write(T* out) const {
    if (!is_list_) *out++ = number_;
    for (const Nested& item : list_) out = item.write(out);
    return out;
  }

 private:
  void measure(int depth, Shape& shape) const {
    if (!is_list_) return;
    shape.push_back(static_cast<std::int64_t>(list_.size()));
    if (list_.size() == 0) return;
    list_.begin()->measure(depth + 1, shape);
    for (const Nested& item : list_) item.require(depth + 1, shape);
  }
  /// throws ShapeError unless all nested lists have the lengths in `shape`, which the first items determine
  void require(int depth, const Shape& shape) const {
    const bool expected = depth < shape.rank();
    if (is_list_ != expected) {
      fail<ShapeError>({"from: numbers and lists side by side at depth ", depth, "; expected all of one kind"});
    }
    if (!is_list_) return;
    if (static_cast<std::int64_t>(list_.size()) != shape[depth]) {
      fail<ShapeError>({"from: a list of ", list_.size(), " at depth ", depth, ", where the first has ", shape[depth],
                        "; expected lists of equal length"});
    }
    for (const Nested& item : list_) item.require(depth + 1, shape);
  }

  std::initializer_list<Nested> list_;
  T number_{};
  bool is_list_ = false;
};

namespace detail {
/// A dense tensor on D; `write` writes its elements into host memory.
template <class T, MemorySpace D, class Write>
[[nodiscard]] Tensor<T, D> written_by(const Shape& shape, D device, const Write& write) {
  if constexpr (HostAccessible<D>) {
    Tensor<T, D> out(shape, device);
    write(out.data());
    return out;
  } else {
    Tensor<T, Cpu> values(shape);
    write(values.data());
    return values.to(device);
  }
}

/// The element of a tensor that holds values of V: V itself, and complex64 for std::complex<float>.
template <class V>
struct ElementOf {
  using type = V;
};
template <AnyStandardComplex V>
struct ElementOf<V> {
  using type = Complex<typename V::value_type>;
};
template <class V>
using element_of_t = typename ElementOf<V>::type;

/// Anything with std::data and std::size whose values a tensor can hold.
template <class R>
concept Values = requires(const R& values) {
  std::size(values);
  requires DType<element_of_t<std::remove_cvref_t<decltype(*std::data(values))>>>;
};
template <class T, class Given>
using element_or_t = std::conditional_t<std::is_void_v<T>, element_of_t<std::remove_cvref_t<Given>>, T>;

inline void require_count(std::int64_t given, const Shape& shape) {
  if (given != elements(shape))
    fail<ShapeError>({"from: ", given, " values for shape ", shape, ", which has ", elements(shape)});
}
}  // namespace detail

/// Nested lists of numbers: from({{1, 2}, {3, 4}}) has shape (2, 2). For bool, an integer other than 0 is true. throws
/// ShapeError for ragged lists
template <DType T = float, MemorySpace D = Cpu>
[[nodiscard]] Tensor<T, D> from(std::type_identity_t<std::initializer_list<Nested<T>>> list, D device = {}) {
  const Nested<T> nested(list);
  return detail::written_by<T>(nested.shape(), device, [&](T* out) { nested.write(out); });
}

/// The values of a vector, array or span in row-major order, as elements of T; without T, of their own type.
/// throws ShapeError unless the counts agree
template <class T = void, MemorySpace D = Cpu, detail::Values R>
[[nodiscard]] auto from(const R& values, const Shape& shape, D device = {}) {
  using Element = detail::element_or_t<T, decltype(*std::data(values))>;
  detail::require_count(static_cast<std::int64_t>(std::size(values)), shape);
  return detail::written_by<Element>(shape, device, [&](Element* out) {
    const auto* const source = std::data(values);
    for (std::size_t i = 0; i < std::size(values); ++i) out[i] = convert<Element>(detail::own_number(source[i]));
  });
}
/// As above, with one dimension.
template <class T = void, MemorySpace D = Cpu, detail::Values R>
[[nodiscard]] auto from(const R& values) {
  return locus::from<T, D>(values, {static_cast<std::int64_t>(std::size(values))});
}

/// The values from `first` to `last` in row-major order. throws ShapeError unless the counts agree
template <class T = void, MemorySpace D = Cpu, std::input_iterator I, std::sentinel_for<I> S>
  requires DType<detail::element_of_t<std::iter_value_t<I>>>
[[nodiscard]] auto from(I first, S last, const Shape& shape, D device = {}) {
  using Element = detail::element_or_t<T, std::iter_value_t<I>>;
  const std::int64_t room = elements(shape);
  return detail::written_by<Element>(shape, device, [&](Element* out) {
    std::int64_t count = 0;
    for (; first != last; ++first, ++count) {
      if (count < room) out[count] = convert<Element>(detail::own_number(static_cast<std::iter_value_t<I>>(*first)));
    }
    detail::require_count(count, shape);
  });
}

}}  // namespace locus::LOCUS_ABI
