#pragma once
// Samples by weights, and rows in random order. Not part of locus/locus.hpp: it sorts, as ops/sort.hpp does.
//
// Draws are the same on every device. With replacement they follow from integers alone. Without, they follow from keys
// in double, which devices round differently, so that two keys could change places once in some 10^14.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/extreme.hpp>
#include <locus/ops/index.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/ops/scan.hpp>
#include <locus/ops/sort.hpp>
#include <locus/tensor/host_reads.hpp>
#include <locus/tensor/random.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

/// A weight as a multiple of 2^-40 of the largest of its row, rounded down; 0 for an invalid weight.
struct WholeWeight {
  template <class R>
  LOCUS_FN std::int64_t operator()(R weight, R largest) const {
    const double share = static_cast<double>(weight) / static_cast<double>(largest);
    return share > 0 && share <= 1 ? static_cast<std::int64_t>(share * 0x1p40) : 0;
  }
  using gives = std::int64_t;
};

/// The upper 64 bits of a product.
LOCUS_FN std::uint64_t upper_product(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t low = (a & 0xffffffffu) * (b & 0xffffffffu), first = (a >> 32) * (b & 0xffffffffu) + (low >> 32);
  const std::uint64_t second = (a & 0xffffffffu) * (b >> 32) + (first & 0xffffffffu);
  return (a >> 32) * (b >> 32) + (first >> 32) + (second >> 32);
}

/// The category in whose part of [0, sum of all) a random integer lies; -1 where all weights are 0.
struct DrawnCategory {
  std::uint64_t seed = 0, offset = 0;
  const std::int64_t* running_sums;  ///< (rows, categories), dense
  std::int64_t categories, count;
  LOCUS_FN void operator()(std::int64_t index, std::int64_t& out) const {
    const std::uint64_t position = offset + static_cast<std::uint64_t>(index);
    const PhiloxBlock lanes = random_block(seed, position / 2, stream_of_64_bits);
    const std::uint64_t bits =
        position % 2 ? std::uint64_t{lanes.z} << 32 | lanes.w : std::uint64_t{lanes.x} << 32 | lanes.y;
    const std::int64_t* const sums = running_sums + index / count * categories;
    const std::int64_t all = sums[categories - 1];
    const auto at = static_cast<std::int64_t>(upper_product(bits, static_cast<std::uint64_t>(all)));
    std::int64_t low = 0, high = categories - 1;  // the first sum above `at`
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (sums[middle] > at) high = middle;
      else low = middle + 1;
    }
    out = all > 0 ? low : -1;
  }
};

/// An exponentially distributed number of this rate: the least of several belongs to category i with probability weight
/// i / sum. Infinite for an invalid weight.
struct DrawingKey {
  template <class R>
  LOCUS_FN double operator()(double exponential, R weight) const {
    const double key = exponential / static_cast<double>(weight);
    return weight > R(0) && key == key ? key : __builtin_inf();
  }
  static constexpr bool differentiable = false;
  using gives = double;
};
/// The index of a finite key, else -1.
struct IndexOfKey {
  LOCUS_FN std::int64_t operator()(double key, std::int64_t index) const { return key < __builtin_inf() ? index : -1; }
  static constexpr bool differentiable = false;
};

/// throws ArgumentError for negative or infinite weights or NaN, or a row with fewer than `least` positive ones, if the
/// host can read them
template <class T, class D>
void require_weights(const char* function, const Tensor<T, D>& weights, std::int64_t least) {
  const std::int64_t categories = weights.size(1);
  std::int64_t row = 0, i = 0, positive = 0;  // the element's place, and the positive weights of its row so far
  check_elements(weights, [&](T element, std::int64_t) {
    const auto weight = static_cast<double>(load_as_register(element));
    if (!(weight >= 0 && weight < __builtin_inf()))
      fail<ArgumentError>({function, ": weight ", i, " of row ", row, " is ", weight, "; expected 0 or more, finite"});
    positive += weight > 0;
    if (++i < categories) return;
    if (positive < least)
      fail<ArgumentError>(
          {function, ": row ", row, " has ", positive, " weights above 0; expected at least ", least, " to draw from"});
    ++row, i = positive = 0;
  });
}

