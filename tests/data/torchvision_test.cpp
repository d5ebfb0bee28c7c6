// Runs on: host, cuda (models).
// Transforms with given random values, beside torchvision's functions: golden/transforms.txt, which make_transforms.py
// writes; and the values that they draw.

#include <locus/data/transforms/auto_augment.hpp>
#include <locus/data/transforms/color.hpp>
#include <locus/data/transforms/compose.hpp>
#include <locus/data/transforms/gaussian_blur.hpp>
#include <locus/data/transforms/geometric.hpp>
#include <locus/data/transforms/random_erasing.hpp>
#include <locus/data/transforms/random_resized_crop.hpp>
#include <locus/device/trace/launch_log.hpp>
#include <locus/tensor/factory.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <cmath>
#include <set>

using namespace locus;
using namespace locus_test;
using data::compose;

namespace fixed_values {
/// A transform that draws given values for double.
template <class F>
struct Given : F {
  using Values = typename F::template Drawn<double>;
  Values values;
  Given(const F& transform, const Values& its_values) : F(transform), values(its_values) {}
  template <class R>
  LOCUS_FN typename F::template Drawn<R> draw(const PhiloxBlock& random, const data::ImageExtents& in) const {
    if constexpr (std::is_same_v<R, double>) return values;
    else return F::template draw<R>(random, in);
  }
};
}  // namespace fixed_values
using fixed_values::Given;

namespace {

const Reference& of_torchvision(const std::string& name) {
  static const auto all = [] {
    golden::detail::Numbers numbers;
    golden::detail::read(golden::folder() + "transforms.txt", numbers);
    return numbers;
  }();
  return all.at(name);
}
template <class D>
Tensor<double, D> image(const std::string& name = "image") {
  const Reference& numbers = of_torchvision(name);
  Shape shape = *numbers.shape;
  shape.insert(0, 1);
  return tensor<double, D>(shape, numbers.values);
}
/// Compares the result of transforms on the image, also behind a copy of it and before another transform.
template <class D, class... F>
void check(const std::string& name, const F&... transforms) {
  CAPTURE(name);
  const Reference& expected = of_torchvision(name);
  const data::Normalize same{0, 1};
  const auto direct = compose(transforms...)(image<D>(), 0),
             between = compose(same, transforms..., same)(image<D>(), 0);
  CHECK_CLOSE(direct.select(0, 0), expected, 1e-9);
  CHECK_CLOSE(between.select(0, 0), expected, 1e-9);
}

constexpr data::ImageExtents extents{3, 8, 9};

}  // namespace

LOCUS_DEVICE_TEST("images are scaled as torchvision scales them", D) {
  using data::Resize, data::Resampling;
  check<D>("resize_smaller", Resize{{5, 4}});
  check<D>("resize_larger", Resize{{12, 14}});
  check<D>("resize_mixed", Resize{{3, 20}});
  check<D>("resize_shorter", Resize{5, {.shorter_side = true}});
  check<D>("resize_bounded", Resize{6, {.shorter_side = true, .max_size = 7}});
  check<D>("resize_cubic_smaller", Resize{{5, 4}, {.resampling = Resampling::bicubic}});
  check<D>("resize_cubic_larger", Resize{{11, 13}, {.resampling = Resampling::bicubic}});
  check<D>("resized_crop", Given(data::RandomResizedCrop{{4, 7}}, {1, 2, 6, 5}));
  check<D>("resized_crop_cubic",
           Given(data::RandomResizedCrop{{2, 3}, {.resampling = Resampling::bicubic}}, {3, 0, 4, 9}));
  for (const auto& [height, width] : {std::pair(5, 4), {3, 9}, {12, 12}, {7, 13}})
    check<D>(join("center_crop_", height, "_", width), data::CenterCrop{{height, width}});
  using data::GaussianBlur;
  check<D>("blur", Given(GaussianBlur{{3, 5}}, GaussianBlur::of<double>(0.9)));
  check<D>("blur_wide", Given(GaussianBlur{{15, 9}}, GaussianBlur::of<double>(2.5)));
}

