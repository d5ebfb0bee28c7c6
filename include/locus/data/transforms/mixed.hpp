#pragma once
// Mixup as a data set: each labelled image mixed with another of the set, for fit; and the loss between both labels.

#include <locus/data/transforms/mixup.hpp>
#include <locus/data/transforms/transformed.hpp>
#include <locus/ops/reduce.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace data {

namespace detail {
template <class L>
inline constexpr bool is_labelled_image = false;
template <FloatingDType T>
inline constexpr bool is_labelled_image<Fields<T, std::int64_t>> = true;
/// A data set whose samples are an image of floating-point numbers and a class.
template <class S>
concept HasLabelledImages = HasImages<S> && is_labelled_image<fields_t<S>>;
}  // namespace detail

/// A data set of labelled images, each mixed with another sample: made by mixed().
template <detail::HasLabelledImages S>
class MixedDataset {
  using T = typename detail::ImageFields<detail::fields_t<S>>::Value;
  using R = compute_t<T>;

 public:
  /// Image n is shares(n) of an image of class labels(n), and 1 - shares(n) of an image of class others(n).
  template <class D>
  struct Batch {
    Tensor<T, D> images;
    Tensor<std::int64_t, D> labels, others;
    Tensor<T, D> shares;
  };

  /// throws ArgumentError for an alpha below 0
  MixedDataset(S dataset, const MixupOptions& options)
      : options_(options), held_(detail::hold(std::move(dataset))), key_(key_of(options, 0)) {
    locus::detail::require_not_negative("mixed", "alpha", options.alpha);
  }

  [[nodiscard]] std::int64_t size() const { return held_->dataset.size(); }
  [[nodiscard]] Fields<T, std::int64_t, std::int64_t, T> fields() const {
    return {held_->dataset.fields().shapes[0], {}, {}, {}};
  }
  [[nodiscard]] MixedDataset at_epoch(std::uint64_t epoch) const {
    (void)*held_;  // throws where the data set was moved from
    MixedDataset same = *this;
    same.key_ = key_of(options_, epoch);
    if constexpr (detail::HasEpochs<S>) same.held_ = detail::at_epoch(held_, epoch);
    return same;
  }
  void write(std::int64_t i, Span<T> image, Span<std::int64_t> label, Span<std::int64_t> other, Span<T> share) const {
    Philox random(key_, 0, static_cast<std::uint64_t>(i));
    const std::int64_t partner = random.bounded(size());
    const double drawn = options_.alpha > 0 ? detail::draw_beta(options_.alpha, random) : 1;
    share[0] = from_register<T>(static_cast<R>(drawn));
    const R of_own = static_cast<R>(load_as_register(share[0])), of_other = R(1) - of_own;
    read(i, image, label);
    other[0] = label[0];
    if (of_other == R(0)) return;  // unchanged, even if the partner is infinite
    const Tensor<T, Cpu> mixed(held_->dataset.fields().shapes[0]);
    const Span<T> from(mixed.data(), image.size());
    read(partner, from, other);
    for (std::size_t k = 0; k < image.size(); ++k)
      image[k] = from_register<T>(static_cast<R>(load_as_register(image[k])) * of_own +
                                  static_cast<R>(load_as_register(from[k])) * of_other);
  }

 private:
  [[nodiscard]] static std::uint64_t key_of(const MixupOptions& options, std::uint64_t epoch) {
    return detail::epoch_key(options.seed, epoch, locus::detail::stream_of_mixes);
  }
  void read(std::int64_t i, Span<T> image, Span<std::int64_t> label) const {
    const std::int64_t list[] = {i};
    detail::write_samples(held_->dataset, Span(list), {}, image, label);
  }

  MixupOptions options_;
  Shared<const detail::Held<S>> held_;
  std::uint64_t key_;
};

/// Each sample of a data set of labelled images mixed with another one, drawn at random, whenever it is loaded (mixup:
/// see mixup()). Each sample has its own share. Batches are of images, labels, others and shares, for a MixedLoss. The
/// partner and share of sample i in epoch e depend on (seed, e, i) alone. Images are mixed on the host, where batches
/// are prepared, and each reads two samples: on a GPU, mixup() of the batch in a loop of your own is faster.
/// throws ArgumentError for an alpha below 0
///
///     auto train = data::loader<D>(data::mixed(images, {.alpha = 0.2, .seed = 1}), {.shuffle = true});
///     fit(model, optimizer, data::MixedLoss{nn::CrossEntropyLoss{}}, train, valid, history);
template <detail::HasLabelledImages S>
[[nodiscard]] MixedDataset<S> mixed(S dataset, const MixupOptions& options = {}) {
  return MixedDataset<S>(std::move(dataset), options);
}

/// The mean over samples of share * criterion(prediction, label) + (1 - share) * criterion(prediction, other), for a
/// criterion with options.reduction, whose value is ignored. For plain batches, as in validation, the mean of
/// criterion(prediction, label).
template <class Criterion>
struct MixedLoss {
  Criterion criterion;

  template <class P, class Y, class W>
  [[nodiscard]] auto operator()(const P& prediction, const Y& labels, const Y& others, const W& shares) const {
    const Criterion each = of_each();
    return mean(each(prediction, labels) * shares + each(prediction, others) * (1 - shares));
  }
  template <class P, class Y>
  [[nodiscard]] auto operator()(const P& prediction, const Y& labels) const {
    return mean(of_each()(prediction, labels));
  }

 private:
  [[nodiscard]] Criterion of_each() const {
    Criterion each = criterion;
    each.options.reduction = decltype(each.options.reduction)::none;
    return each;
  }
};
template <class Criterion>
MixedLoss(Criterion) -> MixedLoss<Criterion>;

#include <locus/refuse/data/transforms/mixed.inc>

}}}  // namespace locus::LOCUS_ABI::data
