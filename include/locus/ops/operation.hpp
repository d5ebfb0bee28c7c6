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

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
/// How an operation with a traced operand is recorded; defined by autograd.
template <Role role>
struct Record;

/// The tensor that a handle or expression stands for, or the operand itself where it is traced or a parameter.
template <class X>
decltype(auto) evaluated(X&& x) {
  return std::forward<X>(x).eval();
}

/// Whether this thread computes in a backward pass what a forward pass has computed before, for a checkpoint. What an
/// operation updates beside its result, such as running statistics, was updated then.
inline thread_local bool computes_again = false;
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

/// A gradient that is not computed yet, handed over by gradient.give(pending). The operation whose result it is the
/// gradient of may compute it in one launch with its own derivative. A kind of them derives from this class,
///
///     struct Product : PendingGradient<T, D> {
///       Product(...) : PendingGradient<T, D>(this), ... {}
///       void compute(const typename Gradient<T, D>::Target& target) const;   // launches it alone
///     };
///
/// and an operation that fuses some kinds has, beside `backward`,
///
///     using Accepted = ...;       // what it computed; Accepted{} is nothing
///     accept(saved, pending, Gradient of y, Gradient... of each input) -> Accepted
///     backward_from(accepted, saved, gradient, Gradient&... of each input)
///
/// accept() asks pending.as<Product>(), and opens the gradient of y to write there what backward_from() then gets.
/// Neither nodes nor devices know the kinds. `Linear` (ops/linear.hpp) hands over one and fuses it.
template <class T, class D>
class PendingGradient {
 public:
  /// The gradient as one of kind P, null if it is of another.
  template <class P>
  [[nodiscard]] const P* as() const {
    return kind_ == &kind<P> ? static_cast<const P*>(this) : nullptr;
  }

 protected:
  template <class P>
  explicit PendingGradient(const P*) : kind_(&kind<P>) {}

 private:
  template <class P>
  static constexpr char kind = 0;
  const char* kind_;
};

/// Computes an operation, recording it if an operand is traced.
template <class Op, TensorLike... X>
[[nodiscard]] auto apply(const Op& op, const X&... x) {
  constexpr Role role = detail::joint_role<X::role...>;
  if constexpr (role == Role::traced) return detail::Record<role>::run(op, detail::evaluated(x)...);
  else return op.forward(detail::evaluated(x).value()...).output;
}

namespace detail {

/// Whether layers act as in inference on x.
template <class X>
[[nodiscard]] bool acts_frozen(const X& x) {
  const auto frozen = [](const auto& handle) {
    if constexpr (requires { handle.is_frozen(); }) return handle.is_frozen();
    else return false;
  };
  if constexpr (is_expr<X>)
    return unpack(x.part().leaves, [&](const auto&... leaf) { return (false || ... || frozen(leaf.handle)); });
  else return frozen(x);
}
/// Whether operands are those of training, in which an operation may act otherwise: one is traced, and none is frozen.
template <class... X>
[[nodiscard]] bool in_training(const X&... x) {
  return joint_role<X::role...> == Role::traced && !(false || ... || acts_frozen(x));
}

}  // namespace detail

}}  // namespace locus::LOCUS_ABI
