#pragma once
// The form of every library operation: a class with a forward and a backward member, both on plain tensors.
//
//     struct Softmax {
//       static constexpr const char* name = "softmax";
//       int axis;
//       forward(x) -> {y, Tuple(values saved for backward)}   any number of tensors
//       backward(saved, gradient_of_y, Gradient&... of each input)
//     };
//
// apply(Softmax{1}, x) computes it, and records it if and only if an operand is traced.

#include <locus/expr/chosen_activation.hpp>
#include <locus/expr/operators.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
/// How an operation with a traced operand on D is recorded; defined by autograd, and by places that record otherwise.
template <Role role, class D>
struct Record;

/// The tensor that a handle or expression stands for, or the operand itself where it is traced or a parameter.
template <class X>
decltype(auto) evaluated(X&& x) {
  return std::forward<X>(x).eval();
}

/// Whether this thread recomputes a forward pass for a checkpoint, within a backward pass. An operation's other
/// updates, such as to running statistics, took place in the forward pass.
inline thread_local bool computes_again = false;
}  // namespace detail

/// The result of an operation, and the values that its backward pass needs; tensors among them are guarded against
/// modification.
template <class Y, class... Saved>
struct Forwarded {
  Y output;
  Tuple<Saved...> saved;
};
template <class Y, class... Saved>
Forwarded(Y, Tuple<Saved...>) -> Forwarded<Y, Saved...>;

/// An operation that computes gradients in its forward pass: `op.wanting(wanted...)`, with a bool for each operand,
/// returns the operation that computes those that are wanted. It is asked where the operation is recorded.
template <class Op, class... X>
concept DifferentiatesForward = requires(const Op& op) {
  { op.wanting(std::same_as<X, X>...) } -> std::same_as<Op>;
};

/// The target of the gradient of one input; false if none is wanted.
template <class T, class D>
class Gradient;

/// A gradient that is not computed yet, handed over by gradient.give(pending). The operation that receives it, as the
/// gradient of its result, may compute it in one launch with its own derivative. Each kind derives from this class,
///
///     struct Product : PendingGradient<T, D> {
///       Product(...) : PendingGradient<T, D>(this), ... {}
///       void compute(const typename Gradient<T, D>::Target& target) const;   // launches it alone
///     };
///
/// and an operation that fuses some kinds has, besides `backward`,
///
///     using Accepted = ...;       // the parts that are computed; Accepted{}: none
///     accept(saved, pending, Gradient of y, Gradient... of each input) -> Accepted
///     backward_from(accepted, saved, gradient, Gradient&... of each input)
///
/// accept() asks pending.as<Product>(), opens the gradient of y and writes to it the tensor that backward_from() gets.
/// Neither nodes nor devices know the kinds. `Linear` (ops/linear.hpp) hands over one kind and fuses it.
template <class T, class D>
class PendingGradient {
 public:
  /// The gradient as kind P; null if it is of another kind.
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

namespace detail {
template <class Op, class... V>
[[nodiscard]] auto compute_plain(const Op& op, const V&... values) {
  bring(values...);
  return op.forward(values...).output;
}
}  // namespace detail

namespace detail {
/// The element type of the duals among operands; void if there are none.
template <class... X>
using dual_of_t = std::conditional_t<(is_dual<value_of<X>> || ...), typename CommonValue<X...>::type, void>;

/// An operand as duals with tangents of 0, recorded in a traced operation; an empty handle stays empty. Other operands
/// stay.
template <class Lifted, Role role, class X>
[[nodiscard]] decltype(auto) lifted(const X& x) {
  if constexpr (!lifts_to<value_of<X>, Lifted>) return evaluated(x);
  else {
    constexpr Role own = role == Role::traced && X::role != Role::plain ? Role::traced : Role::plain;
    using Duals = Materialize<own, Lifted, device_of<X>>;
    const auto& numbers = evaluated(x);
    return numbers.value().buffer() ? Duals::run(as_part<Lifted>(numbers)) : typename Duals::type();
  }
}
}  // namespace detail

/// Computes an operation, recording it if an operand is traced. Beside duals, floating-point operands are converted to
/// duals.
template <class Op, TensorLike... X>
[[nodiscard]] auto apply(const Op& op, const X&... x) {
  constexpr Role role = detail::joint_role<X::role...>;
  using Lifted = detail::dual_of_t<X...>;
  if constexpr ((detail::lifts_to<value_of<X>, Lifted> || ...)) {
    return apply(op, detail::lifted<Lifted, role>(x)...);
  } else {
    if constexpr (role == Role::traced)
      return detail::Record<role, device_of<detail::first_with_place_t<X...>>>::run(op, detail::evaluated(x)...);
    else return detail::compute_plain(op, detail::evaluated(x).value()...);
  }
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
/// Whether operands are in training, in which an operation may act otherwise: one is traced, and none is frozen.
template <class... X>
[[nodiscard]] bool in_training(const X&... x) {
  return joint_role<X::role...> == Role::traced && !(false || ... || acts_frozen(x));
}

}  // namespace detail

}}  // namespace locus::LOCUS_ABI
