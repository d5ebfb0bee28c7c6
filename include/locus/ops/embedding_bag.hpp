#pragma once
// Sums, means and maxima of rows of a table, a bag of indices for each result: F.embedding_bag. Not part of
// locus/locus.hpp.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/index.hpp>
#include <locus/ops/join.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/tensor/factory.hpp>

#include <limits>

namespace locus { inline namespace LOCUS_ABI {

enum class BagMode { sum, mean, max };

struct EmbeddingBagOptions {
  BagMode mode = BagMode::mean;                            ///< sum, mean or max of the rows
  std::optional<std::int64_t> padding_idx = std::nullopt;  ///< an index that counts as absent; below 0 from the end
  bool include_last_offset = false;                        ///< the last offset is the number of indices
};

namespace detail {

/// Bags of indices: bag b has the indices from offsets[b] to before offsets[b + 1].
struct Bags {
  const std::int64_t *indices, *offsets;
  std::int64_t count, entries, padding;

  [[nodiscard]] LOCUS_FN bool is_absent(std::int64_t i) const { return indices[i] == padding; }
  [[nodiscard]] LOCUS_FN bool is_row(std::int64_t i) const { return indices[i] >= 0 && indices[i] < entries; }
  /// The number of indices of a bag, without the absent ones.
  [[nodiscard]] LOCUS_FN std::int64_t size(std::int64_t bag) const {
    if (padding < 0) return offsets[bag + 1] - offsets[bag];
    std::int64_t present = 0;
    for (std::int64_t i = offsets[bag]; i < offsets[bag + 1]; ++i) present += is_absent(i) ? 0 : 1;
    return present;
  }
  /// The bag of an index: the last one that begins at or before it.
  [[nodiscard]] LOCUS_FN std::int64_t bag_of(std::int64_t i) const {
    std::int64_t low = 0, high = count;
    while (high - low > 1) {
      const std::int64_t middle = (low + high) / 2;
      if (offsets[middle] <= i) low = middle;
      else high = middle;
    }
    return low;
  }
};

/// y row (bag) = the sum of weights times rows, their mean, or their maxima; 0 for an empty bag.
template <class T, BagMode mode>
struct BagRow {
  static constexpr int fragments = 0;
  const T *table, *weights;  ///< weights: null for 1
  Bags bags;
  T* y;
  compute_t<T> invalid = picked_by_no_index<T>();

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t bag, Team& team) const {
    using R = compute_t<T>;
    const std::int64_t begin = bags.offsets[bag], end = bags.offsets[bag + 1], width = team.cols();
    const BagRow self = *this;
    const R present = mode == BagMode::mean ? static_cast<R>(bags.size(bag)) : R(1);
    team.store(RowOutput<T>{y + bag * width}, [=](std::int64_t c) LOCUS_INLINED {
      R result = 0;
      bool is_first = true;
      for (std::int64_t i = begin; i < end; ++i) {
        if (self.bags.is_absent(i)) continue;
        R v = self.bags.is_row(i) ? R(load_as_register(self.table[self.bags.indices[i] * width + c])) : self.invalid;
        if (self.weights) v *= load_as_register(self.weights[i]);
        if constexpr (mode == BagMode::max) result = (is_first | (v > result) | (v != v)) ? v : result;
        else result += v;
        is_first = false;
      }
      return is_first ? R(0) : result / present;
    });
  }
};

/// places row (bag) = the table's row of each maximum: the first of equal ones, -1 for an empty bag
template <class T>
struct BagPlaceRow {
  static constexpr int fragments = 0;
  const T* table;
  Bags bags;
  std::int64_t* places;

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t bag, Team& team) const {
    using R = compute_t<T>;
    const std::int64_t begin = bags.offsets[bag], end = bags.offsets[bag + 1], width = team.cols();
    const BagPlaceRow self = *this;
    team.store(RowOutput<std::int64_t>{places + bag * width}, [=](std::int64_t c) LOCUS_INLINED {
      R largest = 0;
      std::int64_t place = -1;
      for (std::int64_t i = begin; i < end; ++i) {
        if (self.bags.is_absent(i) || !self.bags.is_row(i)) continue;
        const R v = load_as_register(self.table[self.bags.indices[i] * width + c]);
        const bool is_larger = (place < 0) | (v > largest) | (v != v);
        largest = is_larger ? v : largest;
        place = is_larger ? self.bags.indices[i] : place;
      }
      return place;
    });
  }
};

/// rows (index) = the gradient of its bag, times its weight, over the size of the bag if `is_mean`.
template <class T>
struct BagGradientRow {
  static constexpr int fragments = 0;
  const T *g, *weights;
  Bags bags;
  bool is_mean;
  T* rows;

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t i, Team& team) const {
    using R = compute_t<T>;
    const std::int64_t bag = bags.bag_of(i);
    const R weight = weights ? R(load_as_register(weights[i])) : R(1);
    const R divisor = is_mean ? static_cast<R>(bags.size(bag)) : R(1);
    const T* const from = g + bag * team.cols();
    team.store(RowOutput<T>{rows + i * team.cols()},
               [=](std::int64_t c) LOCUS_INLINED { return load_as_register(from[c]) * weight / divisor; });
  }
};

}  // namespace detail

