#pragma once
// With Options::debug: whether values that are said to be the same on all ranks are.

#include <locus/device/trace/expression_text.hpp>
#include <locus/distributed/spread/ranks.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

/// The name of an axis: Data.
template <class A>
[[nodiscard]] std::string axis_name() {
  std::string_view name = locus::detail::type_in(locus::detail::type_text<A>());
  if (const auto scope = name.rfind("::"); scope != std::string_view::npos) name.remove_prefix(scope + 2);
  return std::string(name);
}

/// A number of the shape and the elements (FNV-1a), the same for the same bits.
template <class T, class D>
[[nodiscard]] std::int64_t hash_of(const Tensor<T, D>& x) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto mix = [&](std::uint64_t value) { hash = (hash ^ value) * 0x100000001b3u; };
  for (int d = 0; d < x.rank(); ++d) mix(static_cast<std::uint64_t>(x.size(d)));
  const Tensor<T, Cpu> host = x.contiguous().template to<Cpu>();
  const auto* const bytes = reinterpret_cast<const unsigned char*>(host.data());
  for (std::int64_t i = 0; i < host.elements() * static_cast<std::int64_t>(sizeof(T)); ++i) mix(bytes[i]);
  return static_cast<std::int64_t>(hash);
}

/// A collective, if the ranks compare their calls (Options::debug). The host waits. `what`: the value, in the error.
/// throws ArgumentError, on all ranks, if x of a rank has other elements than x of rank 0
template <class A, class T, class D>
void require_same(const Ranks<A, D>& ranks, const Tensor<T, D>& x, const char* what) {
  if (!ranks.communicator().is_debugging()) return;
  const Tensor<std::int64_t, D> mine({}, ranks.communicator().device());
  const auto all = ranks.communicator().all_gather(mine.fill_(hash_of(x))).template to<Cpu>();
  for (int rank = 1; rank < ranks.size(); ++rank)
    if (all(rank) != all(0))
      fail<ArgumentError>({what, " is said to be the same on all ranks along ", axis_name<A>(), ", and rank ", rank,
                           " of these has other elements than rank 0; label it Varying, or give all ranks the same, as "
                           "mesh.same(x) does"});
}

}}}  // namespace locus::LOCUS_ABI::dist::detail