LOCUS_DEVICE_TEST("images are moved as torchvision moves them", D) {
  using data::Interpolation;
  constexpr auto bilinear = Interpolation::bilinear;
  check<D>("rotate_30", data::RandomRotation{{30, 30}});
  check<D>("rotate_30_bilinear", data::RandomRotation{{30, 30}, {.interpolation = bilinear}});
  check<D>("rotate_filled", data::RandomRotation{{-75, -75}, {.fill = 0.25}});
  const data::detail::AffineChange change{
      .angle = 20, .down = -2, .right = 1, .scale = 1.2, .shear_x = 10, .shear_y = -5};
  check<D>("affine", Given(data::RandomAffine{{}}, change.inverse<double>()));
  check<D>("affine_bilinear", Given(data::RandomAffine{{.interpolation = bilinear}}, change.inverse<double>()));
  constexpr double x[] = {1, 7, 8, 0}, y[] = {0.2, 2.3, 6, 5};
  const auto map = data::RandomPerspective::map_to<double>(x, y, extents);
  check<D>("perspective", Given(data::RandomPerspective{}, map));
  check<D>("perspective_filled",
           Given(data::RandomPerspective{{.interpolation = Interpolation::nearest, .fill = 0.75}}, map));
}

LOCUS_DEVICE_TEST("colours change as torchvision changes them", D) {
  const data::RandomColorOptions always{.probability = 1};
  check<D>("grayscale", data::Grayscale{{.channels = 3}});
  check<D>("grayscale", data::RandomGrayscale{always});
  check<D>("invert", data::RandomInvert{always});
  check<D>("posterize", data::RandomPosterize{3, always});
  check<D>("solarize", data::RandomSolarize{0.4, always});
  check<D>("sharper", data::RandomAdjustSharpness{1.8, always});
  check<D>("smoother", data::RandomAdjustSharpness{0.3, always});
  check<D>("autocontrast", data::RandomAutocontrast{always});
  check<D>("equalize", data::RandomEqualize{always});
  const auto few = image<D>().slice(2, 0, 2).slice(3, 0, 3);
  CHECK_CLOSE(compose(data::RandomEqualize{always})(few, 0).select(0, 0), of_torchvision("equalize_few"), 1e-9);
  CHECK_CLOSE(compose(data::RandomEqualize{always})(image<D>("large"), 0).select(0, 0),
              of_torchvision("equalize_large"), 1e-9);
  const auto constant = full<double, D>({1, 3, 2, 2}, 0.5);
  CHECK_CLOSE(compose(data::RandomAutocontrast{always})(constant, 0).select(0, 0),
              of_torchvision("autocontrast_constant"), 0);
}

LOCUS_DEVICE_TEST("each operation of RandAugment is torchvision's", D) {
  using data::detail::Augmentation;
  const data::detail::RandomOperation operation("rand_augment", {}, 0, 2, {});
  struct Case {
    const char* name;
    Augmentation kind;
    double magnitude;
  };
  for (const Case& each : {Case{"ShearX", Augmentation::shear_x, 0.31},
                           {"ShearX_minus", Augmentation::shear_x, -0.17},
                           {"ShearY", Augmentation::shear_y, 0.31},
                           {"ShearY_minus", Augmentation::shear_y, -0.17},
                           {"TranslateX", Augmentation::translate_x, 2.7},
                           {"TranslateX_minus", Augmentation::translate_x, -3.2},
                           {"TranslateY", Augmentation::translate_y, 2.7},
                           {"TranslateY_minus", Augmentation::translate_y, -3.2},
                           {"Rotate", Augmentation::rotate, 25},
                           {"Rotate_minus", Augmentation::rotate, -100},
                           {"Brightness", Augmentation::brightness, 0.4},
                           {"Brightness_minus", Augmentation::brightness, -0.4},
                           {"Color", Augmentation::color, 0.6},
                           {"Color_minus", Augmentation::color, -0.6},
                           {"Contrast", Augmentation::contrast, 0.6},
                           {"Contrast_minus", Augmentation::contrast, -0.6},
                           {"Sharpness", Augmentation::sharpness, 0.9},
                           {"Sharpness_minus", Augmentation::sharpness, -0.9},
                           {"Posterize", Augmentation::posterize, 3},
                           {"Solarize", Augmentation::solarize, 0.6},
                           {"AutoContrast", Augmentation::auto_contrast, 0},
                           {"Equalize", Augmentation::equalize, 0}})
    check<D>(std::string("augment_") + each.name,
             Given(operation, data::detail::augmentation<double>(each.kind, each.magnitude, extents)));
}