namespace operation {

/// Operands: the table, the indices, as many offsets as bags and one more, and, in mode sum, optional weights.
struct EmbeddingBag {
  static constexpr const char* name = "embedding_bag";
  static constexpr bool runs_on_duals = true;
  BagMode mode;
  std::int64_t padding = -1;

  template <class T, class D>
  using Saved = Tuple<Tensor<T, D>, Tensor<std::int64_t, D>, Tensor<std::int64_t, D>, Tensor<T, D>>;

  template <class T, class D, class... W>
  auto forward(const Tensor<T, D>& given, const Tensor<std::int64_t, D>& given_indices,
               const Tensor<std::int64_t, D>& given_offsets, const W&... given_weights) const {
    detail::require_same_ordinal(name, given, given_indices, given_offsets, given_weights...);
    const Tensor<T, D> table = given.contiguous();
    const Tensor<std::int64_t, D> indices = given_indices.contiguous(), offsets = given_offsets.contiguous();
    Tensor<T, D> weights;
    ((weights = given_weights.contiguous()), ...);
    detail::require_indices(name, indices, table.size(0));
    const Tensor<T, D> y({offsets.elements() - 1, table.size(1)}, table.device());
    const detail::Bags bags = bags_of(table.size(0), indices, offsets);
    const auto launch = [&](const auto& row) { Backend<D>::for_each_row(y.device(), y.size(0), y.size(1), row); };
    using detail::BagRow;
    if (!y.empty()) {
      switch (mode) {
        case BagMode::sum: launch(BagRow<T, BagMode::sum>{table.data(), weights.data(), bags, y.data()}); break;
        case BagMode::mean: launch(BagRow<T, BagMode::mean>{table.data(), nullptr, bags, y.data()}); break;
        case BagMode::max: launch(BagRow<T, BagMode::max>{table.data(), nullptr, bags, y.data()}); break;
      }
    }
    return Forwarded{y, Saved<T, D>(table, indices, offsets, weights)};
  }

  template <class T, class D, class I, class O, class... W>
  void backward(const Saved<T, D>& saved, const Tensor<T, D>& given, Gradient<T, D>& dtable, I&, O&,
                W&... dweights) const {
    const auto& [table, indices, offsets, weights] = saved;
    const Tensor<T, D> g = given.contiguous();
    const detail::Bags bags = bags_of(table.size(0), indices, offsets);
    if (dtable) {
      const auto [out, accumulate] = dtable.open();
      if (mode == BagMode::max) add_maxima(out, accumulate, table, bags, g);
      else
        detail::add_picked_rows(out, accumulate, rows_of_bags(g, weights, bags, indices.elements()),
                                without_padding(indices), 0);
    }
    (give_weights(saved, g, bags, dweights), ...);
  }

