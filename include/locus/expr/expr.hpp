#pragma once
// Pending elementwise expressions: a named expression is computed once; a temporary is fused.

#include <locus/core/std/memo.hpp>
#include <locus/expr/part.hpp>

namespace locus { inline namespace LOCUS_ABI {

template <class T, class D, class Tree, class... Handles>
class Expr;

/// A symbol of `fuse`, or a formula of such symbols.
template <class T, class D, class Tree>
struct Symbolic {
  using value_type = T;
  using device_type = D;
  static constexpr Role role = Role::plain;
  Tree tree;

  /// Converted element by element, with the gradient converted back, as Tensor::as. In a lambda of `auto` parameters it
  /// is x.template as<double>().
  template <ConvertibleFrom<T> U>
  [[nodiscard]] auto as() const;
};

namespace detail {
template <class X>
struct IsExpr : std::false_type {};
template <class T, class D, class Tree, class... H>
struct IsExpr<Expr<T, D, Tree, H...>> : std::true_type {};
template <class X>
inline constexpr bool is_expr = IsExpr<bare_t<X>>::value;

template <class X>
struct IsSymbolic : std::false_type {};
template <class T, class D, class Tree>
struct IsSymbolic<Symbolic<T, D, Tree>> : std::true_type {};
template <class X>
inline constexpr bool is_symbolic = IsSymbolic<bare_t<X>>::value;

template <Role... roles>
inline constexpr Role joint_role = ((roles == Role::traced) || ...)      ? Role::traced
                                   : ((roles == Role::parameter) && ...) ? Role::parameter
                                                                         : Role::plain;
}  // namespace detail

/// A tensor, traced tensor, parameter, pending expression, or symbol of `fuse`.
template <class X>
concept TensorLike = detail::HasPlace<X> && requires {
  { detail::bare_t<X>::role } -> std::convertible_to<Role>;
};

/// A number that may stand beside a tensor.
template <class X>
concept Scalar = Arithmetic<detail::bare_t<X>> || is_16_bit_float<detail::bare_t<X>> || is_dual<detail::bare_t<X>> ||
                 detail::ComplexNumber<detail::bare_t<X>>;

namespace detail {

/// The expression of element type T on D that holds a part.
template <class T, class D, class P>
struct ExprOf;
template <class T, class D, class Tree, class... H>
struct ExprOf<T, D, Part<Tree, H...>> {
  /// f applied to parts, whose leaves are moved to their place in the result.
  template <class F, class... P>
  static Expr<T, D, Tree, H...> join(const F& f, P&&... parts) {
    return Expr<T, D, Tree, H...>(f, std::forward<P>(parts)...);
  }
};

/// Computes an expression of a role: specialized for plain expressions here, for traced ones in
/// autograd/expression.hpp.
template <Role role, class T, class D>
struct Materialize;

}  // namespace detail

/// A pending elementwise expression of element type T on D. It holds its operands, so it never dangles.
/// A temporary becomes part of the expression that uses it; a named expression is computed once, remembered, and used
/// as a tensor. cost: one launch when computed, however many functions it contains
LOCUS_REFUSALS_BEGIN
template <class T, class D, class Tree, class... Handles>
class Expr : public detail::OtherNames<D, 2> {
 public:
  using value_type = T;
  using device_type = D;
  static constexpr Role role = detail::joint_role<Handles::role...>;
  using Materializer = detail::Materialize<role, T, D>;
  using result_type = typename Materializer::type;

  explicit Expr(detail::Part<Tree, Handles...> part) : part_(std::move(part)) {}
  /// The computed tensor (traced if an operand is). If several threads read one expression, the first computes it and
  /// the others wait. throws StaleError if an operand was changed in place after the expression was made and
  /// before it is computed
  [[nodiscard]] const result_type& eval() const& {
    return memo_.get([this] { return Materializer::remembered(part_, origin_); });
  }
  [[nodiscard]] result_type eval() && {
    if (!computed()) return Materializer::run(part_);
    return memo_.take();
  }

