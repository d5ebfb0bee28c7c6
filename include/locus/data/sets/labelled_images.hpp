#pragma once
// Labelled images on the host, and parts of them.

#include <locus/data/dataset.hpp>
#include <locus/expr/operators.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace data {

/// The part of a published data set.
enum class Part { train, test };

/// Images as numbers in [0, 1], (n, channels, height, width), and their classes, (n).
template <class T, class D>
struct Batch {
  Tensor<T, D> images;
  Tensor<std::int64_t, D> labels;
};

namespace detail {
/// A batch from images as bytes.
template <class T, class D>
[[nodiscard]] data::Batch<T, D> scaled(const Tensor<std::uint8_t, D>& bytes, Tensor<std::int64_t, D> labels) {
  return {elementwise(functor::Convert<T>{}, bytes) * (1.0 / 255.0), std::move(labels)};
}

/// Base of the compact form of labelled images for a device that the host does not write: bytes are copied, and become
/// numbers in [0, 1], of T, there, in one launch.
template <class T>
struct BytesOfUnit {
  static constexpr double unit = 1.0 / 255.0;
  template <class D>
  [[nodiscard]] data::Batch<T, D> expand(const Tensor<std::uint8_t, D>& bytes, Tensor<std::int64_t, D> labels) const {
    return scaled<T>(bytes, std::move(labels));
  }
};
}  // namespace detail

/// Images as bytes, (n, channels, height, width), with a class for each. Cheap to copy: the bytes are shared. A data
/// set whose batches hold the bytes as numbers in [0, 1], of T, under the names `images` and `labels`.
template <class T>
class LabelledImagesAs {
  static_assert(FloatingDType<T>, "images are delivered as numbers in [0, 1]: T is a floating-point type");

 public:
  template <class D>
  using Batch = data::Batch<T, D>;

  LabelledImagesAs() = default;
  /// throws ShapeError unless there is one label per image; IndexError for a label outside [0, classes)
  LabelledImagesAs(const Tensor<std::uint8_t, Cpu>& images, const Tensor<std::int64_t, Cpu>& labels,
                   std::int64_t classes)
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
    chosen_ = detail::Selection(images_.size(0));
  }

  [[nodiscard]] std::int64_t size() const { return chosen_.size(); }
  [[nodiscard]] std::int64_t classes() const { return classes_; }
  /// (channels, height, width)
  [[nodiscard]] LOCUS_OUT_OF_LINE Shape sample_shape() const {
    (void)chosen_.size();  // throws where the data set was moved from
    return {images_.size(1), images_.size(2), images_.size(3)};
  }

  /// The same images, delivered as numbers of U.
  template <class U>
  [[nodiscard]] LabelledImagesAs<U> as() const {
    LabelledImagesAs<U> same;
    same.images_ = images_;
    same.labels_ = labels_;
    same.classes_ = classes_;
    same.chosen_ = chosen_;
    return same;
  }

  /// The samples at these positions, sharing the bytes. throws IndexError
  [[nodiscard]] LabelledImagesAs subset(Span<const std::int64_t> positions) const {
    LabelledImagesAs part = *this;
    part.chosen_ = chosen_.subset(positions);
    return part;
  }

  /// One image, (channels, height, width), and its label. throws IndexError
  [[nodiscard]] std::pair<Tensor<std::uint8_t, Cpu>, std::int64_t> operator[](std::int64_t position) const {
    const auto at = chosen_[position];
    return {images_.select(0, at), labels_(at)};
  }

  /// Copies samples to dense memory for positions.size() images, as U = scale * byte. `next` names samples that are
  /// likely to follow: the first of them are prefetched. throws IndexError
  template <class U>
  void gather(Span<const std::int64_t> positions, compute_t<U> scale, U* images, std::int64_t* labels,
              Span<const std::int64_t> next = {}) const {
    const std::int64_t pixels = elements(sample_shape());
    for (std::size_t i = 0; i < positions.size(); ++i) {
      const auto at = chosen_[positions[i]];
      if (i + ahead < positions.size()) prefetch(positions[i + ahead], pixels);
      else if (i + ahead - positions.size() < next.size()) prefetch(next[i + ahead - positions.size()], pixels);
      copy_image(images_.data() + at * pixels, pixels, scale, images);
      images += pixels;
      *labels++ = labels_.data()[at];
    }
  }

  /// As every data set.
  [[nodiscard]] Fields<T, std::int64_t> fields() const { return {sample_shape(), {}}; }
  void write(Span<const std::int64_t> list, Span<const std::int64_t> next, Span<T> images,
             Span<std::int64_t> labels) const {
    gather(list, static_cast<compute_t<T>>(1.0 / 255.0), images.data(), labels.data(), next);
  }

  struct Bytes : detail::BytesOfUnit<T> {
    LabelledImagesAs images;
    [[nodiscard]] std::int64_t size() const { return images.size(); }
    [[nodiscard]] Fields<std::uint8_t, std::int64_t> fields() const { return {images.sample_shape(), {}}; }
    void write(Span<const std::int64_t> list, Span<const std::int64_t> next, Span<std::uint8_t> bytes,
               Span<std::int64_t> labels) const {
      images.gather(list, compute_t<std::uint8_t>(1), bytes.data(), labels.data(), next);
    }
  };
  [[nodiscard]] Bytes compact() const { return {{}, *this}; }

 private:
  template <class U>
  friend class LabelledImagesAs;

  /// Images in random order are seldom in cache: the next images are prefetched to the second level while this one is
  /// converted.
  static constexpr std::size_t ahead = 6;
  void prefetch(std::int64_t position, std::int64_t pixels) const {
    if (position < 0 || position >= size()) return;  // copying it reports the error
    const std::uint8_t* const image = images_.data() + chosen_[position] * pixels;
    constexpr std::int64_t line = 64, most = 32 * line;  // the hardware prefetcher continues longer ones
    for (std::int64_t i = 0; i < pixels && i < most; i += line) __builtin_prefetch(image + i, 0, 2);
  }

  template <class U>
  LOCUS_VECTORIZED static void copy_image(const std::uint8_t* from, std::int64_t pixels, compute_t<U> scale, U* to) {
    if constexpr (std::is_same_v<U, std::uint8_t>) {
      std::memcpy(to, from, static_cast<std::size_t>(pixels));
    } else {
      LOCUS_IVDEP
      for (std::int64_t i = 0; i < pixels; ++i) to[i] = from_register<U>(static_cast<compute_t<U>>(from[i]) * scale);
    }
  }

  Tensor<std::uint8_t, Cpu> images_;
  Tensor<std::int64_t, Cpu> labels_;
  std::int64_t classes_ = 0;
  detail::Selection chosen_;
};

using LabelledImages = LabelledImagesAs<float>;

}}}  // namespace locus::LOCUS_ABI::data

#include <locus/instances/data/sets/labelled_images.inc>
