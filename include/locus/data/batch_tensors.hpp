#pragma once
// The tensors of a batch of any type: a Tuple, a pair, or an aggregate that names its tensors.

#include <locus/data/dataset.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace data::detail {

/// Initializes a field of any type; only named, never called.
struct AnyField {
  template <class T>
  operator T() const;
};
template <class X, std::size_t... I>
consteval bool takes_fields(std::index_sequence<I...>) {
  return requires { X{((void)I, AnyField{})...}; };
}
/// The number of fields of an aggregate; 0 above `most`.
template <class X, std::size_t most = 8>
consteval std::size_t count_fields() {
  if constexpr (takes_fields<X>(std::make_index_sequence<most + 1>{})) return 0;
  else if constexpr (takes_fields<X>(std::make_index_sequence<most>{})) return most;
  else if constexpr (most > 1) return count_fields<X, most - 1>();
  else return 0;
}
/// The number of elements that a structured binding of X has, up to 8; 0 for other types.
template <class X>
consteval int elements_of_type() {
  if constexpr (requires { std::tuple_size<X>::value; }) return std::tuple_size_v<X> <= 8 ? std::tuple_size_v<X> : 0;
  else if constexpr (std::is_aggregate_v<X> && !std::is_array_v<X>) return static_cast<int>(count_fields<X>());
  else return 0;
}
template <class X>
concept Decomposes = (elements_of_type<X>() > 0);
/// The elements of a batch, whatever names it gives them, as a Tuple of handles.
template <Decomposes X>
[[nodiscard]] auto elements_of_batch(const X& batch) {
  return tensors_of<elements_of_type<X>()>(batch);
}

template <class X>
inline constexpr bool is_tuple_of_tensors = false;
template <class... T, class D>
inline constexpr bool is_tuple_of_tensors<Tuple<Tensor<T, D>...>> = sizeof...(T) > 0;
/// A batch: one or several plain tensors on one device.
template <class X>
concept TensorBatch = Decomposes<X> && is_tuple_of_tensors<decltype(elements_of_batch(std::declval<const X&>()))>;
/// Its tensors, as a Tuple.
template <TensorBatch X>
using batch_tensors_t = decltype(elements_of_batch(std::declval<const X&>()));

}}}  // namespace locus::LOCUS_ABI::data::detail