  /// Stores the elements in `target`, converted; see Tensor::copy_.
  template <DType U>
    requires(role == Role::plain && ConvertibleFrom<U, T>)
  void compute_into(const Tensor<U, D>& target) && {
    if (computed() || !(part_.shape == target.shape())) target.copy_(eval());
    else if constexpr (std::is_same_v<T, U>) detail::compute_in_place("copy_", part_, target);
    else std::move(*this).template as<U>().compute_into(target);
  }

  [[nodiscard]] const Shape& shape() const { return part_.shape; }
  [[nodiscard]] int rank() const { return part_.shape.rank(); }
  [[nodiscard]] std::int64_t size(int dim) const { return part_.shape[dim]; }
  [[nodiscard]] std::int64_t elements() const { return locus::elements(part_.shape); }
  [[nodiscard]] D device() const { return get<0>(part_.leaves).handle.value().device(); }

  [[nodiscard]] decltype(auto) value() const& { return eval().value(); }
  [[nodiscard]] auto value() && { return std::move(*this).eval().value(); }
  /// Converted element by element, still pending.
  template <ConvertibleFrom<T> U>
  [[nodiscard]] auto as() const&;
  template <ConvertibleFrom<T> U>
  [[nodiscard]] auto as() &&;
  [[nodiscard]] T item() const { return value().item(); }
  template <MemorySpace E> [[nodiscard]] auto to(E target = {}) const { return eval().template to<E>(target); }

  // Views of the computed tensor; see Tensor.
  [[nodiscard]] auto reshape(const Shape& wanted) const { return eval().reshape(wanted); }
  [[nodiscard]] auto flatten(int first = 0, int last = -1) const { return eval().flatten(first, last); }
  [[nodiscard]] auto transpose(int a = -2, int b = -1) const { return eval().transpose(a, b); }
  [[nodiscard]] auto permute(const Axes& order) const { return eval().permute(order); }
  [[nodiscard]] auto expand(const Shape& target) const { return eval().expand(target); }
  [[nodiscard]] auto channels_last() const { return eval().channels_last(); }
  [[nodiscard]] auto squeeze(int dim) const { return eval().squeeze(dim); }
  [[nodiscard]] auto unsqueeze(int dim) const { return eval().unsqueeze(dim); }
  [[nodiscard]] auto select(int dim, std::int64_t index) const { return eval().select(dim, index); }
  [[nodiscard]] auto slice(int dim, std::int64_t start, std::int64_t end = to_end, std::int64_t step = 1) const {
    return eval().slice(dim, start, end, step);
  }
  [[nodiscard]] auto at(const Subscript& a, const Subscript& b = {}, const Subscript& c = {}, const Subscript& d = {},
                        const Subscript& e = {}, const Subscript& f = {}, const Subscript& g = {},
                        const Subscript& h = {}) const {
    return eval().at(a, b, c, d, e, f, g, h);
  }
  [[nodiscard]] auto diagonal(std::int64_t offset = 0, int first = 0, int second = 1) const {
    return eval().diagonal(offset, first, second);
  }
  [[nodiscard]] auto unfold(int dim, std::int64_t size, std::int64_t step, std::int64_t dilation = 1) const {
    return eval().unfold(dim, size, step, dilation);
  }

  /// Adds the gradients of the expression to its traced origins; see Traced::backward.
  template <class... Arguments>
    requires(role == Role::traced)
  void backward(const Arguments&... arguments) const {
    eval().backward(arguments...);
  }
#include <locus/refuse/expr/expr.inc>

#define LOCUS_REFUSED_CONVERSION explicit
#include <locus/refuse/conversion.inc>
#include <locus/refuse/extents.inc>
#include <locus/refuse/to.inc>

