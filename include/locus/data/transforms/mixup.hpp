#pragma once
// Mixup: batches whose images are mixed in pairs, and the loss between the labels of both.

#include <locus/core/generator.hpp>
#include <locus/core/std/bounds.hpp>
#include <locus/expr/operators.hpp>
#include <locus/ops/join.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace data {

struct MixupOptions {
  double alpha = 0.2;      ///< shares are drawn from Beta(alpha, alpha); 0 mixes nothing
  std::uint64_t seed = 0;  ///< of the share: pass another for every batch
};

/// A batch of mixed images: image n is `share` of an image of class labels(n), and 1 - `share` of one of class
/// others(n).
template <class T, class D>
struct Mixed {
  Tensor<T, D> images;
  Tensor<std::int64_t, D> labels, others;
  double share;

  /// share * criterion(prediction, labels) + (1 - share) * criterion(prediction, others)
  template <class Criterion, class P>
  [[nodiscard]] auto loss(const Criterion& criterion, const P& prediction) const {
    return criterion(prediction, labels) * share + criterion(prediction, others) * (1 - share);
  }
};

namespace detail {

/// Uniform in (0, 1).
[[nodiscard]] inline double draw_unit(Philox& random) {
  const std::uint32_t high = random();
  return unit_double(high, random()) + 0x1p-54;
}

/// Gamma(shape, 1), shape >= 1, by rejection (Marsaglia, Tsang: A simple method for generating gamma variables, 2000).
[[nodiscard]] inline double draw_gamma(double shape, Philox& random) {
  const double d = shape - 1.0 / 3, c = 1 / __builtin_sqrt(9 * d);
  for (;;) {
    PhiloxBlock block{};
    block.x = random(), block.y = random(), block.z = random(), block.w = random();
    const double x = normal_pair_double(block).first, root = 1 + c * x;
    const double u = draw_unit(random);
    if (root <= 0) continue;
    const double v = root * root * root;
    if (__builtin_log(u) < x * x / 2 + d - d * v + d * __builtin_log(v)) return d * v;
  }
}

/// Beta(alpha, alpha): for alpha <= 1 by Joehnk's rejection, in logarithms, as powers of 1 / alpha may be too small. An
/// alpha below 1e-300 counts as 1e-300, which draws 0 or 1: for smaller ones the logarithms could be infinite.
[[nodiscard]] inline double draw_beta(double alpha, Philox& random) {
  if (alpha > 1) {
    const double a = draw_gamma(alpha, random), b = draw_gamma(alpha, random);
    return a / (a + b);
  }
  const double power = 1 / locus::detail::larger(alpha, 1e-300);
  for (;;) {
    const double a = __builtin_log(draw_unit(random)) * power, b = __builtin_log(draw_unit(random)) * power;
    const double most = a > b ? a : b, sum = most + __builtin_log(__builtin_exp(a - most) + __builtin_exp(b - most));
    if (sum <= 0) return __builtin_exp(a - sum);
  }
}

template <class X, class Y>
concept MixupOperands =
    locus::detail::Computes<X> && FloatingDType<value_of<X>> && locus::detail::bare_t<X>::role == Role::plain &&
    locus::detail::IndexOperand<Y> && SameDevice<X, Y> && locus::detail::bare_t<Y>::role == Role::plain;
template <class X, class Y>
struct MixupMistake
    : locus::detail::FirstMistake<locus::detail::PlaceMistake<X, Y, error::input_is_on, error::labels_are_on>,
                                  locus::detail::MemoryMistake<X>, locus::detail::IntegerMistake<X>,
                                  locus::detail::IndexTypeMistake<Y, error::labels_hold>> {};
}  // namespace detail

/// Each image of a batch mixed with the one before it, the first one with the last, by one share for all (Zhang, Cisse,
/// Dauphin, Lopez-Paz: mixup, beyond empirical risk minimization, 2018). The batch is in random order: loaders shuffle.
/// shape: images (n, ...), labels (n,)     cost: two launches, and two for the labels; none for a share of 1
/// throws ShapeError unless there is a label for each image; ArgumentError for an alpha below 0
///
///     const auto mixed = data::mixup(images, labels, {.alpha = 0.2, .seed = step});
///     const auto loss = mixed.loss(nn::CrossEntropyLoss{}, model(trace(mixed.images)));
template <class X, class Y>
  requires detail::MixupOperands<X, Y>
[[nodiscard]] Mixed<value_of<X>, device_of<X>> mixup(const X& images, const Y& labels,
                                                     const MixupOptions& options = {}) {
  using T = value_of<X>;
  using D = device_of<X>;
  locus::detail::require_not_negative("mixup", "alpha", options.alpha);
  const Tensor<T, D> x = images.eval();
  const Tensor<std::int64_t, D> y = labels.eval();
  if (x.rank() < 1 || y.rank() != 1 || x.size(0) != y.size(0))
    fail<ShapeError>(
        {"mixup: images of shape ", x.shape(), " with labels of shape ", y.shape(), "; expected (n, ...) and (n,)"});
  Philox random(options.seed, 0, locus::detail::stream_of_mixes);
  const double share = options.alpha > 0 ? detail::draw_beta(options.alpha, random) : 1;
  const std::int64_t count = x.size(0);
  if (count < 2 || share == 1) return {x, y, y, share};  // each image is itself, without a copy
  const Tensor<T, D> mixed(x.shape(), x.device());
  const auto mix = [&](std::int64_t begin, std::int64_t end, std::int64_t other) {
    mixed.slice(0, begin, end)
        .copy_(x.slice(0, begin, end) * share + x.slice(0, other, other + end - begin) * (1 - share));
  };
  mix(1, count, 0);
  mix(0, 1, count - 1);
  return {mixed, y, concat(0, y.slice(0, count - 1, count), y.slice(0, 0, count - 1)), share};
}

#include <locus/refuse/data/transforms/mixup.inc>

}}}  // namespace locus::LOCUS_ABI::data
