#pragma once
// Whether elements are among some values. Not part of locus/locus.hpp, for the reasons of ops/unique.hpp.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/search.hpp>
#include <locus/ops/unique.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
/// Whether x is one of some sorted values, found by bisection. NaN never is.
template <class T>
struct IsAmong {
  FindValue<T> find;
  bool inverted;
  LOCUS_FN void operator()(typename SortKey<T>::Stored x, bool& among) const {
    using Key = SortKey<T>;
    std::int64_t place = 0;
    find(x, place);
    const bool is_number = std::is_integral_v<T> || Key::of(x) != Key::largest;
    among = (find.count > 0 && is_number && Key::of(find.values[place]) == Key::of(x)) != inverted;
  }
};
}  // namespace detail

/// Whether each element of x is among some values, or with `invert` is not: numpy.isin. NaN never is. Plain.
/// shape: as x     cost: sort of the values, and one launch
template <class X, class V>
  requires(detail::AlikeOperands<X, V> && SortingDevice<device_of<X>>)
[[nodiscard]] auto isin(const X& x, const V& values, bool invert = false) {
  using T = value_of<X>;
  using D = device_of<X>;
  const Tensor<T, D> given = x.eval().value(), among = values.eval().value();
  const Tensor<T, D> sorted = sort(among.reshape({among.elements()})).values;
  const Tensor<bool, D> result(given.shape(), given.device());
  const auto plan = make_plan<2>(given.shape(), {detail::operand_of(given), detail::operand_of(result)});
  using Stored = typename detail::SortKey<T>::Stored;
  Backend<D>::map(given.device(), plan, detail::IsAmong<T>{{detail::stored(sorted), sorted.elements()}, invert},
                  Pack<const Stored*>(detail::stored(given)), Pack<bool*>(result.data()));
  return result;
}
#include <locus/refuse/ops/isin.inc>

}}  // namespace locus::LOCUS_ABI