template <class T, class D, class Draw>
[[nodiscard]] Tensor<std::int64_t, D> multinomial(const Tensor<T, D>& given, std::int64_t count, bool replacement,
                                                  const Draw& draw) {
  constexpr std::int64_t most = std::int64_t{1} << 22;  // keeps sums of weights below 2^63
  const std::int64_t categories = given.rank() > 0 ? given.size(-1) : 0;
  if (given.rank() < 1 || given.rank() > 2 || categories < 1 || categories > most)
    fail<ShapeError>({"multinomial: weights of shape ", given.shape(),
                      "; expected (categories) or (rows, categories), of 1 to ", most, " categories"});
  if (count < 0 || (!replacement && count > categories))
    fail<ArgumentError>({"multinomial: ", count, " samples of ", categories, " categories; expected 0 or more, and ",
                         "without replacement no more than there are"});
  const Tensor<T, D> weights = given.contiguous().reshape({-1, categories});
  require_weights("multinomial", weights, replacement ? smaller(count, std::int64_t{1}) : count);
  const std::int64_t rows = weights.size(0);
  const auto shaped = [&](const Tensor<std::int64_t, D>& x) { return given.rank() == 1 ? x.reshape({count}) : x; };
  if (count == 0 || rows == 0) return shaped(Tensor<std::int64_t, D>({rows, count}, given.device()));
  if (replacement) {
    const Tensor<std::int64_t, D> whole = elementwise(WholeWeight{}, weights, max(weights, 1, true));
    const Tensor<std::int64_t, D> sums = cumsum(whole, 1);
    return shaped(randomly<std::int64_t>({rows, count}, given.device(), draw,
                                         DrawnCategory{0, 0, sums.data(), categories, count}));
  }
  const Tensor<double, D> uniform_keys =
      randomly<double>(weights.shape(), given.device(), draw, ExponentialElement<double>(1));
  const Tensor<double, D> keys = elementwise(DrawingKey{}, uniform_keys, weights);
  const auto [first, indices] = topk(keys, count, 1, false);
  return shaped(Tensor<std::int64_t, D>(elementwise(IndexOfKey{}, first, indices)));
}

template <class X>
concept Weights = SortOperand<X> && FloatingDType<value_of<X>> && bare_t<X>::role == Role::plain;

}  // namespace detail

/// Draws `count` categories of each row, with probabilities in the ratios of its weights: indices of int64. Without
/// replacement, each appears once, in the order of drawing. With replacement, weights are rounded down to multiples of
/// 2^-40 of the largest one of a row.
/// shape: (categories) -> (count), (rows, categories) -> (rows, count)
/// cost:  with replacement a maximum, a running sum and two launches; without, two launches and a topk
/// throws ShapeError; ArgumentError for weights that are negative or not finite, and rows with too few above 0, if the
/// host can read them. On a GPU an invalid weight is not drawn, and -1 stands for each category that is missing
///
///     auto token = multinomial(softmax(logits, -1), 1);
template <detail::Weights X>
[[nodiscard]] auto multinomial(const X& weights, std::int64_t count, bool replacement = false) {
  using D = device_of<X>;
  return detail::multinomial(weights.eval().value(), count, replacement, detail::draw_from_default<D>);
}
template <detail::Weights X>
[[nodiscard]] auto multinomial(const X& weights, std::int64_t count, bool replacement,
                               Generator<device_of<X>>& generator) {
  return detail::multinomial(weights.eval().value(), count, replacement, detail::draw_from(generator));
}

/// The rows of x, along its first dimension, in random order, every order equally likely: x[randperm(n)].
/// gradient: g, in x's order     cost: one launch, and a copy of n indices from the host     throws ShapeError for ()
template <detail::Operand X>
[[nodiscard]] auto shuffle(const X& x) {
  using D = device_of<X>;
  const auto whole = x.eval();
  if (whole.rank() < 1) fail<ShapeError>({"shuffle: a tensor of shape (); expected one dimension or more"});
  return index_select(whole, 0, randperm<std::int64_t, D>(whole.size(0), whole.device()));
}

}}  // namespace locus::LOCUS_ABI
