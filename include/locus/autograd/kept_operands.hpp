#pragma once
// How the gradients of an operation are differentiated, without a rule of the operation's own: included by
// autograd/traced.hpp with LOCUS_DOUBLE_BACKWARD.
//
// An operation y = f(x...) whose result has the gradient g gives its inputs the gradients G_i(x..., g). Let u_i be the
// adjoints of the G_i, and s = sum of u_i . G_i(x..., g). By the definition of G, s = f'(x...) u . g. So
//
//     the gradient of s by g is f'(x...) u, the derivative of f along u,
//     the gradient of s by x is the derivative of G(x..., g) along u.
//
// A linear operation's derivative along u is f(u...), and its G does not depend on x. An operation that is linear in
// either of two factors, as a matrix product, has the derivative f(u, w) + f(x, u). Others compute with dual numbers of
// value x and tangent u, whose results have these derivatives as tangents.

#include <locus/autograd/saved_values.hpp>
#include <locus/autograd/unrecorded.hpp>
#include <locus/expr/dual.hpp>
#include <locus/ops/products_of_others.hpp>

#if LOCUS_DOUBLE_BACKWARD
namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// An operation with `static constexpr bool linear = true`: a linear function of all its floating-point operands
/// together, without another effect. Where the function is not exactly linear, its derivative is, and is a member
/// `derivative(u...)`.
template <class Op>
concept LinearOperation = requires { requires Op::linear; };
/// An operation with a member `is_bilinear()`: if true, linear in each of its first two operands, to which further ones
/// are added, and with no other effect.
template <class Op>
concept MaybeBilinear = requires(const Op& op) {
  { op.is_bilinear() } -> std::same_as<bool>;
};

/// An operation with `static constexpr bool runs_on_duals = true`: forward and backward take tensors of duals, too, and
/// have no other effect while `computes_again` is set. With a member `on_duals()`, they are members of its result.
/// A member `refuses_duals()` says which operation cannot, where that is known at run time; else it returns null.
template <class Op>
concept RunsOnDuals = requires { requires Op::runs_on_duals; };
template <class Op>
[[nodiscard]] decltype(auto) operation_on_duals(const Op& op) {
  if constexpr (requires { op.on_duals(); }) return op.on_duals();
  else return (op);
}

/// The operands of a recorded operation, and the derivatives of its gradients.
template <class Op, class... X>
class KeptOperands;
template <class Op, class... T, class... D>
class KeptOperands<Op, Tensor<T, D>...> {
 public:
  static constexpr bool is_linear = LinearOperation<Op>;
  /// Null where the adjoint is zero.
  using Adjoints = Tuple<const Tensor<T, D>*...>;

  void keep(const Tensor<T, D>&... x) {
    if constexpr (keeps) operands_ = SavedValues<Tensor<T, D>...>(Tuple(x...));
  }
  void require_unchanged(const char* operation) const { operands_.require_unchanged(operation); }
  [[nodiscard]] static std::string refusal(const Op& op) {
    if constexpr (is_linear) return {};
    else {
      if constexpr (MaybeBilinear<Op>)
        if (op.is_bilinear()) return {};
      if constexpr (requires { op.refuses_duals(); })
        if (op.refuses_duals()) return op.refuses_duals();
      if constexpr (on_duals) return {};
      else if constexpr ((is_complex<T> || ...))
        return join("the operation ", Op::name, " of complex numbers; compute with real and imaginary parts");
      else if constexpr (RunsOnDuals<Op>)
        return join("the operation ", Op::name, " of 16-bit numbers; compute it in float, with x.as<float>()");
      else
        return join(
            "the operation ", Op::name, ", which does not compute with dual numbers; if its class is your own ",
            "and its members take tensors of Dual<T>, say so with `static constexpr bool runs_on_duals = true`");
    }
  }

  /// Propagates backward through G. `g`: the gradient of the result; `dg`, `dx`: where the gradients go.
  template <class Y, class E>
  void propagate(const Op& op, const Tensor<Y, E>& g, Gradient<Y, E> dg, const Adjoints& u,
                 Gradient<T, D>... dx) const {
    if (!unpack(u, [](const auto*... adjoint) { return (adjoint || ...); })) return;
    const Within known(computes_again, true);
    if constexpr (is_linear) {
      if (dg) dg.give(along(op, u, Positions{}));
    } else {
      if constexpr (MaybeBilinear<Op>)
        if (op.is_bilinear()) return propagate_bilinear(op, g, dg, u, dx...);
      if constexpr (on_duals) propagate_on_duals(op, g, dg, u, Positions{}, dx...);
    }
  }

 private:
  static constexpr int count = sizeof...(T);
  static constexpr bool on_duals =
      RunsOnDuals<Op> && !is_linear && ((!DifferentiableDType<T> || is_part_of_dual<T>)&&...);
  static constexpr bool keeps = !is_linear || count > 1;
  using Positions = std::make_integer_sequence<int, count>;

