#pragma once
// What every library operation is: a class with its forward and, beside it, its backward, both on plain tensors.
//
//     struct Softmax {
//       static constexpr const char* name = "softmax";
//       int axis;
//       forward(x) -> {y, Tuple(what backward needs)}        any number of tensors
//       backward(saved, gradient_of_y, Gradient&... of each input)
//     };
//
// apply(Softmax{1}, x) computes it, and records it if and only if an operand is traced.

#include <locus/expr/chosen_activation.hpp>
#include <locus/expr/operators.hpp>

namespace locus::inline LOCUS_ABI {

namespace detail {
/// How an operation with a traced operand is recorded; defined by autograd.
template <Role role>
struct Record;

/// The tensor that a handle or expression stands for, or the operand itself where it is traced or a parameter.
template <class X>
decltype(auto) evaluated(X&& x) {
  return std::forward<X>(x).eval();
}
}  // namespace detail

/// The result of an operation, with what its backward pass needs; tensors among it are guarded against modification.
template <class Y, class... Saved>
struct Forwarded {
  Y output;
  Tuple<Saved...> saved;
};
template <class Y, class... Saved>
Forwarded(Y, Tuple<Saved...>) -> Forwarded<Y, Saved...>;

/// Where the backward pass of an operation puts the gradient of one input; false where nobody asks for it.
template <class T, class D>
class Gradient;

/// The activation that a result y = function(z) is made by last, for the operation that y goes to: where it alone gives
/// y's gradient, it may apply the derivative, too. An operation with `last_activation(saved)`, which says what it is,
/// has `backward_of_z` beside `backward`, which is given the gradient of z.
template <class T, class D>
struct LastActivation {
  functor::ChosenActivation function;  ///< none: there is nothing to apply
  Tensor<T, D> y;                      ///< dense
  Tensor<T, D> mask;                   ///< memory that a device which KeepsMasks filled, or none
};

/// Computes an operation, recording it if an operand is traced.
template <class Op, TensorLike... X>
[[nodiscard]] auto apply(const Op& op, const X&... x) {
  constexpr Role role = detail::joint_role<X::role...>;
  if constexpr (role == Role::traced) return detail::Record<role>::run(op, detail::evaluated(x)...);
  else return op.forward(detail::evaluated(x).value()...).output;
}

}  // namespace locus::inline LOCUS_ABI
