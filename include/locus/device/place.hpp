#pragma once
// Questions about places that user code may ask at compile time.

#include <locus/device/verbs.hpp>

namespace locus::inline LOCUS_ABI {

template <class T, class D>
class Tensor;

/// Whether code running on Exec may dereference memory of Mem.
template <class Exec, class Mem>
inline constexpr bool can_access = std::is_same_v<Exec, Mem>;
template <>
inline constexpr bool can_access<Cpu, Pinned> = true;
template <>
inline constexpr bool can_access<Cuda, Pinned> = true;

/// Whether the host may read and write the elements of memory of D.
template <class D>
concept HostAccessible = MemorySpace<D> && can_access<Cpu, D>;

/// Whether `.to<To>()` can bring a tensor of From there.
template <class From, class To>
concept CopyableTo =
    requires(From from, To to, void* data) { Transfer<From, To>::copy(from, data, to, data, std::size_t{}); };
template <class From, class To>
inline constexpr bool can_copy = CopyableTo<From, To>;

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
template <class A, class B>
inline constexpr bool same_device = SameDevice<A, B>;

}  // namespace locus::inline LOCUS_ABI
