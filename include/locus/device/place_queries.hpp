#pragma once
// Compile-time queries about places, for user code.

#include <locus/device/verbs.hpp>

namespace locus { inline namespace LOCUS_ABI {

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

/// Whether `.to<To>()` can copy a tensor from From to To.
template <class From, class To>
concept CopyableTo =
    requires(From from, To to, void* data) { Transfer<From, To>::copy(from, data, to, data, std::size_t{}); };

}}  // namespace locus::LOCUS_ABI
