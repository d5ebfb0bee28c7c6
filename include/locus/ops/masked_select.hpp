#pragma once
// The elements where a mask holds. Not part of locus/locus.hpp, for the reasons of ops/unique.hpp.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/unique.hpp>
#include <locus/ops/view.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
template <class X, class M>
concept MaskedOperands = TensorLike<X> && !IsParameter<X> && TensorLike<M> && SortingDevice<device_of<X>> &&
                         SameDevice<X, M> && std::is_same_v<value_of<M>, bool>;
}

/// The elements of x where the mask, of bool, holds, in row-major order. Both broadcast, as in PyTorch.
/// shape: (count,)     gradient: g at the places of the selected elements, 0 elsewhere
/// cost:  four launches, a copy of an operand that is broadcast; waits for the device once. Backward as index_select
///
///     auto losses = masked_select(loss, labels != padding);
template <class X, class M>
  requires detail::MaskedOperands<X, M>
[[nodiscard]] auto masked_select(const X& x, const M& mask) {
  const Shape shape = broadcast(x.shape(), mask.shape(), "masked_select");
  const auto& flags = mask.eval().value();
  const auto places = detail::places_of("masked_select", flags.expand(shape).contiguous());
  return apply(operation::IndexSelect{"masked_select", 0}, reshape(expand(x, shape), {inferred}), places);
}
#include <locus/refuse/ops/masked_select.inc>

}}  // namespace locus::LOCUS_ABI
