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

/// Where the backward pass of an operation puts the gradient of one input; false where none is wanted.
template <class T, class D>
class Gradient;

/// Of an operation y = activation(z), where z ends in + bias: which gradients the downstream product already computed
/// in its epilogue. Such an operation has a member `ends_in_activation` and, beside `backward`,
///
///     multiply_for_z(saved, a, b, Gradient of z, Gradient... of each input) -> GivenGradient
///     backward_of_z(saved, gradient_of_z, given, Gradient&... of each input)
///
/// The first makes the product a b, the gradient of y, with the activation's derivative as its epilogue, unless it
/// returns `none`. The second computes the other gradients from that of z.
enum class GivenGradient { none, of_z, of_z_and_bias };

/// Computes an operation, recording it if an operand is traced.
template <class Op, TensorLike... X>
[[nodiscard]] auto apply(const Op& op, const X&... x) {
  constexpr Role role = detail::joint_role<X::role...>;
  if constexpr (role == Role::traced) return detail::Record<role>::run(op, detail::evaluated(x)...);
  else return op.forward(detail::evaluated(x).value()...).output;
}

}  // namespace locus::inline LOCUS_ABI
