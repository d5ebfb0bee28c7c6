#pragma once
// Ranks<A, D>: the ranks along one axis of a mesh, and their collectives, which change how a value is spread along it.

#include <locus/distributed/spread/moves.hpp>
#include <locus/distributed/spread/over.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

namespace detail {
/// Whether X is on the device D and spread so along the axis A.
template <class X, class D, class A, Spread s>
concept SpreadOn = SpreadAs<X, A, s> && locus::detail::On<local_t<X>, D>;
}  // namespace detail

LOCUS_REFUSALS_BEGIN
/// One rank of those along the axis A. The backward pass of each collective is another one of this table; P is Partial,
/// V Varying, R Replicated, I Invariant along A, and other axes stay as they are.
///
/// | call | forward | moves | backward | moves |
/// |---|---|---|---|---|
/// | all_reduce(x) | P -> R | sum | P -> R | sum |
/// | all_reduce<Invariant>(x) | P -> I | sum | I -> R | nothing |
/// | reduce_scatter(x, dim) | P -> V | sum, each rank its part | V -> R | all_gather |
/// | all_gather(x, dim) | V -> R | parts, in rank order | P -> V | reduce_scatter |
/// | all_gather<Invariant>(x, dim) | V -> I | parts, in rank order | I -> V | each rank takes its part |
/// | all_to_all(x, split, join) | V -> V | parts of `split`, joined along `join` | V -> V | the same back |
/// | replicated(x) | I -> R | nothing | P -> I | sum |
/// | part(x, dim) | I -> V | nothing | V -> I | all_gather |
/// | part(x, dim) | R -> V | nothing | V -> P | nothing: zeros around it |
/// | share(x) | R -> P | nothing: zeros on all ranks but 0 | R -> P | the same |
/// | partial(x) | V -> P | nothing | R -> V | nothing |
/// | varying(x) | R -> V | nothing | V -> P | nothing |
///
/// All ranks of the axis make the same calls in the same order, also in backward passes.
/// throws as Communicator; ShapeError where a dimension does not divide into equal parts
template <class A, class D>
class Ranks {
  template <template <class> class To, Spread s>
  static constexpr bool gives = To<A>::spread == s;

 public:
  using axis = A;
  using device_type = D;

  explicit Ranks(Communicator<D> comm) : comm_(std::move(comm)) {}
  [[nodiscard]] int rank() const { return comm_.rank(); }
  [[nodiscard]] int size() const { return comm_.size(); }
  [[nodiscard]] const Communicator<D>& communicator() const { return comm_; }