LOCUS_DEVICE_TEST("resampling is three launches, and later transforms are fused into the last", D) {
  const auto x = sample<float, D>({4, 3, 20, 16}, 1, 0, 1);
  const data::Normalize normalize{0.5, 0.25};
  const auto launches = [&](const auto& transforms) {
    const LaunchLog log;
    (void)transforms(x, 1);
    return log.launches();
  };
  const data::RandomResizedCrop crop{8};
  const data::RandomHorizontalFlip flip;
  CHECK(launches(compose(crop)) == 3);
  CHECK(launches(compose(crop, flip, normalize)) == 3);
  CHECK(launches(compose(flip, crop, normalize)) == 4);
  CHECK(launches(compose(crop, data::ColorJitter{{.contrast = 0.4}}, normalize)) == 4);
  CHECK(launches(compose(crop, data::GaussianBlur{5}, normalize)) == 6);
  CHECK(launches(compose(data::rand_augment(), normalize)) == 2);
  CHECK(launches(compose(data::RandomRotation{10}, data::RandomInvert{}, normalize)) == 1);
}

LOCUS_DEVICE_TEST("crops of each image have the areas, ratios and places that are asked for", D) {
  // Pixels are their numbers, so that the part is read off its corners.
  constexpr std::int64_t count = 500;
  Tensor<double> numbers({count, 2, 40, 60});
  for (std::int64_t i = 0; i < numbers.elements(); ++i)
    numbers.data()[i] = static_cast<double>(i / 2400 % 2 == 0 ? i / 60 % 40 : i % 60);
  const data::RandomResizedCropOptions options{.scale = {0.2, 0.6}, .ratio = {0.5, 2}};
  const Tensor parts =
      compose(data::RandomResizedCrop{{2, 2}, options})(numbers.template to<D>(), 7).template to<Cpu>();
  double least = 1, most = 0;
  std::set<double> tops, lefts;
  for (std::int64_t n = 0; n < count; ++n) {
    const auto drawn = data::RandomResizedCrop{{2, 2}, options}.draw<double>(
        random_block(data::detail::transform_key(7, 0), 0, static_cast<std::uint64_t>(n)), {2, 40, 60});
    const double area = drawn.height * drawn.width / 2400.0, ratio = static_cast<double>(drawn.width) / drawn.height;
    least = std::min(least, area), most = std::max(most, area);
    REQUIRE((area > 0.18 && area < 0.63 && ratio > 0.46 && ratio < 2.15));
    REQUIRE((drawn.top >= 0 && drawn.left >= 0 && drawn.top + drawn.height <= 40 && drawn.left + drawn.width <= 60));
    tops.insert(drawn.top), lefts.insert(drawn.left);
    // The mean of a result is that of the part.
    const double* const part = parts.data() + n * 8;
    CHECK((part[0] + part[1] + part[2] + part[3]) / 4 ==
          doctest::Approx(drawn.top + (drawn.height - 1) / 2.0).epsilon(0.02));
    CHECK((part[4] + part[5] + part[6] + part[7]) / 4 ==
          doctest::Approx(drawn.left + (drawn.width - 1) / 2.0).epsilon(0.02));
  }
  CHECK((least < 0.22 && most > 0.57));
  CHECK((tops.size() > 20 && lefts.size() > 30));
  // No part fits: the middle with the nearest ratio.
  const auto middle =
      data::RandomResizedCrop{2, {.scale = {1, 1}, .ratio = {1, 1}}}.draw<float>({1, 2, 3, 4}, {1, 10, 30});
  CHECK((middle.top == 0 && middle.left == 10 && middle.height == 10 && middle.width == 10));
}

