#pragma once
// Labelled images on the host, and parts of them.

#include <locus/core/shared.hpp>
#include <locus/data/sampler.hpp>
#include <locus/tensor/copy.hpp>

#include <cstring>

namespace locus::inline LOCUS_ABI::data {

/// Images as bytes, (n, channels, height, width), with a class for each. Cheap to copy: the bytes are shared.
class LabelledImages {
 public:
  LabelledImages() = default;
  /// throws ShapeError unless there is one label per image; IndexError for a label outside [0, classes)
  LabelledImages(const Tensor<std::uint8_t, Cpu>& images, const Tensor<std::int64_t, Cpu>& labels, std::int64_t classes)
      : images_(images.contiguous()), labels_(labels.clone()), classes_(classes) {
    if (images_.rank() != 4) fail<ShapeError>({"images: expected (n, channels, height, width), got ", images_.shape()});
    if (labels_.rank() != 1 || labels_.size(0) != images_.size(0)) {
      fail<ShapeError>({"images of shape ", images_.shape(), " with labels of shape ", labels_.shape(),
                        "; expected one label per image"});
    }
    for (std::int64_t i = 0, count = labels_.elements(); i < count; ++i) {
      const std::int64_t label = labels_.data()[i];
      if (label < 0 || label >= classes) {
        fail<IndexError>({"label ", label, " of image ", i, "; expected 0 to ", classes - 1});
      }
    }
  }

  [[nodiscard]] std::int64_t size() const {
    return chosen_ ? static_cast<std::int64_t>(chosen_->positions.size()) : images_.size(0);
  }
  [[nodiscard]] std::int64_t classes() const { return classes_; }
  /// (channels, height, width)
  [[nodiscard]] LOCUS_OUT_OF_LINE Shape sample_shape() const {
    return {images_.size(1), images_.size(2), images_.size(3)};
  }

  /// The samples at these positions, sharing the bytes. throws IndexError
  [[nodiscard]] LabelledImages subset(Span<const std::int64_t> positions) const {
    LabelledImages part = *this;
    std::vector<std::int64_t> chosen;
    chosen.reserve(positions.size());
    for (auto position : positions) chosen.push_back(stored(position));
    part.chosen_ = Shared<const Chosen>(new Chosen(std::move(chosen)));
    return part;
  }

  /// One image, (channels, height, width), and its label. throws IndexError
  [[nodiscard]] std::pair<Tensor<std::uint8_t, Cpu>, std::int64_t> operator[](std::int64_t position) const {
    const auto at = stored(position);
    return {images_.select(0, at), labels_(at)};
  }

  /// Copies samples to dense memory for positions.size() images, as T = scale * byte. Those in `next` are expected
  /// to be asked for afterwards: the first of them are fetched from memory. throws IndexError
  template <class T>
  void gather(Span<const std::int64_t> positions, compute_t<T> scale, T* images, std::int64_t* labels,
              Span<const std::int64_t> next = {}) const {
    const std::int64_t pixels = elements(sample_shape());
    for (std::size_t i = 0; i < positions.size(); ++i) {
      const auto at = stored(positions[i]);
      if (i + ahead < positions.size()) prefetch(positions[i + ahead], pixels);
      else if (i + ahead - positions.size() < next.size()) prefetch(next[i + ahead - positions.size()], pixels);
      copy_image(images_.data() + at * pixels, pixels, scale, images);
      images += pixels;
      *labels++ = labels_.data()[at];
    }
  }

 private:
  struct Chosen : Counted {
    explicit Chosen(std::vector<std::int64_t> chosen) : positions(std::move(chosen)) {}
    std::vector<std::int64_t> positions;
  };

  [[nodiscard]] LOCUS_OUT_OF_LINE std::int64_t stored(std::int64_t position) const {
    if (position < 0 || position >= size()) fail<IndexError>({"sample ", position, " of ", size()});
    return chosen_ ? chosen_->positions[static_cast<std::size_t>(position)] : position;
  }

  /// Images in random order are seldom in cache: the next ones are on their way to the second level while this one is
  /// converted.
  static constexpr std::size_t ahead = 6;
  void prefetch(std::int64_t position, std::int64_t pixels) const {
    if (position < 0 || position >= size()) return;  // whoever copies it says so
    const std::uint8_t* const image = images_.data() + stored(position) * pixels;
    constexpr std::int64_t line = 64, most = 32 * line;  // the processor notices that longer ones go on
    for (std::int64_t i = 0; i < pixels && i < most; i += line) __builtin_prefetch(image + i, 0, 2);
  }

  template <class T>
  LOCUS_VECTORIZED static void copy_image(const std::uint8_t* from, std::int64_t pixels, compute_t<T> scale, T* to) {
    if constexpr (std::is_same_v<T, std::uint8_t>) {
      std::memcpy(to, from, static_cast<std::size_t>(pixels));
    } else {
      LOCUS_IVDEP
      for (std::int64_t i = 0; i < pixels; ++i) to[i] = from_register<T>(static_cast<compute_t<T>>(from[i]) * scale);
    }
  }

  Tensor<std::uint8_t, Cpu> images_;
  Tensor<std::int64_t, Cpu> labels_;
  std::int64_t classes_ = 0;
  Shared<const Chosen> chosen_;  ///< null: all, in order
};

namespace detail {
template <class X>
concept GivesLabelledImages = std::is_convertible_v<const X&, LabelledImages>;
}  // namespace detail

/// Two parts drawn at random: `fraction` of the samples, and the rest. The same for the same seed.
/// throws ArgumentError unless 0 < fraction < 1 leaves a sample on both sides
[[nodiscard]] inline std::pair<LabelledImages, LabelledImages> random_split(const LabelledImages& dataset,
                                                                            double fraction, std::uint64_t seed = 0) {
  const std::int64_t size = dataset.size();
  const bool is_share = fraction > 0 && fraction < 1;
  const std::int64_t first = is_share ? __builtin_llround(static_cast<double>(size) * fraction) : 0;
  if (first < 1 || first >= size) {
    fail<ArgumentError>({"random_split: a fraction of ", fraction, " of ", size,
                         " samples; expected one between 0 and 1 that leaves samples on both sides"});
  }
  const auto order = RandomSampler{size, seed}.order(0);
  const Span<const std::int64_t> all(order);
  return {dataset.subset(all.first(static_cast<std::size_t>(first))),
          dataset.subset(all.from(static_cast<std::size_t>(first)))};
}

}  // namespace locus::inline LOCUS_ABI::data
