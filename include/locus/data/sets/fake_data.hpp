#pragma once
// Random images, to try a program without data.

#include <locus/core/rng.hpp>
#include <locus/core/std/bounds.hpp>
#include <locus/data/sets/labelled_images.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace data {

struct FakeDataOptions {
  std::int64_t size = 1000;
  Shape shape = {3, 224, 224};  ///< of a sample, of any rank
  std::int64_t classes = 10;
  std::uint64_t seed = 0;
};

/// Random numbers in [0, 1) as images, and random labels, as batches of labelled images: sample i depends on (seed, i)
/// alone, in any order, on any number of threads. Nothing is stored. T is the element type of the images, to which the
/// numbers are rounded.
///
///     auto batches = data::loader<D>(data::FakeData{{.size = 512, .shape = {3, 32, 32}}}, {.batch_size = 64});
template <class T>
class FakeDataAs {
  static_assert(FloatingDType<T>, "images are delivered as numbers in [0, 1]: T is a floating-point type");

 public:
  template <class D>
  using Batch = data::Batch<T, D>;

  /// throws ArgumentError for a negative size, or less than one class
  explicit FakeDataAs(const FakeDataOptions& options = {}) : options_(options) {
    if (options.size < 0) fail<ArgumentError>({"FakeData: size is ", options.size, "; expected 0 or more"});
    if (options.classes < 1) fail<ArgumentError>({"FakeData: classes is ", options.classes, "; expected 1 or more"});
  }
  /// The same images as numbers of U.
  template <class U> [[nodiscard]] FakeDataAs<U> as() const { return FakeDataAs<U>(options_); }

  [[nodiscard]] std::int64_t size() const { return options_.size; }
  [[nodiscard]] std::int64_t classes() const { return options_.classes; }
  [[nodiscard]] Fields<T, std::int64_t> fields() const { return {options_.shape, {}}; }
  void write(std::int64_t i, Span<T> image, Span<std::int64_t> label) const {
    const auto sample = static_cast<std::uint64_t>(i);
    label[0] = Philox(options_.seed, 0, sample).bounded(options_.classes);
    constexpr std::uint64_t first = 64;  // block of the image; earlier blocks are for the label
    for (std::size_t k = 0; k < image.size(); k += 4) {
      const PhiloxBlock four = random_block(options_.seed, first + k / 4, sample);
      const std::size_t end = locus::detail::smaller(image.size(), k + 4);
      for (std::size_t at = k; at < end; ++at)
        image[at] = from_register<T>(static_cast<compute_t<T>>(unit_float(four[static_cast<std::uint32_t>(at - k)])));
    }
  }

 private:
  FakeDataOptions options_;
};

using FakeData = FakeDataAs<float>;

}}}  // namespace locus::LOCUS_ABI::data