LOCUS_DEVICE_TEST("rectangles are erased with the probability and area that are asked for", D) {
  constexpr std::int64_t count = 1000;
  const auto x = ones<float, D>({count, 1, 20, 20});
  const data::RandomErasing erasing{{.probability = 0.3, .scale = {0.1, 0.2}, .ratio = {0.5, 2}, .value = -1}};
  const Tensor erased = compose(erasing)(x, 3).template to<Cpu>();
  int images = 0;
  for (std::int64_t n = 0; n < count; ++n) {
    int pixels = 0;
    for (int i = 0; i < 400; ++i) pixels += erased.data()[n * 400 + i] == -1.f;
    images += pixels > 0;
    if (pixels > 0) CHECK((pixels > 25 && pixels < 100));
  }
  CHECK(std::abs(images - 300) < 60);

  // Random values: the same parts; standard normal, other ones for each pixel, channel and image.
  const data::RandomErasing noisy{
      {.probability = 0.3, .scale = {0.1, 0.2}, .ratio = {0.5, 2}, .value = -1, .random_values = true}};
  const auto twice = full<float, D>({count, 2, 20, 20}, 9);
  const Tensor noise = compose(noisy)(twice, 3).template to<Cpu>();
  double total = 0, squares = 0, products = 0;
  int others = 0;
  std::vector<float> values;
  for (std::int64_t n = 0; n < count; ++n)
    for (int i = 0; i < 400; ++i) {
      const float a = noise.data()[n * 800 + i], b = noise.data()[n * 800 + 400 + i];
      others += (a != 9.f) != (erased.data()[n * 400 + i] == -1.f);
      if (a == 9.f) continue;
      values.push_back(a), total += a, squares += a * a, products += a * b;
    }
  CHECK(others == 0);
  const auto drawn = static_cast<double>(values.size());
  CHECK(std::abs(total / drawn) < 0.03);
  CHECK(squares / drawn == doctest::Approx(1).epsilon(0.03));
  CHECK(std::abs(products / drawn) < 0.03);
  CHECK(std::set<float>(values.begin(), values.end()).size() > values.size() * 99 / 100);
}

LOCUS_DEVICE_TEST("random colours, moves and operations differ between images, and are functions of the seed", D) {
  const auto x = sample<float, D>({40, 3, 12, 10}, 1, 0, 1);
  const auto differ = [&](const auto& transforms, int least) {
    const auto first = transforms(x, 1), again = transforms(x, 1), other = transforms(x, 2);
    CHECK_CLOSE(again, reference(first), 0);
    int changed = 0, elsewhere = 0;
    for (std::int64_t n = 0; n < 40; ++n) {
      changed += reference(first.select(0, n)).values != reference(x.select(0, n)).values;
      elsewhere += reference(first.select(0, n)).values != reference(other.select(0, n)).values;
    }
    CHECK(changed >= least);
    CHECK(elsewhere >= least / 2);
    // A part of the batch draws as the whole batch.
    CHECK_CLOSE(transforms(x.slice(0, 0, 7), 1), reference(first.slice(0, 0, 7)), 0);
  };
  differ(compose(data::RandomInvert{}), 10);
  differ(compose(data::RandomVerticalFlip{}), 10);
  differ(compose(data::RandomGrayscale{{.probability = 0.5}}), 10);
  differ(
      compose(data::RandomAffine{{.degrees = {-20, 20}, .translate_x = 0.3, .scale = {0.8, 1.2}, .shear_y = {-5, 5}}}),
      38);
  differ(compose(data::RandomPerspective{}), 10);
  differ(compose(data::rand_augment<2>({.magnitude = 20})), 28);
  differ(compose(data::trivial_augment_wide()), 25);
  differ(compose(data::RandomResizedCrop{{12, 10}}, data::GaussianBlur{3}), 38);
}