 private:
  template <class D>
  [[nodiscard]] detail::Bags bags_of(std::int64_t entries, const Tensor<std::int64_t, D>& indices,
                                     const Tensor<std::int64_t, D>& offsets) const {
    return {indices.data(), offsets.data(), offsets.elements() - 1, entries, padding};
  }
  template <class D>
  [[nodiscard]] Tensor<std::int64_t, D> without_padding(const Tensor<std::int64_t, D>& indices) const {
    if (padding < 0) return indices;
    const Tensor<std::int64_t, D> result(indices.shape(), indices.device());
    detail::map_into(result, detail::WithoutIndex{padding}, indices);
    return result;
  }
  /// The gradient of the row of each index.
  template <class T, class D>
  [[nodiscard]] Tensor<T, D> rows_of_bags(const Tensor<T, D>& g, const Tensor<T, D>& weights, const detail::Bags& bags,
                                          std::int64_t count) const {
    const Tensor<T, D> rows({count, g.size(1)}, g.device());
    if (!rows.empty())
      Backend<D>::for_each_row(
          g.device(), count, g.size(1),
          detail::BagGradientRow<T>{g.data(), weights.data(), bags, mode == BagMode::mean, rows.data()});
    return rows;
  }
  template <class T, class D>
  void add_maxima(const Tensor<T, D>& out, bool accumulate, const Tensor<T, D>& table, const detail::Bags& bags,
                  const Tensor<T, D>& g) const {
    const Tensor<std::int64_t, D> places(g.shape(), g.device());
    if (!g.empty())
      Backend<D>::for_each_row(g.device(), g.size(0), g.size(1),
                               detail::BagPlaceRow<T>{table.data(), bags, places.data()});
    detail::add_picked_elements(out, out, accumulate, g, places, 0);
  }
  /// The gradient of each weight: the product of its row and of the bag's gradient.
  template <class T, class D>
  void give_weights(const Saved<T, D>& saved, const Tensor<T, D>& g, const detail::Bags& bags,
                    Gradient<T, D>& dweights) const {
    if (!dweights) return;
    const auto& [table, indices, offsets, weights] = saved;
    const Tensor<T, D> of_bags = rows_of_bags(g, Tensor<T, D>(), bags, indices.elements());
    const Tensor<T, D> rows = IndexSelect{name, 0}.forward(table, indices).output;
    const Tensor<T, D> products = sum(rows * of_bags, -1);
    dweights.give(padding < 0 ? products : Tensor<T, D>(where(indices == padding, T(0), products)));
  }
};

}  // namespace operation

namespace detail {
template <class X, class I, class O>
concept BagOperands = IndexedOperands<X, I> && IndexedOperands<X, O> && FloatingDType<value_of<X>>;
template <class W>
concept BagWeights = TensorLike<W> && FloatingDType<value_of<W>>;
template <class X, class I, class W>
concept WeightedBagOperands = IndexedOperands<X, I> && BagWeights<W> && !IsParameter<W> && CombinablePair<X, W>;
template <class X, class... I>
struct BagMistake : FirstMistake<IndexedMistake<X, I>..., IntegerMistake<X>> {};
template <class X, class I, class W>
struct WeightedBagMistake : FirstMistake<IndexedMistake<X, I>, PlaceMistake<X, W>, ParameterMistake<W>,
                                         IntegerMistake<X>, PairMistake<X, W>> {};

/// throws ShapeError for a table that is no matrix, ArgumentError for a padding_idx that is no row
[[nodiscard]] LOCUS_OUT_OF_LINE inline operation::EmbeddingBag bag_operation(const Shape& table,
                                                                             const EmbeddingBagOptions& options) {
  if (table.rank() != 2) fail<ShapeError>({"embedding_bag: table of shape ", table, "; expected (entries, features)"});
  return {options.mode, padding_row("embedding_bag", table[0], {options.padding_idx})};
}
/// throws ArgumentError unless the mode is sum; ShapeError unless there is a weight for each index
LOCUS_OUT_OF_LINE inline void require_bag_weights(const Shape& weights, const Shape& indices,
                                                  const EmbeddingBagOptions& options) {
  if (options.mode != BagMode::sum)
    fail<ArgumentError>({"embedding_bag: weights with BagMode::", options.mode == BagMode::mean ? "mean" : "max",
                         "; expected BagMode::sum, which alone is weighted"});
  if (!(weights == indices))
    fail<ShapeError>({"embedding_bag: weights of shape ", weights, " for indices of shape ", indices,
                      "; expected a weight for each index"});
}
/// The begin of each bag, and the end of the last. throws ShapeError, IndexError
template <class D>
[[nodiscard]] Tensor<std::int64_t, D> bag_bounds(const Shape& indices, const Tensor<std::int64_t, D>& offsets,
                                                 const EmbeddingBagOptions& options) {
  if (indices.rank() != 1 || offsets.rank() != 1 || (options.include_last_offset && offsets.elements() == 0))
    fail<ShapeError>({"embedding_bag: indices of shape ", indices, " and offsets of shape ", offsets.shape(),
                      "; expected (n,) and (bags,), or indices (bags, n) without offsets"});
  std::int64_t last = 0;
  check_elements(offsets, [&](std::int64_t offset, std::int64_t i) {
    if ((i == 0 && offset != 0) || offset < last || offset > indices[0])
      fail<IndexError>({"embedding_bag: offset ", offset, " at position ", i, " of ", indices[0],
                        " indices; expected 0 for the first, and none below the one before it"});
    last = offset;
  });
  if (options.include_last_offset) return offsets;
  return concat({offsets, full<std::int64_t>({1}, indices[0], offsets.device())}, 0);
}
/// The bounds of bags of one size. throws ShapeError
template <class D>
[[nodiscard]] Tensor<std::int64_t, D> equal_bags(const Shape& indices, D device) {
  if (indices.rank() != 2)
    fail<ShapeError>({"embedding_bag: indices of shape ", indices, "; expected (bags, n), or (n,) with offsets"});
  return arange<std::int64_t>(0, indices[0] + 1, 1, device) * indices[1];
}
}  // namespace detail

