#include "cifar_images.hpp"

#include <locus/core/rng.hpp>

#include <numeric>

using namespace locus;

namespace {

/// Squares at random positions on noise, with one colour per class: easy enough to learn in a few steps.
data::LabelledImages draw_images(std::int64_t count, std::uint64_t seed) {
  constexpr std::int64_t extent = 32, pixels = extent * extent;
  const Tensor<std::uint8_t, Cpu> images({count, 3, extent, extent});
  const Tensor<std::int64_t, Cpu> labels({count});
  for (std::int64_t i = 0; i < count; ++i) {
    Philox random(seed, 0, static_cast<std::uint64_t>(i));
    const std::int64_t label = random.bounded(10), side = 8 + random.bounded(9);
    const std::int64_t top = random.bounded(extent - side), left = random.bounded(extent - side);
    labels.data()[i] = label;
    for (std::int64_t c = 0; c < 3; ++c) {
      // Ten of the 27 colours with three levels of red, green and blue.
      const std::int64_t colour = 40 + 85 * ((1 + 5 * label / 2) / (c == 0 ? 1 : c == 1 ? 3 : 9) % 3);
      for (std::int64_t p = 0; p < pixels; ++p) {
        const std::int64_t y = p / extent - top, x = p % extent - left;
        const bool is_inside = y >= 0 && y < side && x >= 0 && x < side;
        const std::int64_t noise = random.bounded(is_inside ? 40 : 160);
        images.data()[(3 * i + c) * pixels + p] = static_cast<std::uint8_t>(is_inside ? colour - 20 + noise : noise);
      }
    }
  }
  return {images, labels, 10};
}

data::LabelledImages first_of(const data::LabelledImages& images, std::int64_t count) {
  if (count == 0 || count >= images.size()) return images;
  std::vector<std::int64_t> positions(static_cast<std::size_t>(count));
  std::iota(positions.begin(), positions.end(), 0);
  return images.subset(positions);
}

}  // namespace

CifarImages read_images(const std::string& folder, const ImageCounts& counts, std::uint64_t seed) {
  const auto or_all = [](std::int64_t given, std::int64_t all) { return given == 0 ? all : given; };
  if (folder.empty())
    return {draw_images(or_all(counts.train, 2000), 2 * seed), draw_images(or_all(counts.test, 200), 2 * seed + 1)};
  return {first_of(data::cifar10(folder, data::Part::train), counts.train),
          first_of(data::cifar10(folder, data::Part::test), counts.test)};
}
