#pragma once
// Array: a tensor whose element type is known at run time, as Python needs it. The calls of functions (call.hpp) turn
// it into a Tensor<T, D> once. Its place is that of the extension module: the sources are compiled for Cpu as
// locus._core, and by nvcc for Cuda as locus._cuda.

#include <locus/autograd/expression.hpp>
#include <locus/core/element_type.hpp>
#include <locus/tensor/factory.hpp>

#include <optional>
#include <string>
#include <variant>

#if LOCUS_PYTHON_CUDA
#include <locus/cuda/backend.hpp>
#endif

namespace locus::python {

#if LOCUS_PYTHON_CUDA
using Here = Cuda;  ///< the place of all tensors of this extension module
#else
using Here = Cpu;  ///< the place of all tensors of this extension module
#endif
inline constexpr bool on_gpu = std::is_same_v<Here, Cuda>;

/// A list of element types.
template <class... T>
struct Types {};
using Floats = Types<float, double>;
using Recordable = Types<float, double, half, bfloat16>;  // of gradients
using Integers = Types<std::int32_t, std::int64_t>;
using Numbers = Types<float, double, std::int32_t, std::int64_t>;
using Ordered = Types<float, double, std::int32_t, std::int64_t, std::uint8_t>;
using Every = Types<float, double, half, bfloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                    std::uint16_t, std::uint32_t, std::uint64_t, bool>;

namespace detail {
template <class, class D>
struct Alternatives;
template <class... T, class D>
struct Alternatives<Types<T...>, D> {
  using Plain = std::variant<Tensor<T, D>...>;
  using Recorded = std::variant<std::monostate, Traced<T, D>...>;
};
}  // namespace detail

/// A plain tensor, or a recorded one: then `traced` holds its place in the graph.
template <class D>  // so that Python knows the classes of two modules apart
struct ArrayOn {
  using Plain = typename detail::Alternatives<Every, D>::Plain;
  using Recorded = typename detail::Alternatives<Recordable, D>::Recorded;

  Plain plain;
  Recorded traced = {};
  bool read_only = false;  ///< memory of an array that must not be written

  ArrayOn() = default;
  template <class T>
  ArrayOn(Tensor<T, D> tensor, bool is_read_only = false) : plain(std::move(tensor)), read_only(is_read_only) {}
  template <class T>
  ArrayOn(Traced<T, D> value) : plain(value.value()), traced(std::move(value)) {}

  [[nodiscard]] bool is_recorded() const { return traced.index() != 0; }
  [[nodiscard]] const Shape& shape() const {
    return std::visit([](const auto& x) -> const Shape& { return x.shape(); }, plain);
  }
  [[nodiscard]] const Strides& strides() const {
    return std::visit([](const auto& x) -> const Strides& { return x.strides(); }, plain);
  }
  [[nodiscard]] ElementType type() const {
    return std::visit([]<class T>(const Tensor<T, D>&) { return element_type<T>; }, plain);
  }
  [[nodiscard]] D place() const {
    return std::visit([](const auto& x) { return x.device(); }, plain);
  }
  /// For a result that may be a view of an operand, or the operand itself: it is then as read-only.
  void protect_as(const ArrayOn& operand) { read_only |= operand.read_only && memory() == operand.memory(); }

 private:
  [[nodiscard]] const void* memory() const {
    return std::visit([](const auto& x) -> const void* { return x.buffer().whole(); }, plain);
  }
};
using Array = ArrayOn<Here>;

/// The elements converted: recorded if the array is. throws ArgumentError for a recorded array and an integer type
[[nodiscard]] Array converted(const Array& array, ElementType type);

/// NumPy's name of an element type.
[[nodiscard]] std::string name_of(ElementType type);
/// "float32 or float64", for messages.
template <class... T>
[[nodiscard]] std::string names_of(Types<T...>) {
  const std::string names[] = {name_of(element_type<T>)...};
  std::string text = names[0];
  for (std::size_t i = 1; i < sizeof...(T); ++i) text += (i + 1 == sizeof...(T) ? " or " : ", ") + names[i];
  return text;
}

/// Calls f with the tensor of an array if its element type is in the list; without a result otherwise.
template <class R, class... T, class F>
[[nodiscard]] std::optional<R> visit_types(Types<T...>, const Array& array, F&& f) {
  std::optional<R> result;
  const auto attempt = [&]<class U>(const Tensor<U, Here>* tensor) {
    if (tensor) result.emplace(f(*tensor));
    return tensor != nullptr;
  };
  (void)(attempt(std::get_if<Tensor<T, Here>>(&array.plain)) || ...);
  return result;
}

/// Calls f.operator()<T>() for an element type of a list. throws ArgumentError for another, naming the list
template <class R, class... T, class F>
[[nodiscard]] R with_type(const char* caller, Types<T...> types, ElementType type, F&& f) {
  std::optional<R> result;
  (void)((type == element_type<T> && (result.emplace(f.template operator()<T>()), true)) || ...);
  if (!result) fail<ArgumentError>({caller, ": dtype is ", name_of(type), "; expected ", names_of(types)});
  return std::move(*result);
}

}  // namespace locus::python
