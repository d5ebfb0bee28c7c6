#pragma once
// Over<X, S...>: a rank's tensor, and its relation to the other ranks' tensors.

#include <locus/distributed/spread/states.hpp>
#include <locus/tensor/print.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace dist {
template <class D, class... A>
class Mesh;

namespace detail {
/// Tag: the constructor calls a function in place, so that its result is not moved.
struct FromCall {};
/// x, spread as the list L says.
template <class L, class X>
[[nodiscard]] auto labelled(X&& x) {
  return labelled_t<locus::detail::bare_t<X>, L>(
      FromCall(), [](X&& given) -> X&& { return static_cast<X&&>(given); }, static_cast<X&&>(x));
}
/// Whether x is Partial and a conversion to U would round each rank's part.
template <class X, class U>
concept Narrows = Somewhere<X, Spread::partial> &&
                  (!FloatingDType<U> || sizeof(U) < sizeof(value_of<local_t<X>>) ||
                   (sizeof(U) == sizeof(value_of<local_t<X>>) && !std::is_same_v<U, value_of<local_t<X>>>));
/// x without its states.
template <class X>
[[nodiscard]] decltype(auto) bare(X&& x) {
  if constexpr (IsOver<X>) return static_cast<X&&>(x).local();
  else return static_cast<X&&>(x);
}
/// Of a result of several tensors: each of them, spread as the list L says. In results.hpp.
template <class L, class R>
struct LabelEach;
/// f(operands without states), with the states that follow from a function of this kind.
template <Linearity kind, class F, class... X>
[[nodiscard]] auto through(const F& f, X&&... x) {
  using Result = locus::detail::bare_t<decltype(f(bare(static_cast<X&&>(x))...))>;
  using L = typename join_t<kind, X...>::type;
  if constexpr (TensorLike<Result>) return labelled_t<Result, L>(FromCall(), f, bare(static_cast<X&&>(x))...);
  else return LabelEach<L, Result>::of(f(bare(static_cast<X&&>(x))...));
}
}  // namespace detail
}  // namespace dist

LOCUS_REFUSALS_BEGIN
/// A tensor, traced tensor, parameter or expression X of which each rank has one, and the relation of these, for each
/// axis of a mesh: Over<Tensor<float>, Varying<Data>>. Along axes that are not listed it is Invariant. It has the size
/// and the code of X. Made by Mesh::label and by computing.
///
/// An Over converts to one whose states are the same in another order, and a pending expression to its result.
template <class X, class... S>
class Over {
  using L = dist::detail::States<S...>;

 public:
  using local_type = X;

  template <class F, class... Y>
  Over(dist::detail::FromCall, const F& f, Y&&... y) : x_(f(static_cast<Y&&>(y)...)) {}
  template <class E, class... R>
    requires(!std::is_same_v<Over<E, R...>, Over> && dist::detail::say_the_same(L(), dist::detail::States<R...>()) &&
             std::is_convertible_v<const E&, X>)
  Over(const Over<E, R...>& other) : x_(other.local()) {}
#include <locus/refuse/distributed/spread/over_constructor.inc>

  /// The tensor of this rank, without its states: the types check nothing that follows.
  [[nodiscard]] const X& local() const& { return x_; }
  [[nodiscard]] X&& local() && { return static_cast<X&&>(x_); }

  [[nodiscard]] const Shape& shape() const { return x_.shape(); }
  [[nodiscard]] int rank() const { return x_.rank(); }
  [[nodiscard]] std::int64_t size(int dim) const { return x_.size(dim); }
  [[nodiscard]] std::int64_t elements() const { return x_.elements(); }
  [[nodiscard]] auto device() const { return x_.device(); }
  [[nodiscard]] auto eval() const { return dist::detail::labelled<L>(x_.eval()); }
  [[nodiscard]] auto value() const { return dist::detail::labelled<L>(x_.value()); }

  /// A copy on another device, spread as this.
  template <MemorySpace E, class Y = X>
    requires requires(const Y& x, E device) { x.to(device); }
  [[nodiscard]] auto to(E device = {}) const {
    return dist::detail::labelled<L>(x_.to(device));
  }

