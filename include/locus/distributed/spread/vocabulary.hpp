#pragma once
// A vocabulary that is divided among ranks: a table of embeddings, and the cross-entropy of logits of its parts
// (Shoeybi and others, "Megatron-LM", 2019).

#include <locus/distributed/spread/divided.hpp>
#include <locus/distributed/spread/layers.hpp>
#include <locus/distributed/spread/ranks.hpp>
#include <locus/ops/index.hpp>
#include <locus/ops/reduce.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

/// The tokens of a vocabulary that each rank along A has: from size * rank / ranks on.
template <class A, class D>
class VocabularyPart {
 public:
  /// throws ArgumentError for fewer tokens than ranks
  VocabularyPart(const Ranks<A, D>& ranks, std::int64_t size)
      : size_(size), begin_(size * ranks.rank() / ranks.size()), end_(size * (ranks.rank() + 1) / ranks.size()) {
    if (size < ranks.size())
      fail<ArgumentError>(
          {"a vocabulary of ", size, " tokens among ", ranks.size(), " ranks; expected a token or more for each rank"});
  }
  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] std::int64_t begin() const { return begin_; }
  [[nodiscard]] std::int64_t end() const { return end_; }

  /// Rows of this rank's part for tokens: 0 for those of other ranks, and behind the last row for those outside of the
  /// vocabulary, which lookups refuse.
  [[nodiscard]] Tensor<std::int64_t, D> rows_of(const Tensor<std::int64_t, D>& tokens) const {
    const auto elsewhere = where(tokens < std::int64_t{0} || tokens >= size_, end_ - begin_, std::int64_t{0});
    return where(are_own(tokens), tokens - begin_, elsewhere).eval();
  }
  /// Which tokens are this rank's.
  [[nodiscard]] Tensor<bool, D> are_own(const Tensor<std::int64_t, D>& tokens) const {
    return (tokens >= begin_ && tokens < end_).eval();
  }

 private:
  std::int64_t size_, begin_, end_;
};

LOCUS_REFUSALS_BEGIN
/// A table of embeddings of which each rank along A has the rows of its part of the vocabulary, and a last layer that
/// shares it. S...: how the parts are spread along other axes.
template <class T, class D, class A, class... S>
struct VocabularyEmbedding {
  using Axis = detail::axis_of_layer<A>;
  using divided_along = Varying<Axis>;
  Over<Parameter<T, D>, Varying<Axis>, S...> weight;  ///< (tokens of the part, width)
  VocabularyPart<Axis, D> part;

  /// whole: (vocabulary, width), the same on all ranks. throws ArgumentError for fewer tokens than ranks
  VocabularyEmbedding(const Parameter<T, D>& whole, const Ranks<Axis, D>& ranks)
      : weight(of_part(whole, VocabularyPart<Axis, D>(ranks, whole.value().size(0)))),
        part(ranks, whole.value().size(0)) {}

  /// Looks up tokens that are the same on all ranks along A, and sums over the ranks. The result is Invariant along A,
  /// of a Sequence Varying: the part of the last dimension of tokens.
  /// shape: (...) of int64 -> (..., width); of a Sequence, (..., length) -> (..., length / ranks, width)
  /// throws IndexError as embedding() for tokens outside of the vocabulary
  template <class X>
    requires detail::SpreadAs<X, Axis, Spread::invariant>
  [[nodiscard]] auto forward(const Ranks<Axis, D>& ranks, const X& tokens) const {
    using L = detail::with_t<detail::states_of<X>, Axis, Spread::varying>;
    const Tensor<std::int64_t, D> given = detail::plain_value(tokens.local());
    const auto rows = detail::labelled<L>(part.rows_of(given));
    const auto own = detail::labelled<L>(part.are_own(given).unsqueeze(-1).template as<T>().eval());
    const auto parts = ranks.partial(embedding(detail::recorded_as(tokens, weight), rows) * own);
    if constexpr (detail::has_sequence<A>) return ranks.reduce_scatter(parts, -2);
    else return ranks.template all_reduce<Invariant>(parts);
  }
  /// Logits of this rank's part of the vocabulary: Varying along A.
  /// shape: (..., width) -> (..., tokens of the part); of a Sequence, (..., length / ranks, width) -> (..., length,
  ///        tokens of the part)
  template <class X>
    requires detail::FitsLayer<X, A>
  [[nodiscard]] auto logits(const Ranks<Axis, D>& ranks, const X& x) const {
    if constexpr (detail::has_sequence<A>) return linear(ranks.all_gather(x, -2), weight);
    else return linear(ranks.replicated(x), weight);
  }
#include <locus/refuse/distributed/spread/vocabulary_class.inc>

  void members(const auto& visit) const { visit("weight", weight, Divided<Axis>{.dim = 0}); }

 private:
  [[nodiscard]] static auto of_part(const Parameter<T, D>& whole, const VocabularyPart<Axis, D>& part) {
    return detail::labelled<detail::States<Varying<Axis>, S...>>(
        Parameter<T, D>(whole.value().slice(0, part.begin(), part.end()).clone()));
  }
};
LOCUS_REFUSALS_END

/// The mean cross-entropy, where each rank along A has the logits of its part of the vocabulary; computed in
/// float for 16-bit types. The result is Invariant along A, and the mean of this rank's rows along other axes.
/// shape: logits (..., tokens of the part), Varying along A; targets (...) of int64, Invariant along A -> scalar
/// throws IndexError as gather() for targets outside of the vocabulary
/// cost:  three sums over ranks of a number for each row, one of them a maximum; no rank has all logits of a row
template <class A, class D, class X, class Y>
  requires(detail::SpreadAs<X, A, Spread::varying> && detail::SpreadAs<Y, A, Spread::invariant>)
[[nodiscard]] auto vocabulary_cross_entropy(const Ranks<A, D>& ranks, const VocabularyPart<A, D>& part, const X& logits,
                                            const Y& targets) {
  using R = compute_t<value_of<detail::local_t<X>>>;
  using L = detail::with_t<detail::states_of<Y>, A, Spread::varying>;
  const auto x = logits.template as<R>().eval();
  const auto largest = ranks.reduced(locus::max(x.value(), -1, true).eval(), dist::max);
  const auto z = (x - largest).eval();
  const auto sum_of_all = ranks.template all_reduce<Invariant>(ranks.partial(locus::sum(exp(z), -1)));
  const Tensor<std::int64_t, D> given = targets.local().eval();
  const auto rows = detail::labelled<L>(part.rows_of(given).unsqueeze(-1));
  const auto own = detail::labelled<L>(part.are_own(given).template as<R>().eval());
  const auto of_target = ranks.template all_reduce<Invariant>(ranks.partial(gather(z, -1, rows).squeeze(-1) * own));
  return locus::mean(log(sum_of_all) - of_target).eval();
}

}}}  // namespace locus::LOCUS_ABI::dist