  [[nodiscard]] bool computed() const { return memo_.known(); }
  [[nodiscard]] const detail::Part<Tree, Handles...>& part() const { return part_; }
  [[nodiscard]] detail::Part<Tree, Handles...>&& take() && { return std::move(part_); }

 private:
  friend detail::ExprOf<T, D, detail::Part<Tree, Handles...>>;
  template <class F, class... P>
    requires(sizeof...(P) > 0)
  explicit Expr(const F& f, P&&... parts) : part_(detail::join_parts(f, std::move(parts)...)) {}

  detail::Part<Tree, Handles...> part_;
  [[no_unique_address]] typename Materializer::Origin origin_;  ///< where the expression was made
  mutable detail::Memo<result_type> memo_;
};
LOCUS_REFUSALS_END

namespace detail {

template <class T, class D>
struct Materialize<Role::plain, T, D> {
  using type = Tensor<T, D>;
  struct Origin {};

  /// Computes the value that a named expression remembers.
  template <class Tree, class... H> static type remembered(const Part<Tree, H...>& part, Origin) { return run(part); }

  template <class Tree, class... H>
  static type run(const Part<Tree, H...>& part) {
    return unpack(part.leaves, [&](const auto&... leaf) {
      (require_fresh(leaf), ...);
      bring(leaf.handle.value()...);
      return computed(part.tree, part.shape, leaf.handle.value()...);
    });
  }