  /// The adjoint of a floating-point or complex operand, zeros where it is zero; of another, the operand.
  template <int i>
  [[nodiscard]] auto along(const auto* adjoint) const {
    using V = std::remove_cvref_t<decltype(*adjoint)>;
    if constexpr (!keeps) {
      return *adjoint;
    } else {
      const V& x = get<i>(operands_.used());
      if constexpr (DifferentiableDType<value_of<V>>) {
        if (adjoint) return *adjoint;
        if (!x.buffer()) return x;  // an operand that is left out
        V zeros(x.shape(), x.device());
        zeros.fill_(value_of<V>(0));
        return zeros;
      } else {
        return x;
      }
    }
  }
  template <int... i>
  [[nodiscard]] auto along(const Op& op, const Adjoints& u, std::integer_sequence<int, i...>) const {
    const Tuple values(along<i>(get<i>(u))...);
    if constexpr (requires { op.derivative(get<i>(values)...); }) return op.derivative(get<i>(values)...);
    else return op.forward(get<i>(values)...).output;
  }

  template <class Y, class E, class X, class W, class... B>
  void propagate_bilinear(const Op& op, const Tensor<Y, E>& g, Gradient<Y, E> dg, const Adjoints& u, X dx, W dw,
                          B... db) const {
    const auto& x = get<0>(operands_.used());
    const auto& w = get<1>(operands_.used());
    const auto *const ux = get<0>(u), *const uw = get<1>(u);
    const auto nowhere = [](auto gradient) { return decltype(gradient)(nullptr); };
    [&]<int... b>(std::integer_sequence<int, b...>) {
      if (uw) {
        const auto part = op.forward(x, *uw, along<b + 2>(static_cast<decltype(get<b + 2>(u))>(nullptr))...);
        auto none = nowhere(dw);
        Tuple nones(nowhere(db)...);
        if (dx) op.backward(part.saved, g, dx, none, get<b>(nones)...);
        if (dg) dg.give(part.output);
      }
      if (ux || (get<b + 2>(u) || ...)) {
        const auto part = op.forward(along<0>(ux), w, along<b + 2>(get<b + 2>(u))...);
        auto none = nowhere(dx);
        Tuple nones(nowhere(db)...);
        if (ux && dw) op.backward(part.saved, g, none, dw, get<b>(nones)...);
        if (dg) dg.give(part.output);
      }
    }(std::make_integer_sequence<int, sizeof...(B)>{});
  }

  template <class Y, class E, int... i>
  void propagate_on_duals(const Op& given, const Tensor<Y, E>& g, Gradient<Y, E>& dg, const Adjoints& u,
                          std::integer_sequence<int, i...>, Gradient<T, D>&... dx) const {
    const auto& op = operation_on_duals(given);
    const auto at = op.forward(with_tangent(get<i>(operands_.used()), get<i>(u))...);
    if (dg) dg.give(tangent(at.output).eval());
    if (!(dx || ...)) return;
    const Tuple sinks(sink_of_duals(dx)...);
    const auto run = [&](auto... gradients) { op.backward(at.saved, g.template as<Dual<Y>>().eval(), gradients...); };
    run(gradient_to(get<i>(sinks))...);
    (give_tangent(dx, get<i>(sinks)), ...);
  }
  /// An operand as duals; one of integers as it is.
  template <class U, class E>
  [[nodiscard]] static auto with_tangent(const Tensor<U, E>& x, const Tensor<U, E>* tangent) {
    if constexpr (!FloatingDType<U>) return x;
    else if (!x.buffer()) return Tensor<Dual<U>, E>();
    else return Tensor<Dual<U>, E>(tangent ? make_dual(x, *tangent) : x.template as<Dual<U>>().eval());
  }
  /// A node that collects the gradient of an operand in duals; null where none is wanted.
  template <class U, class E>
  [[nodiscard]] static auto sink_of_duals(const Gradient<U, E>& to) {
    if constexpr (!FloatingDType<U>) return Shared<TensorNode<U, E>>();
    else {
      using Sink = RelayNode<Dual<U>, E>;
      using Node = TensorNode<Dual<U>, E>;
      return to ? Shared<Node>(new Sink(to.shape(), to.node()->device(), to.node()->format(), {}, {})) : Shared<Node>();
    }
  }
  template <class U, class E>
  [[nodiscard]] static Gradient<U, E> gradient_to(const Shared<TensorNode<U, E>>& sink) {
    return Gradient<U, E>(sink.get());
  }
  template <class U, class E, class V>
  static void give_tangent(Gradient<U, E>& to, const Shared<TensorNode<V, E>>& sink) {
    if constexpr (FloatingDType<U>)
      if (sink && sink->has_gradient()) to.give(tangent(sink->gradient()).eval());
  }

  SavedValues<Tensor<T, D>...> operands_{Tuple<Tensor<T, D>...>()};
};

}}}  // namespace locus::LOCUS_ABI::detail
#endif