/// Rows of a table (entries, d), summed, averaged or maximized over bags of indices, without storing them.
/// shape:    indices (bags, n) -> (bags, d)
/// gradient: of a sum g to each row of the bag, of a mean g / its size, of a maximum g to the first row that attains
/// it;
///           added up as index_select's
/// cost:     two launches; backward as index_select, and a launch. A bag's padding_idx counts as absent; an empty bag
///           gives 0
/// throws ShapeError; IndexError for an index that is no row, if the host can read it; ArgumentError
///
///     auto features = embedding_bag(table, words, {.mode = BagMode::sum, .padding_idx = 0});
template <class X, class I>
  requires detail::BagOperands<X, I, I>
[[nodiscard]] auto embedding_bag(const X& table, const I& indices, const EmbeddingBagOptions& options = {}) {
  const auto op = detail::bag_operation(table.shape(), options);
  const auto bounds = detail::equal_bags(indices.shape(), table.device());
  return apply(op, table, reshape(indices, {inferred}), bounds);
}
/// The same for bags of different sizes: bag b has the indices from offsets[b] to before the next offset.
/// shape: indices (n,), offsets (bags,), or one more with include_last_offset -> (bags, d)
/// throws IndexError, if the host can read them, unless the first offset is 0 and none is below the one before it
template <class X, class I, class O>
  requires detail::BagOperands<X, I, O>
[[nodiscard]] auto embedding_bag(const X& table, const I& indices, const O& offsets,
                                 const EmbeddingBagOptions& options = {}) {
  const auto op = detail::bag_operation(table.shape(), options);
  return apply(op, table, indices, detail::bag_bounds(indices.shape(), offsets.eval().value(), options));
}
/// Sums with a weight for each index: PyTorch's per_sample_weights.
/// gradient: of a weight, the product of its row and g
/// throws ArgumentError for another mode than sum; ShapeError unless weights have the shape of the indices
template <class X, class I, class W>
  requires detail::WeightedBagOperands<X, I, W>
[[nodiscard]] auto embedding_bag(const X& table, const I& indices, const W& weights,
                                 const EmbeddingBagOptions& options) {
  detail::require_bag_weights(weights.shape(), indices.shape(), options);
  const auto op = detail::bag_operation(table.shape(), options);
  const auto bounds = detail::equal_bags(indices.shape(), table.device());
  return apply(op, table, reshape(indices, {inferred}), bounds, reshape(weights, {inferred}));
}
/// The same for bags of different sizes.
template <class X, class I, class O, class W>
  requires(detail::BagOperands<X, I, O> && detail::WeightedBagOperands<X, I, W>)
[[nodiscard]] auto embedding_bag(const X& table, const I& indices, const O& offsets, const W& weights,
                                 const EmbeddingBagOptions& options) {
  detail::require_bag_weights(weights.shape(), indices.shape(), options);
  const auto op = detail::bag_operation(table.shape(), options);
  return apply(op, table, indices, detail::bag_bounds(indices.shape(), offsets.eval().value(), options), weights);
}

#include <locus/refuse/ops/embedding_bag.inc>

}}  // namespace locus::LOCUS_ABI
