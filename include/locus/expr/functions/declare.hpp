#pragma once
// The functions of a scalar function: it is applied to tensors and numbers, pending.

#include <locus/expr/operands.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {
template <class X>
concept FloatingOrNumber = !TensorLike<X> || FloatingDType<value_of<X>>;
template <class L, class R>
concept CombinableFloating = Combinable<L, R> && FloatingOrNumber<L> && FloatingOrNumber<R>;
template <class X>
concept DifferentiableOrNumber = !TensorLike<X> || DifferentiableDType<value_of<X>>;
template <class L, class R>
concept CombinableDifferentiable = Combinable<L, R> && DifferentiableOrNumber<L> && DifferentiableOrNumber<R>;
}}}  // namespace locus::LOCUS_ABI::detail

/// name(x), the class Functor applied to each element; `kind` is a concept: detail::Operand, detail::FloatingOperand.
#define LOCUS_UNARY_FUNCTION(name, Functor, kind)          \
  template <class X>                                       \
    requires kind<X>                                       \
  [[nodiscard]] auto name(X&& x) {                         \
    return detail::pending(Functor{}, std::forward<X>(x)); \
  }
/// name(left, right); `kind` is a concept of both: Combinable, detail::CombinableFloating.
#define LOCUS_BINARY_FUNCTION(name, Functor, kind)                                    \
  template <class L, class R>                                                         \
    requires kind<L, R>                                                               \
  [[nodiscard]] auto name(L&& left, R&& right) {                                      \
    return detail::pending(Functor{}, std::forward<L>(left), std::forward<R>(right)); \
  }