  // Views, linear in x.
  [[nodiscard]] auto reshape(const Shape& shape) const { return dist::detail::labelled<L>(x_.eval().reshape(shape)); }
  [[nodiscard]] auto flatten(int first = 0, int last = -1) const {
    return dist::detail::labelled<L>(x_.eval().flatten(first, last));
  }
  [[nodiscard]] auto transpose(int a = -2, int b = -1) const {
    return dist::detail::labelled<L>(x_.eval().transpose(a, b));
  }
  [[nodiscard]] auto permute(const Axes& order) const { return dist::detail::labelled<L>(x_.eval().permute(order)); }
  [[nodiscard]] auto expand(const Shape& shape) const { return dist::detail::labelled<L>(x_.eval().expand(shape)); }
  [[nodiscard]] auto squeeze(int dim) const { return dist::detail::labelled<L>(x_.eval().squeeze(dim)); }
  [[nodiscard]] auto unsqueeze(int dim) const { return dist::detail::labelled<L>(x_.eval().unsqueeze(dim)); }
  [[nodiscard]] auto select(int dim, std::int64_t index) const {
    return dist::detail::labelled<L>(x_.eval().select(dim, index));
  }
  [[nodiscard]] auto slice(int dim, std::int64_t start, std::int64_t end = to_end, std::int64_t step = 1) const {
    return dist::detail::labelled<L>(x_.eval().slice(dim, start, end, step));
  }
  /// Converted element by element. A Partial value is only widened: each rank would round its part.
  template <DType U, class Y = X>
    requires(!dist::detail::Narrows<Over, U>)
  [[nodiscard]] auto as() const {
    return dist::detail::labelled<L>(x_.template as<U>());
  }

  /// The gradient: Partial where this is Replicated, Replicated where this is Partial.
  template <class Y = X>
    requires(!dist::detail::has_role<X>(Role::plain))
  [[nodiscard]] auto grad() const {
    return dist::detail::labelled<dist::detail::dual_t<L>>(x_.grad());
  }
  void zero_grad() const { x_.zero_grad(); }

  /// The element, the same on all ranks.
  template <class Y = X>
    requires dist::detail::Readable<Over>
  [[nodiscard]] auto item() const {
    return x_.item();
  }
  /// The backward pass of a loss that is Partial or Invariant along each axis: one loss, with the gradient 1.
  template <class... O>
    requires(((S::spread == Spread::partial) && ...) && dist::detail::has_role<X>(Role::traced) &&
             !(dist::detail::IsOver<O> || ...))
  void backward(const O&... options) const {
    x_.backward(options...);
  }
  /// The same of a tensor, from its gradient.
  template <class T, class D, class... R, class... O>
    requires(dist::detail::has_role<X>(Role::traced) &&
             dist::detail::say_the_same(dist::detail::dual_t<L>(), dist::detail::States<R...>()))
  void backward(const Over<Tensor<T, D>, R...>& cotangent, const O&... options) const {
    x_.backward(cotangent.local(), options...);
  }
#include <locus/refuse/distributed/spread/over_class.inc>

 private:
  X x_;
};

/// trace() and variable() of the tensor of each rank. trace() also takes a parameter, as for a penalty of weights.
template <class X, class... S>
  requires(dist::detail::has_role<X>(Role::plain) || dist::detail::has_role<X>(Role::parameter))
[[nodiscard]] auto trace(const Over<X, S...>& x) {
  return dist::detail::labelled<dist::detail::States<S...>>(trace(x.local()));
}
template <class X, class... S>
  requires(dist::detail::has_role<X>(Role::plain))
[[nodiscard]] auto variable(const Over<X, S...>& x) {
  return dist::detail::labelled<dist::detail::States<S...>>(variable(x.local()));
}
template <class Traits, class X, class... S>
  requires dist::detail::Readable<Over<X, S...>>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const Over<X, S...>& x) {
  return out << x.local();
}
#include <locus/refuse/distributed/spread/over.inc>
LOCUS_REFUSALS_END

}}  // namespace locus::LOCUS_ABI