 private:
  /// Compiled once for all kinds of handles: they are passed as tensors.
  template <class Tree, class First, class... More>
  static type computed(const Tree& tree, const Shape& shape, const First& first, const More&... more) {
    type out(shape, joint_format(shape, {layout_of(first), layout_of(more)...}), first.device());
    compute(tree, out, first, more...);
    return out;
  }
};

/// An operand as a part: a temporary expression gives its own part, a number a constant of T, any other operand one
/// symbol. Numbers beside duals are converted.
template <class T, class X>
decltype(auto) as_part(X&& x) {
  if constexpr (Scalar<X>) {
    return Part<Constant<T>>{{static_cast<compute_t<T>>(x)}, {}, {}};
  } else if constexpr (lifts_to<value_of<X>, T>) {
    return join_parts(functor::Convert<T>{}, as_part<value_of<X>>(std::forward<X>(x)));
  } else if constexpr (is_expr<X>) {
    if constexpr (std::is_lvalue_reference_v<X>) return as_part<T>(x.eval());
    else return std::move(x).take();
  } else {
    using Handle = bare_t<X>;
    const Shape shape = x.value().shape();
    return Part<Symbol<0>, Handle>{{}, Tuple<Leaf<Handle>>(FromEach(), std::forward<X>(x)), shape};
  }
}

/// Element type of tensors and numbers together: the last tensor's (where's condition comes first), or that of duals.
template <class... X>
struct CommonValue;
template <class X>
struct ValueOr {
  using type = void;
};
template <HasPlace X>
struct ValueOr<X> {
  using type = value_of<X>;
};
template <class First, class... Rest>
struct CommonValue<First, Rest...> {
  using rest = typename CommonValue<Rest...>::type;
  using first = typename ValueOr<First>::type;
  using type = std::conditional_t<std::is_void_v<rest> || lifts_to<rest, first>, first, rest>;
};
template <>
struct CommonValue<> {
  using type = void;
};

/// Placeholder for a tensor that a formula of `fuse` uses without having it as an argument; fuse refuses the formula.
struct UnboundOperand {};
template <class Tree>
inline constexpr bool has_unbound_operand = std::is_same_v<Tree, UnboundOperand>;
template <class F, class... Children>
inline constexpr bool has_unbound_operand<Apply<F, Children...>> = (has_unbound_operand<Children> || ...);

template <class T, class X>
auto as_tree(const X& x) {
  if constexpr (TensorLike<X> && !is_symbolic<X>) {
    return UnboundOperand{};
  } else if constexpr (Scalar<X>) {
    return Constant<T>{static_cast<compute_t<T>>(x)};
  } else if constexpr (lifts_to<value_of<X>, T>) {
    return Apply<functor::Convert<T>, bare_t<decltype(x.tree)>>{{}, {x.tree}};
  } else return x.tree;
}

}  // namespace detail

namespace detail {
/// Number of leaves that an operand adds to an expression.
template <class X>
inline constexpr int leaf_count = TensorLike<X> ? 1 : 0;
template <class T, class D, class Tree, class... H>
inline constexpr int leaf_count<Expr<T, D, Tree, H...>> = static_cast<int>(sizeof...(H));  // a temporary

template <class X>
inline constexpr bool brings_traced = false;
template <TensorLike X>
inline constexpr bool brings_traced<X> = bare_t<X>::role == Role::traced;

/// Whether operands have more leaves than one launch takes. The backward pass of a traced expression is one launch too:
/// it reads every leaf and the gradient of the result, and reads and writes the gradient of every leaf.
template <class... X>
inline constexpr bool too_many_leaves = (0 + ... + leaf_count<X>) > ((false || ... || brings_traced<X>)
                                                                         ? (max_launch_operands - 1) / 3
                                                                         : max_launch_operands - 1);

/// Whether an operand is a temporary expression of several leaves that may be computed first. An untraced expression
/// with parameters may not: computed alone it is plain, and the parameters would lose their gradient in a traced
/// expression.
template <class X>
inline constexpr bool stands_alone = false;
template <class T, class D, class Tree, class... H>
inline constexpr bool stands_alone<Expr<T, D, Tree, H...>> = sizeof...(H) > 1 &&
                                                             (joint_role<H::role...> == Role::traced ||
                                                              !((H::role == Role::parameter) || ...));

template <class X>
[[nodiscard]] decltype(auto) computed_if_alone(X&& x) {
  if constexpr (stands_alone<X>) return std::move(x).eval();
  else return std::forward<X>(x);
}

/// The pending expression f(x...) of combinable operands. If they have more leaves than one launch takes, temporary
/// expressions among them are computed first. throws ShapeError naming f and both shapes; ArgumentError for an integer
/// that T cannot hold
template <class F, class... X>
[[nodiscard]] auto pending(const F& f, X&&... x) {
  using T = typename CommonValue<bare_t<X>...>::type;
  using D = device_of<first_with_place_t<X...>>;
  using V = typename ResultValue<F, typename CommonValue<Tensor<T, D>, bare_t<X>>::type...>::type;
  if constexpr (too_many_leaves<X...> && (stands_alone<X> || ...)) {
    return pending(f, computed_if_alone(std::forward<X>(x))...);
  } else if constexpr ((is_symbolic<X> || ...)) {
    if constexpr (std::is_integral_v<T>) (require_operand_fits<F, T>(x), ...);
    return Symbolic<V, D, Apply<F, decltype(as_tree<T>(x))...>>{{f, {as_tree<T>(x)...}}};
  } else {
    if constexpr (std::is_integral_v<T>) (require_operand_fits<F, T>(x), ...);
    using Joined = decltype(join_parts(f, as_part<T>(std::forward<X>(x))...));
    return ExprOf<V, D, Joined>::join(f, as_part<T>(std::forward<X>(x))...);
  }
}
}  // namespace detail

template <class T, class D, class Tree>
template <ConvertibleFrom<T> U>
auto Symbolic<T, D, Tree>::as() const {
  return detail::pending(functor::Convert<U>{}, *this);
}
template <class T, class D, class Tree, class... H>
template <ConvertibleFrom<T> U>
auto Expr<T, D, Tree, H...>::as() const& {
  return detail::pending(functor::Convert<U>{}, *this);
}
template <class T, class D, class Tree, class... H>
template <ConvertibleFrom<T> U>
auto Expr<T, D, Tree, H...>::as() && {
  return detail::pending(functor::Convert<U>{}, std::move(*this));
}

}}  // namespace locus::LOCUS_ABI
