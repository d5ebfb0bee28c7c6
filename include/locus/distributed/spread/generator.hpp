#pragma once
// Random numbers with a state along each axis.

#include <locus/core/generator.hpp>
#include <locus/distributed/spread/over.hpp>

namespace locus { inline namespace LOCUS_ABI {
namespace dist {

/// A generator on each rank: of the same numbers along the axes along which it is Invariant or Replicated, and of
/// others where it is Varying. Made by Mesh::generator. An operand of the functions that draw: dropout(x, p, numbers).
template <class D, class... S>
class SpreadGenerator {
 public:
  explicit SpreadGenerator(std::uint64_t seed) : numbers_{seed} {}
  /// The generator of this rank. All ranks along which draws are alike have to draw as many.
  [[nodiscard]] Generator<D>& local() { return numbers_; }

 private:
  Generator<D> numbers_;
};

namespace detail {
template <class D, class... S>
inline constexpr bool is_over<SpreadGenerator<D, S...>> = true;
template <class D, class... S>
struct StatesOf<SpreadGenerator<D, S...>> : std::type_identity<States<S...>> {};
template <class D, class L>
struct GeneratorOf;
template <class D, class... S>
struct GeneratorOf<D, States<S...>> : std::type_identity<SpreadGenerator<D, S...>> {};
}  // namespace detail

}  // namespace dist

LOCUS_REFUSALS_BEGIN
/// dropout() with a generator that has states: linear in x.
template <dist::detail::IsOver X, class D, class... S>
  requires dist::detail::Sound<dist::Linearity::linear, X, dist::SpreadGenerator<D, S...>>
[[nodiscard]] auto dropout(X&& x, double p, dist::SpreadGenerator<D, S...>& numbers) {
  return dist::detail::through<dist::Linearity::linear>(
      [p](auto&& y, Generator<D>& drawn) { return dropout(static_cast<decltype(y)>(y), p, drawn); },
      static_cast<X&&>(x), numbers);
}
#include <locus/refuse/distributed/spread/generator.inc>
LOCUS_REFUSALS_END

}}  // namespace locus::LOCUS_ABI