  template <template <class> class To = Replicated, detail::SpreadOn<D, A, Spread::partial> X>
    requires(gives<To, Spread::replicated> || gives<To, Spread::invariant>)
  [[nodiscard]] auto all_reduce(const X& x) const {
    if constexpr (gives<To, Spread::replicated>)
      return move<Spread::replicated>(detail::SumOfRanks{}, detail::SumOfRanks{}, x);
    else return move<Spread::invariant>(detail::SumOfRanks{}, detail::Unmoved{}, x);
  }
  template <detail::SpreadOn<D, A, Spread::partial> X>
  [[nodiscard]] auto reduce_scatter(const X& x, int dim) const {
    return move<Spread::varying>(detail::ReduceScatter{dim}, detail::Gather{dim}, x);
  }
  template <template <class> class To = Replicated, detail::SpreadOn<D, A, Spread::varying> X>
    requires(gives<To, Spread::replicated> || gives<To, Spread::invariant>)
  [[nodiscard]] auto all_gather(const X& x, int dim) const {
    if constexpr (gives<To, Spread::replicated>)
      return move<Spread::replicated>(detail::Gather{dim}, detail::ReduceScatter{dim}, x);
    else return move<Spread::invariant>(detail::Gather{dim}, detail::TakePart{dim}, x);
  }
  template <detail::SpreadOn<D, A, Spread::varying> X>
  [[nodiscard]] auto all_to_all(const X& x, int split, int join) const {
    return move<Spread::varying>(detail::Exchange{split, join}, detail::Exchange{join, split}, x);
  }
  template <detail::SpreadOn<D, A, Spread::invariant> X>
  [[nodiscard]] auto replicated(const X& x) const {
    return move<Spread::replicated>(detail::Unmoved{}, detail::SumOfRanks{}, x);
  }
  template <detail::SpreadOn<D, A, Spread::invariant> X>
  [[nodiscard]] auto part(const X& x, int dim) const {
    return move<Spread::varying>(detail::TakePart{dim}, detail::Gather{dim}, x);
  }
  template <detail::SpreadOn<D, A, Spread::replicated> X>
  [[nodiscard]] auto part(const X& x, int dim) const {
    return move<Spread::varying>(detail::TakePart{dim}, detail::Surround{dim}, x);
  }
  template <detail::SpreadOn<D, A, Spread::replicated> X>
  [[nodiscard]] auto share(const X& x) const {
    return move<Spread::partial>(detail::OnRankZero{}, detail::OnRankZero{}, x);
  }
  /// What the compiler cannot see is said here: the ranks' x are the parts of a sum.
  template <class X>
    requires detail::SpreadOn<X, D, A, Spread::varying>
  [[nodiscard]] auto partial(X&& x) const {
    return say<Spread::partial>(std::forward<X>(x));
  }
  template <class X>
    requires detail::SpreadOn<X, D, A, Spread::replicated>
  [[nodiscard]] auto varying(X&& x) const {
    if constexpr (locus::detail::IsParameter<detail::local_t<X>>)  // a parameter that ranks step apart is not
                                                                   // Replicated
      return move<Spread::varying>(detail::Unmoved{}, detail::Unmoved{}, x);
    else return say<Spread::varying>(std::forward<X>(x));
  }
  /// The extreme or product of all ranks' x, which has no gradient.
  template <detail::SpreadOn<D, A, Spread::varying> X, ReduceOp Op>
    requires(detail::has_role<X>(Role::plain) && !std::is_same_v<Op, op::Sum>)
  [[nodiscard]] auto reduced(const X& x, Op op) const {
    return detail::labelled<detail::with_t<detail::states_of<X>, A, Spread::replicated>>(
        comm_.all_reduced(x.local(), op));
  }
#include <locus/refuse/distributed/spread/ranks_class.inc>

 private:
  template <Spread s, class There, class Back, class X>
  [[nodiscard]] auto move(const There& there, const Back& back, const X& x) const {
    using L = detail::with_t<detail::states_of<X>, A, s>;
    const detail::Moved<D, There, Back> op{comm_, there, back};
    if constexpr (locus::detail::IsParameter<detail::local_t<X>>)
      return detail::labelled<L>(apply(op, locus::trace(x.local())));
    else return detail::labelled<L>(apply(op, x.local().eval()));
  }
  template <Spread s, class X>
  [[nodiscard]] auto say(X&& x) const {
    return detail::labelled<detail::with_t<detail::states_of<X>, A, s>>(detail::bare(std::forward<X>(x)));
  }

  Communicator<D> comm_;
};
LOCUS_REFUSALS_END

namespace detail {
/// The tensor of a tensor or traced tensor.
template <class X>
[[nodiscard]] auto plain_value(const X& x) {
  if constexpr (X::role == Role::plain) return x.eval();
  else return x.eval().value();
}
/// The parameter w, traced where x is: for functions of a parameter and no traced operand.
template <class X, class P, class... S>
[[nodiscard]] auto recorded_as(const X&, const Over<P, S...>& w) {
  if constexpr (has_role<X>(Role::traced)) return labelled<States<S...>>(locus::trace(w.local()));
  else return labelled<States<S...>>(w.local().value());
}
/// A parameter of this rank's part of `whole`, which is the same on all ranks along A.
template <class... S, class A, class T, class D>
[[nodiscard]] Over<Parameter<T, D>, S...> own_part(const Ranks<A, D>& ranks, const Tensor<T, D>& whole, int dim) {
  return labelled<States<S...>>(Parameter<T, D>(TakePart{dim}(ranks.communicator(), whole).clone()));
}
}  // namespace detail

}}}  // namespace locus::LOCUS_ABI::dist