TEST_CASE("transforms refuse options and images out of range") {
  const auto refuses = [](const char* message, const auto& make) {
    CHECK_THROWS_WITH_AS(make(), doctest::Contains(message), ArgumentError);
  };
  refuses("Resize: a shorter side of (2, 3); expected one number", [] {
    (void)data::Resize{{2, 3}, {.shorter_side = true}};
  });
  refuses("Resize: max_size is 4", [] { (void)data::Resize{4, {.shorter_side = true, .max_size = 4}}; });
  refuses("Resize: max_size is 9", [] { (void)data::Resize{4, {.max_size = 9}}; });
  refuses("scale is from 0.5 to 0.2", [] { (void)data::RandomResizedCrop{4, {.scale = {0.5, 0.2}}}; });
  refuses("ratio is from 0 to 1", [] { (void)data::RandomResizedCrop{4, {.ratio = {0, 1}}}; });
  refuses("RandomResizedCrop: height is 0 pixels", [] { (void)data::RandomResizedCrop{0}; });
  refuses("a kernel of (4, 3); expected odd", [] { (void)data::GaussianBlur{{4, 3}}; });
  refuses("sigma is from 0 to 1", [] { (void)data::GaussianBlur{3, {.sigma = {0, 1}}}; });
  refuses("RandomErasing: probability is 2", [] { (void)data::RandomErasing{{.probability = 2}}; });
  refuses("RandomRotation: degrees is from 5 to -5", [] { (void)data::RandomRotation{{5, -5}}; });
  refuses("translate is 2; expected a share", [] { (void)data::RandomAffine{{.translate_y = 2}}; });
  refuses("scale is from 0 to 1", [] { (void)data::RandomAffine{{.scale = {0, 1}}}; });
  refuses("distortion_scale is 1", [] { (void)data::RandomPerspective{{.distortion_scale = 1}}; });
  refuses("Grayscale: 2 channels; expected 1 or 3", [] { (void)data::Grayscale{{.channels = 2}}; });
  refuses("RandomPosterize: 9 bits; expected 1 to 8", [] { (void)data::RandomPosterize{9}; });
  refuses("RandomSolarize: threshold", [] { (void)data::RandomSolarize{NAN}; });
  refuses("RandomAdjustSharpness: factor is -1", [] { (void)data::RandomAdjustSharpness{-1}; });
  refuses("rand_augment: magnitude is 31; expected 0 to 30", [] { (void)data::rand_augment({.magnitude = 31}); });
  refuses("rand_augment: magnitude is -1", [] { (void)data::rand_augment({.magnitude = -1}); });
  refuses("num_magnitude_bins is 1", [] { (void)data::trivial_augment_wide({.num_magnitude_bins = 1}); });
  const auto two_channels = ones({1, 2, 4, 4});
  CHECK_THROWS_WITH_AS((void)compose(data::Grayscale{})(two_channels, 0), doctest::Contains("Grayscale: images of 2"),
                       ShapeError);
  CHECK_THROWS_AS((void)compose(data::RandomEqualize{})(two_channels, 0), ShapeError);
  CHECK_THROWS_AS((void)compose(data::rand_augment())(two_channels, 0), ShapeError);
  CHECK_THROWS_WITH_AS((void)compose(data::GaussianBlur{9})(two_channels, 0),
                       doctest::Contains("images of 4 x 4 for a kernel of (9, 9)"), ShapeError);
  CHECK_THROWS_AS((void)compose(data::RandomResizedCrop{2})(ones({1, 2, 0, 4}), 0), ShapeError);
}
