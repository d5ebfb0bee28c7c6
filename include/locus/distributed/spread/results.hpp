#pragma once
// Results of several tensors that are spread over ranks: structs and lists of the same form, of Over.

#include <locus/distributed/spread/over.hpp>

#include <array>
#include <vector>

namespace locus { inline namespace LOCUS_ABI {

template <class Values, class Indices>
struct ValuesAndIndices;
template <class Values, class Indices>
struct Sorted;
template <class V>
struct VarianceAndMean;
template <class T, class D>
struct Unique;
template <class Y, class R, class D>
struct NormalizedWithMoments;

namespace dist {

/// The result of unique() of an operand that is spread over ranks; with the members of Unique.
template <class Values, class Numbers>
struct SpreadUnique {
  Values values;
  Numbers inverse, counts, first;
};
/// The result of layer_norm_and_moments() and group_norm_and_moments() of such an operand, with the
/// members of NormalizedWithMoments.
template <class Values, class Moments>
struct SpreadMoments {
  Values values;
  Moments mean, rstd;
};

namespace detail {

template <class L, class Y>
struct LabelEach<L, std::vector<Y>> {
  [[nodiscard]] static auto of(std::vector<Y>&& all) {
    std::vector<labelled_t<Y, L>> result;
    result.reserve(all.size());
    for (Y& each : all) result.push_back(labelled<L>(std::move(each)));
    return result;
  }
};
template <class L, class Y, std::size_t n>
struct LabelEach<L, std::array<Y, n>> {
  [[nodiscard]] static auto of(std::array<Y, n>&& all) { return of(std::move(all), std::make_index_sequence<n>()); }
  template <std::size_t... i>
  [[nodiscard]] static auto of(std::array<Y, n>&& all, std::index_sequence<i...>) {
    return std::array{labelled<L>(std::move(all[i]))...};
  }
};
template <class L, template <class, class> class R, class Values, class Indices>
  requires std::is_same_v<R<Values, Indices>, ValuesAndIndices<Values, Indices>> ||
           std::is_same_v<R<Values, Indices>, Sorted<Values, Indices>>
struct LabelEach<L, R<Values, Indices>> {
  [[nodiscard]] static auto of(R<Values, Indices>&& all) {
    return R<labelled_t<Values, L>, labelled_t<Indices, L>>{labelled<L>(std::move(all.values)),
                                                            labelled<L>(std::move(all.indices))};
  }
};
template <class L, class V>
struct LabelEach<L, VarianceAndMean<V>> {
  [[nodiscard]] static auto of(VarianceAndMean<V>&& all) {
    return VarianceAndMean<labelled_t<V, L>>{labelled<L>(std::move(all.variance)), labelled<L>(std::move(all.mean))};
  }
};
template <class L, class T, class D>
struct LabelEach<L, Unique<T, D>> {
  [[nodiscard]] static auto of(Unique<T, D>&& all) {
    using Numbers = labelled_t<Tensor<std::int64_t, D>, L>;
    return SpreadUnique<labelled_t<Tensor<T, D>, L>, Numbers>{
        labelled<L>(std::move(all.values)), labelled<L>(std::move(all.inverse)), labelled<L>(std::move(all.counts)),
        labelled<L>(std::move(all.first))};
  }
};
template <class L, class Y, class R, class D>
struct LabelEach<L, NormalizedWithMoments<Y, R, D>> {
  [[nodiscard]] static auto of(NormalizedWithMoments<Y, R, D>&& all) {
    return SpreadMoments<labelled_t<Y, L>, labelled_t<Tensor<R, D>, L>>{
        labelled<L>(std::move(all.values)), labelled<L>(std::move(all.mean)), labelled<L>(std::move(all.rstd))};
  }
};

}  // namespace detail
}  // namespace dist
}}  // namespace locus::LOCUS_ABI
