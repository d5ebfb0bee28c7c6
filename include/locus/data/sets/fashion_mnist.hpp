#pragma once
// Fashion-MNIST and KMNIST, images of clothes and of old Japanese letters, from files like MNIST's.

#include <locus/data/sets/mnist.hpp>

#include <array>
#include <string_view>

namespace locus { inline namespace LOCUS_ABI { namespace data {

/// Class names of Fashion-MNIST, by label.
inline constexpr std::array<std::string_view, 10> fashion_mnist_classes = {
    "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"};

/// Class names of KMNIST, by label: the readings of the letters.
inline constexpr std::array<std::string_view, 10> kmnist_classes = {"o",  "ki", "su", "tsu", "na",
                                                                    "ha", "ma", "ya", "re",  "wo"};

/// The 60,000 images of Fashion-MNIST to train with, or the 10,000 to test with: (1, 28, 28), with labels 0 to 9. Their
/// files have the same names as MNIST's: keep them in a separate folder. `scripts/data fashion-mnist FOLDER` downloads
/// them. throws as mnist()
///
///     auto [train, valid] = data::random_split(data::fashion_mnist("fashion", data::Part::train), 0.8);
[[nodiscard]] inline LabelledImages fashion_mnist(const std::string& folder, Part part) {
  return detail::read_mnist_files(folder, part, "fashion-mnist");
}

/// The 60,000 images of KMNIST to train with, or the 10,000 to test with, likewise.
[[nodiscard]] inline LabelledImages kmnist(const std::string& folder, Part part) {
  return detail::read_mnist_files(folder, part, nullptr);
}

}}}  // namespace locus::LOCUS_ABI::data
