#pragma once
// Places: tags that name where a value lives, and their compile-time traits.

#include <locus/core/check.hpp>

#include <concepts>
#include <string>
#include <type_traits>

namespace locus {

/// The host's memory and processor.
struct Cpu {
  friend constexpr bool operator==(Cpu, Cpu) = default;
};

/// An NVIDIA GPU, by ordinal: Cuda{} is the first, Cuda{1} the second.
struct Cuda {
  int ordinal = 0;
  friend constexpr bool operator==(Cuda, Cuda) = default;
};

/// Page-locked host memory: the only source of an asynchronous copy to a GPU. Memory only: nothing computes there.
struct Pinned {
  friend constexpr bool operator==(Pinned, Pinned) = default;
};

}  // namespace locus

namespace locus { inline namespace LOCUS_ABI {

template <class T, class D>
class Tensor;

[[nodiscard]] inline std::string to_string(Cpu) { return "cpu"; }
[[nodiscard]] inline std::string to_string(Cuda device) { return join("cuda:", device.ordinal); }
[[nodiscard]] inline std::string to_string(Pinned) { return "pinned"; }

namespace detail {
template <class X>
using bare_t = std::remove_cvref_t<X>;
template <class X>
concept HasPlace = requires {
  typename bare_t<X>::device_type;
  typename bare_t<X>::value_type;
};
}  // namespace detail

/// The place of a tensor, traced tensor, parameter or expression.
template <detail::HasPlace X>
using device_of = typename detail::bare_t<X>::device_type;

/// The element type of a tensor, traced tensor, parameter or expression.
template <detail::HasPlace X>
using value_of = typename detail::bare_t<X>::value_type;

/// Whether two tensor-like types live in the same place.
template <class A, class B>
concept SameDevice = detail::HasPlace<A> && detail::HasPlace<B> && std::is_same_v<device_of<A>, device_of<B>>;

}}  // namespace locus::LOCUS_ABI
