// Transforms of images on the host, asked for by benchmarks/transforms.py line by line:
//
//   THREADS CLOCK CASE HEIGHT WIDTH  ->  milliseconds of an image
//
// the fastest of some runs over several images of bytes, one by one as a loader's worker prepares them.

#include "support/fastest.hpp"

#include <locus/data/transforms/auto_augment.hpp>
#include <locus/data/transforms/gaussian_blur.hpp>
#include <locus/data/transforms/random_erasing.hpp>
#include <locus/locus.hpp>

#include <iostream>
#include <string>

using namespace locus;

namespace {

constexpr std::int64_t count = 40;

template <class F>
double timed(clockid_t clock, const Tensor<std::uint8_t>& images, const F& transforms) {
  constexpr double budget = 1;  // seconds of runs
  const Shape one{images.size(1), images.size(2), images.size(3)};
  const Tensor<float> result(transforms.shape_of(one));
  const auto run = [&] {
    for (std::int64_t i = 0; i < count; ++i)
      transforms.launch(Cpu{}, one,
                        data::detail::ImagesToTransform<float, std::uint8_t>{images.select(0, i).data(), 1 / 255.0, 1,
                                                                             nullptr, i, 1, result.data()});
  };
  return bench::fastest(clock, budget, run) / static_cast<double>(count);
}

double measured(clockid_t clock, const std::string& name, const Tensor<std::uint8_t>& images) {
  const data::Normalize normalize{{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};
  const data::RandomHorizontalFlip flip;
  const data::RandomResizedCrop crop{224};
  if (name == "imagenet") return timed(clock, images, data::compose(crop, flip, normalize));
  if (name == "crop") return timed(clock, images, data::compose(data::RandomCrop{{.size = 224}}, flip, normalize));
  if (name == "validation")
    return timed(clock, images,
                 data::compose(data::Resize{256, {.shorter_side = true}}, data::CenterCrop{224}, normalize));
  if (name == "simclr")
    return timed(clock, images,
                 data::compose(crop, flip, data::ColorJitter{{0.8, 0.8, 0.8, 0.2}}, data::RandomGrayscale{{0.2}},
                               data::GaussianBlur{23}, normalize));
  if (name == "rand_augment")
    return timed(clock, images, data::compose(crop, flip, data::rand_augment(), normalize, data::RandomErasing{}));
  fail<ArgumentError>({"cpu_transforms: the case '", name, "' is unknown"});
}

}  // namespace

int main() {
  int threads = 0;
  std::string clock_name, name;
  std::int64_t height = 0, width = 0;
  while (std::cin >> threads >> clock_name >> name >> height >> width) {
    cpu::set_max_threads(threads);
    const auto images = randint<std::uint8_t>(0, 256, {count, 3, height, width});
    std::cout << measured(bench::clock_called(clock_name), name, images) << std::endl;
  }
}
