#pragma once
// The tensors of a batch of any type: a Tuple, a pair, or an aggregate that names its tensors.

#include <locus/data/dataset.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace data::detail {

/// The number of elements that a structured binding of X has, up to 8; 0 for other types.
template <class X>
consteval std::size_t elements_of_type() {
  if constexpr (requires { std::tuple_size<X>::value; }) return std::tuple_size_v<X> <= 8 ? std::tuple_size_v<X> : 0;
  else return locus::detail::count_fields<X, 8>();
}
template <class X>
concept Decomposes = (elements_of_type<X>() > 0);
struct TypesOfEach {
  template <class... T> std::type_identity<Tuple<T...>> operator()(const T&...) const { return {}; }
};
/// The types of the elements, as a Tuple.
template <Decomposes X>
using element_types_t =
    typename decltype(locus::detail::with_fields<elements_of_type<X>()>(std::declval<const X&>(), TypesOfEach()))::type;
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
concept TensorBatch = Decomposes<X> && is_tuple_of_tensors<element_types_t<X>>;
/// Its tensors, as a Tuple.
template <TensorBatch X>
using batch_tensors_t = element_types_t<X>;

}}}  // namespace locus::LOCUS_ABI::data::detail
