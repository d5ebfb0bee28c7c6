#pragma once
// Handwritten digits: MNIST from its files, or digits that Locus draws itself.

#include <locus/data/files/idx.hpp>
#include <locus/data/sets/drawn_digits.hpp>
#include <locus/data/sets/labelled_images.hpp>
#include <locus/data/sets/parts.hpp>

#include <cstring>

namespace locus { inline namespace LOCUS_ABI { namespace data {

namespace detail {

/// Images of 28 x 28 bytes with labels 0 to 9.
template <class L>
[[nodiscard]] LabelledImages labelled_digits(const std::vector<std::uint8_t>& pixels, const std::vector<L>& labels) {
  const auto count = static_cast<std::int64_t>(labels.size());
  Tensor<std::uint8_t, Cpu> image_tensor({count, 1, 28, 28});
  Tensor<std::int64_t, Cpu> label_tensor({count});
  if (!pixels.empty()) std::memcpy(image_tensor.data(), pixels.data(), pixels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) label_tensor.data()[i] = labels[i];
  return {image_tensor, label_tensor, 10};
}

/// Reads the images and labels of a part from two IDX files, as of MNIST and data sets like it; `set`: its name for
/// scripts/data, or null. throws DataError
[[nodiscard]] inline LabelledImages read_mnist_files(const std::string& folder, Part part, const char* set) {
  const std::string name = part == Part::train ? "train" : "t10k";
  const std::string remedy = set ? join(": scripts/data ", set, " ", folder, " downloads the files") : join("");
  const auto images_path = find_idx_file(folder, name + "-images-idx3-ubyte", remedy);
  const auto labels_path = find_idx_file(folder, name + "-labels-idx1-ubyte", remedy);
  const IdxFile images = read_idx(images_path, 3), labels = read_idx(labels_path, 1);
  if (images.extents[1] != 28 || images.extents[2] != 28) {
    fail<DataError>({"'", images_path, "' holds images of ", images.extents[1], " x ", images.extents[2],
                     " pixels; expected 28 x 28"});
  }
  if (images.extents[0] != labels.extents[0]) {
    fail<DataError>({"'", images_path, "' holds ", images.extents[0], " images and '", labels_path, "' ",
                     labels.extents[0], " labels; expected as many"});
  }
  for (std::size_t i = 0; i < labels.bytes.size(); ++i) {
    if (labels.bytes[i] >= 10) {
      fail<DataError>(
          {"'", labels_path, "': label ", i, " is ", static_cast<int>(labels.bytes[i]), "; expected 0 to 9"});
    }
  }
  return labelled_digits(images.bytes, labels.bytes);
}

}  // namespace detail

/// The 60,000 images of MNIST to train with, or the 10,000 to test with: (1, 28, 28), with labels 0 to 9. Reads two IDX
/// files, plain or gzip, as `scripts/data mnist FOLDER` downloads them. throws DataError for a file that is missing or
/// damaged; OutOfMemory
[[nodiscard]] inline LabelledImages mnist(const std::string& folder, Part part) {
  return detail::read_mnist_files(folder, part, "mnist");
}

struct MnistOptions {
  double valid_fraction = 0.2;  ///< share of the training images held out at random; 0 for none
  std::uint64_t seed = 0;       ///< of that split, and of drawn digits
};

/// Images of digits, (1, 28, 28) with labels 0 to 9: to train with, to validate with, and to test with at the end.
struct Mnist {
  LabelledImages train, valid, test;

  /// Reads MNIST's four IDX files, plain or gzip, from a folder. throws DataError for a file that is missing or damaged
  [[nodiscard]] static Mnist open(const std::string& folder, const MnistOptions& options = {}) {
    return split(mnist(folder, Part::train), mnist(folder, Part::test), options);
  }

  /// Draws `count` digits to train and validate with, and a fifth of that to test with. throws ArgumentError below 5
  [[nodiscard]] static Mnist draw(std::int64_t count = 20000, const MnistOptions& options = {}) {
    if (count < 5)
      fail<ArgumentError>({"Mnist::draw: ", count, " digits; expected at least 5, a fifth of them to test with"});
    return split(drawn(count, 2 * options.seed), drawn(count / 5, 2 * options.seed + 1), options);
  }

 private:
  [[nodiscard]] static Mnist split(const LabelledImages& all, LabelledImages test, const MnistOptions& options) {
    if (options.valid_fraction == 0) return {all, all.subset({}), std::move(test)};
    auto [valid, train] = random_split(all, options.valid_fraction, options.seed);
    return {std::move(train), std::move(valid), std::move(test)};
  }

  [[nodiscard]] static LabelledImages drawn(std::int64_t count, std::uint64_t seed) {
    const DrawnDigits digits = draw_digits(count, seed);
    return detail::labelled_digits(digits.images, digits.labels);
  }
};

}}}  // namespace locus::LOCUS_ABI::data
