// Runs on: host, cuda (models).
// Transforms of batches, on every device.

#include <locus/data/transforms/compose.hpp>
#include <locus/tensor/factory.hpp>

#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <array>
#include <cmath>
#include <set>
#include <utility>

using namespace locus;
using namespace locus_test;
using data::compose;

namespace of_a_program {

/// Adds the first of its numbers to each image: a transform of a program's own. Its name for the number says nothing.
struct AddNumber {
  template <class R>
  struct Drawn {
    R mean;
  };
  data::ImageExtents extents_of(const data::ImageExtents& in) const { return in; }
  template <class R>
  LOCUS_FN Drawn<R> draw(const PhiloxBlock& random, const data::ImageExtents&) const {
    return {static_cast<R>(unit_float(random.x))};
  }
  template <class R, class Read>
  LOCUS_FN R pixel(const Read& read, const Drawn<R>& drawn, const data::ImageExtents&, data::PixelIndex c,
                   data::PixelIndex y, data::PixelIndex x) const {
    return read(c, y, x) + drawn.mean;
  }
};

}  // namespace of_a_program

using of_a_program::AddNumber;

namespace {

/// Batches of one image shape; values[((n * channels + c) * height + y) * width + x].
struct Images {
  std::int64_t count, channels, height, width;
  std::vector<double> values;
  [[nodiscard]] double operator()(std::int64_t n, std::int64_t c, std::int64_t y, std::int64_t x) const {
    return values[static_cast<std::size_t>(((n * channels + c) * height + y) * width + x)];
  }
  /// 0 outside.
  [[nodiscard]] double padded(std::int64_t n, std::int64_t c, std::int64_t y, std::int64_t x) const {
    return y >= 0 && y < height && x >= 0 && x < width ? (*this)(n, c, y, x) : 0;
  }
};
template <class T, class D>
Images read_images(const Tensor<T, D>& x) {
  return {x.size(0), x.size(1), x.size(2), x.size(3), reference(x).values};
}

/// `count` copies of the image whose pixels are 1, 2, 3, ...
template <class D>
Tensor<float, D> numbered(std::int64_t count, std::int64_t channels, std::int64_t height, std::int64_t width) {
  Tensor<float> x({count, channels, height, width});
  for (std::int64_t i = 0; i < x.elements(); ++i) x.data()[i] = static_cast<float>(1 + i % (channels * height * width));
  return x.template to<D>();
}

/// How far a count is from its mean, in standard deviations of the binomial distribution.
double deviations(std::int64_t count, std::int64_t trials, double probability) {
  const double mean = static_cast<double>(trials) * probability;
  return std::abs(static_cast<double>(count) - mean) / std::sqrt(mean * (1 - probability));
}

constexpr std::int64_t many = 2000;

/// Four numbers of a sample, for transform number `stage`, as documented.
PhiloxBlock numbers(std::uint64_t seed, std::uint64_t stage, std::int64_t sample) {
  return random_block(data::detail::transform_key(seed, 0), stage, static_cast<std::uint64_t>(sample));
}

}  // namespace

static_assert(data::ImageTransform<AddNumber> && data::ImageTransform<data::ColorJitter>);
static_assert(!data::ImageTransform<int>);

LOCUS_DEVICE_TEST("normalization, by hand", D) {
  const auto x = tensor<float, D>({1, 3, 1, 2}, {1, 2, 3, 4, 5, 6});
  CHECK_CLOSE(compose(data::Normalize{1, 2})(x, 0), Reference({1, 3, 1, 2}, {0, 0.5, 1, 1.5, 2, 2.5}));
  CHECK_CLOSE(compose(data::Normalize{{1, 2, 3}, {1, 2, 4}})(x, 0), Reference({1, 3, 1, 2}, {0, 1, 0.5, 1, 0.5, 0.75}));
  CHECK_CLOSE(compose(data::Normalize{{1, 2, 3}, 2})(x.slice(3, 1, 2), 0), Reference({1, 3, 1, 1}, {0.5, 1, 1.5}));
}

LOCUS_DEVICE_TEST("a random crop with padding is the image shifted, equally often each way", D) {
  const auto x = numbered<D>(many, 2, 3, 4);
  const Images from = read_images(x), to = read_images(compose(data::RandomCrop{{.padding = 1}})(x, 5));
  REQUIRE(to.values.size() == from.values.size());
  std::int64_t seen[3][3] = {};
  for (std::int64_t n = 0; n < many; ++n) {
    int fitting = 0;
    for (int down = -1; down <= 1; ++down)
      for (int right = -1; right <= 1; ++right) {
        bool same = true;
        for (std::int64_t i = 0; i < 24; ++i)
          same &= to(n, i / 12, i / 4 % 3, i % 4) == from.padded(n, i / 12, i / 4 % 3 + down, i % 4 + right);
        fitting += same;
        seen[down + 1][right + 1] += same;
      }
    REQUIRE(fitting == 1);
  }
  for (const auto& row : seen)
    for (const auto count : row) CHECK(deviations(count, many, 1.0 / 9) < 4);
}

LOCUS_DEVICE_TEST("a random crop has the size asked for", D) {
  const auto x = numbered<D>(200, 1, 3, 5);
  std::set<std::pair<double, double>> corners;
  const Images parts = read_images(compose(data::RandomCrop{{.size = {2, 3}}})(x, 1));
  CHECK(parts.height == 2);
  CHECK(parts.width == 3);
  for (std::int64_t n = 0; n < 200; ++n) {
    corners.insert({parts(n, 0, 0, 0), parts(n, 0, 1, 2)});
    CHECK(parts(n, 0, 1, 2) - parts(n, 0, 0, 0) == 7);
  }
  CHECK(corners == std::set<std::pair<double, double>>{{1, 8}, {2, 9}, {3, 10}, {6, 13}, {7, 14}, {8, 15}});
  const Images larger = read_images(compose(data::RandomCrop{{.size = 7, .padding = 2, .fill = -1}})(x, 1));
  CHECK(larger.height == 7);
  CHECK(larger.width == 7);
  double sum = 0;
  for (const double value : larger.values) sum += value;
  for (std::int64_t n = 0; n < 200; ++n) CHECK(larger(n, 0, 0, 0) == -1);
  CHECK(sum == 200 * (120 - 34));  // no pixel is lost, and 34 are added
}

LOCUS_DEVICE_TEST("a random flip mirrors as many images as it is told", D) {
  const auto x = numbered<D>(many, 2, 2, 3);
  for (const double probability : {0.0, 0.25, 0.5, 1.0}) {
    const Images to = read_images(compose(data::RandomHorizontalFlip{{.probability = probability}})(x, 3));
    std::int64_t flipped = 0;
    for (std::int64_t n = 0; n < many; ++n) {
      const bool is_flipped = to(n, 0, 0, 0) == 3;
      flipped += is_flipped;
      for (std::int64_t i = 0; i < 12; ++i) {
        const std::int64_t expected = is_flipped ? i / 3 * 3 + 2 - i % 3 : i;
        REQUIRE(to(n, i / 6, i / 3 % 2, i % 3) == static_cast<double>(expected + 1));
      }
    }
    if (probability == 0 || probability == 1) CHECK(flipped == static_cast<std::int64_t>(probability) * many);
    else CHECK(deviations(flipped, many, probability) < 4);
  }
}

LOCUS_DEVICE_TEST("cutout erases a square around any pixel", D) {
  const auto x = numbered<D>(many, 2, 5, 4);
  const Images to = read_images(compose(data::Cutout{{.size = 3, .value = -1}})(x, 3));
  std::int64_t erased[20] = {};
  for (std::int64_t n = 0; n < many; ++n) {
    std::int64_t top = 5, bottom = -1, left = 4, right = -1, count = 0;
    for (std::int64_t i = 0; i < 20; ++i) {
      const std::int64_t row = i / 4, column = i % 4;
      const bool is_erased = to(n, 0, row, column) == -1;
      REQUIRE((to(n, 1, row, column) == -1) == is_erased);
      if (!is_erased) {
        REQUIRE(to(n, 0, row, column) == static_cast<double>(i + 1));
        continue;
      }
      ++count;
      ++erased[i];
      top = std::min(top, row), bottom = std::max(bottom, row), left = std::min(left, column);
      right = std::max(right, column);
    }
    REQUIRE(count == (bottom - top + 1) * (right - left + 1));
    REQUIRE((bottom - top == 2 || (bottom - top == 1 && (top == 0 || bottom == 4))));
    REQUIRE((right - left == 2 || (right - left == 1 && (left == 0 || right == 3))));
  }
  for (std::int64_t i = 0; i < 20; ++i) {  // each pixel by the centres that are next to it
    const double rows = i / 4 == 0 || i / 4 == 4 ? 2 : 3, columns = i % 4 == 0 || i % 4 == 3 ? 2 : 3;
    CHECK(deviations(erased[i], many, rows * columns / 20) < 4);
  }
  const Images few = read_images(compose(data::Cutout{{.size = 9, .probability = 0.2}})(x, 4));
  std::int64_t cut = 0;
  for (std::int64_t n = 0; n < many; ++n) cut += few(n, 0, 2, 2) == 0;
  CHECK(deviations(cut, many, 0.2) < 4);
}

namespace {

using Colour = std::array<double, 3>;
double clamp(double v) { return std::min(1.0, std::max(0.0, v)); }
double grey(const Colour& x) { return 0.2989 * x[0] + 0.587 * x[1] + 0.114 * x[2]; }
Colour blend(const Colour& x, double other, double factor) {
  Colour y;
  for (std::size_t c = 0; c < 3; ++c) y[c] = clamp(factor * x[c] + (1 - factor) * other);
  return y;
}
/// By way of hue, saturation and value, with the cases of the sextants, as torchvision does it.
Colour turn_hue(const Colour& x, double by) {
  const double most = std::max({x[0], x[1], x[2]}), least = std::min({x[0], x[1], x[2]}), range = most - least;
  const double divisor = range == 0 ? 1 : range, rc = (most - x[0]) / divisor, gc = (most - x[1]) / divisor,
               bc = (most - x[2]) / divisor, saturation = range == 0 ? 0 : range / most;
  const double sixths = most == x[0] ? bc - gc : most == x[1] ? 2 + rc - bc : 4 + gc - rc;
  const double hue = std::fmod(std::fmod(sixths / 6 + 1, 1) + by + 1, 1), f = hue * 6 - std::floor(hue * 6);
  const double p = most * (1 - saturation), q = most * (1 - saturation * f), t = most * (1 - saturation * (1 - f));
  const Colour sextants[] = {{most, t, p}, {q, most, p}, {p, most, t}, {p, q, most}, {t, p, most}, {most, p, q}};
  return sextants[static_cast<int>(std::floor(hue * 6)) % 6];
}

/// Random values of ColorJitter: factors, and the order of the changes.
struct Jitter {
  double factor[4];
  int order[4];
  Jitter(const PhiloxBlock& random, const data::ColorJitterOptions& options) {
    const double spread[] = {options.brightness, options.contrast, options.saturation};
    for (int k = 0; k < 3; ++k) {
      const double low = std::max(0.0, 1 - spread[k]), share = unit_float(random[static_cast<std::uint32_t>(k)]);
      factor[k] = low + (1 + spread[k] - low) * share;
    }
    factor[3] = options.hue * (2 * static_cast<double>(unit_float(random.w)) - 1);
    const std::uint64_t bits = (random.x & 0xff) << 16 | (random.y & 0xff) << 8 | (random.z & 0xff);
    std::uint64_t number = bits * 24 >> 24;
    std::vector<int> left{0, 1, 2, 3};
    for (int& kind : order) {
      const auto at = left.begin() + static_cast<std::ptrdiff_t>(number % left.size());
      number /= left.size();
      kind = *at;
      left.erase(at);
    }
  }
  /// All pixels of an image.
  void change(std::vector<Colour>& pixels) const {
    for (const int kind : order) {
      double mean = 0;
      for (const Colour& x : pixels) mean += grey(x) / static_cast<double>(pixels.size());
      for (Colour& x : pixels)
        x = kind == 3 ? turn_hue(x, factor[3]) : blend(x, kind == 0 ? 0 : kind == 1 ? mean : grey(x), factor[kind]);
    }
  }
};

}  // namespace

LOCUS_DEVICE_TEST("colour jitter in random order, against float64", D) {
  constexpr std::int64_t count = 200;
  const auto x = sample<float, D>({count, 3, 4, 5}, 1, 0, 1);
  const Images from = read_images(x);
  for (const data::ColorJitterOptions& options :
       {data::ColorJitterOptions{.brightness = 0.4, .contrast = 1.5, .saturation = 0.7, .hue = 0.5},
        data::ColorJitterOptions{.brightness = 0.8, .contrast = 0.4}, data::ColorJitterOptions{.hue = 0.3}}) {
    const Images to = read_images(compose(data::ColorJitter{options})(x, 9));
    double lowest[4] = {9, 9, 9, 9}, highest[4] = {-9, -9, -9, -9};
    std::set<std::vector<int>> orders;
    for (std::int64_t n = 0; n < count; ++n) {
      const Jitter drawn(numbers(9, 0, n), options);
      orders.insert({drawn.order, drawn.order + 4});
      for (int k = 0; k < 4; ++k) {
        lowest[k] = std::min(lowest[k], drawn.factor[k]);
        highest[k] = std::max(highest[k], drawn.factor[k]);
      }
      std::vector<Colour> pixels(20);
      for (std::int64_t i = 0; i < 60; ++i)
        pixels[static_cast<std::size_t>(i % 20)][static_cast<std::size_t>(i / 20)] = from(n, i / 20, i / 5 % 4, i % 5);
      drawn.change(pixels);
      double error = 0;
      for (std::int64_t i = 0; i < 60; ++i)
        error = std::max(error, std::abs(to(n, i / 20, i / 5 % 4, i % 5) -
                                         pixels[static_cast<std::size_t>(i % 20)][static_cast<std::size_t>(i / 20)]));
      REQUIRE(error < 4e-6);
    }
    CHECK(orders.size() == 24);
    const double spread[] = {options.brightness, options.contrast, options.saturation};
    for (int k = 0; k < 3; ++k) {  // the whole range is drawn from
      CHECK(lowest[k] <= std::max(0.0, 1 - spread[k]) + 0.1 * spread[k]);
      CHECK(highest[k] >= 1 + 0.9 * spread[k]);
    }
    CHECK(lowest[3] <= -0.9 * options.hue);
    CHECK(highest[3] >= 0.9 * options.hue);
  }
}

TEST_CASE("turning hues, by colours whose hue everybody knows") {
  const auto jitter = [](double red, double green, double blue, double by) {
    const auto turned = data::detail::hue_turned(data::detail::Rgb<double>{red, green, blue}, by);
    return Colour{turned.red, turned.green, turned.blue};
  };
  const auto is = [](const Colour& x, const Colour& y) {
    return std::abs(x[0] - y[0]) + std::abs(x[1] - y[1]) + std::abs(x[2] - y[2]) < 1e-12;
  };
  CHECK(is(jitter(1, 0, 0, 1.0 / 3), {0, 1, 0}));
  CHECK(is(jitter(1, 0, 0, -1.0 / 3), {0, 0, 1}));
  CHECK(is(jitter(1, 0, 0, 0.5), {0, 1, 1}));
  CHECK(is(jitter(1, 0, 0, -0.5), {0, 1, 1}));
  CHECK(is(jitter(0.75, 0.5, 0.25, 0.5), {0.25, 0.5, 0.75}));
  CHECK(is(jitter(0.3, 0.3, 0.3, 0.2), {0.3, 0.3, 0.3}));
  CHECK(is(jitter(0, 0, 0, 0.2), {0, 0, 0}));
}

LOCUS_DEVICE_TEST("colour jitter of images with one channel, and of nothing", D) {
  const auto x = sample<float, D>({3, 1, 2, 2}, 1, 0, 1);
  const auto unchanged = compose(data::ColorJitter{{}})(x, 1);
  CHECK_CLOSE(unchanged, reference(x), 0);
  CHECK_CLOSE(compose(data::ColorJitter{{.saturation = 0.9, .hue = 0.5}})(x, 1), reference(x), 0);
  const Images from = read_images(x), to = read_images(compose(data::ColorJitter{{.contrast = 0.5}})(x, 1));
  for (std::int64_t n = 0; n < 3; ++n) {
    const double factor = 0.5 + static_cast<double>(unit_float(numbers(1, 0, n).y));
    const double mean = (from(n, 0, 0, 0) + from(n, 0, 0, 1) + from(n, 0, 1, 0) + from(n, 0, 1, 1)) / 4;
    const double expected = factor * from(n, 0, 1, 0) + (1 - factor) * mean;
    CHECK(to(n, 0, 1, 0) == doctest::Approx(std::min(1.0, std::max(0.0, expected))).epsilon(4e-6));
  }
}

LOCUS_DEVICE_TEST("contrast moves away from the mean of the image that the transforms before it make", D) {
  const auto x = sample<float, D>({3, 1, 2, 3}, 1, 0, 1);
  const data::Normalize halve{0, 2};
  const Images from = read_images(compose(halve)(x, 1)),
               to = read_images(compose(halve, data::ColorJitter{{.contrast = 0.5}})(x, 1));
  for (std::int64_t n = 0; n < 3; ++n) {
    const double factor = 0.5 + static_cast<double>(unit_float(numbers(1, 1, n).y));
    double mean = 0;
    for (std::int64_t i = 0; i < 6; ++i) mean += from(n, 0, i / 3, i % 3) / 6;
    const double expected = factor * from(n, 0, 1, 2) + (1 - factor) * mean;
    CHECK(to(n, 0, 1, 2) == doctest::Approx(std::min(1.0, std::max(0.0, expected))).epsilon(4e-6));
  }
}

LOCUS_DEVICE_TEST("transforms are applied in their order, in one launch, and a composition counts as its parts", D) {
  const auto x = numbered<D>(20, 1, 3, 3);
  const data::RandomHorizontalFlip flip{{.probability = 1}};
  const data::RandomCrop crop{{.size = {3, 2}}};
  const data::Normalize halve{0, 2};
  const LaunchLog log;
  const auto flat = compose(flip, crop, halve)(x, 7);
  CHECK(log.launches() == 1);
  CHECK(flat.shape() == Shape{20, 1, 3, 2});
  const auto nested = compose(compose(flip, crop), compose(halve))(x, 7);
  CHECK_CLOSE(nested, reference(flat), 0);
  const Images to = read_images(flat);
  for (std::int64_t n = 0; n < 20; ++n) {
    const auto right = static_cast<std::int64_t>(std::uint64_t{numbers(7, 1, n).y} * 2 >> 32);
    CHECK(to(n, 0, 0, 0) == static_cast<double>(3 - right) / 2);  // the mirrored row, from column `right` on
    CHECK(to(n, 0, 2, 1) == static_cast<double>(8 - right) / 2);
  }
}

LOCUS_DEVICE_TEST("a transform of a program's own draws numbers of its own", D) {
  const auto x = zeros<float, D>({3, 1, 1, 1});
  const auto y = compose(AddNumber{}, AddNumber{})(x, 2);
  std::vector<double> expected;
  for (std::int64_t n = 0; n < 3; ++n)
    expected.push_back(static_cast<double>(unit_float(numbers(2, 0, n).x)) +
                       static_cast<double>(unit_float(numbers(2, 1, n).x)));
  CHECK_CLOSE(y, Reference({3, 1, 1, 1}, expected));
}

LOCUS_DEVICE_TEST("what is drawn for an image depends on the seed and its number", D) {
  const auto augment = compose(data::RandomCrop{{.padding = 3}}, data::RandomHorizontalFlip{});
  const auto x = sample<float, D>({8, 3, 6, 6});
  const auto one = augment(x, 1);
  CHECK_CLOSE(augment(x, 1), reference(one), 0);
  CHECK_CLOSE(augment(x.slice(0, 0, 5), 1), reference(one.slice(0, 0, 5)), 0);
  CHECK(!difference(augment(x, 2), reference(one), 0).empty());
}

LOCUS_DEVICE_TEST("images are resized as torchvision's Resize does it, smaller and larger, bytes within one level", D) {
  struct Golden {
    Size2d from, to;
    std::vector<double> values;  // torchvision.transforms.v2.Resize(to)(image.float())
  };
  const Golden smaller{
      {7, 9},
      {3, 4},
      {128.861, 161.753, 160.742, 129.245, 161.314, 140.04, 138.66, 132.376, 161.473, 89.537, 132.15, 81.302}};
  const Golden larger{
      {4, 5}, {6, 7}, {0,       27.429,  82.857, 170,     127.143, 116,     124,     106,     92.857,  97.571, 134,
                       131.857, 106.571, 74,     214.333, 171.476, 126.857, 95.667,  147.81,  121.952, 59.667, 223.667,
                       224.238, 185.143, 86.333, 192.762, 221.191, 202.333, 134,     178,     181,     106,    175.286,
                       221.429, 246,     42,     118.571, 162.286, 128,     146.571, 196.857, 254}};
  for (const auto& [from, to, values] : {smaller, larger}) {
    Tensor<std::uint8_t> image({1, 1, from.height, from.width});
    for (std::int64_t i = 0; i < image.elements(); ++i)
      image.data()[i] = static_cast<std::uint8_t>(i * i * 37 + i * 11);
    const auto resize = compose(data::Resize{to});
    const auto given = resize(image.template as<float>().template to<D>(), 1);
    REQUIRE(given.shape() == Shape{1, 1, to.height, to.width});
    const Images found = read_images(given);
    for (std::size_t i = 0; i < values.size(); ++i) CHECK(found.values[i] == doctest::Approx(values[i]).epsilon(1e-4));
  }
  const auto x = sample<float, D>({2, 3, 4, 5});
  CHECK_CLOSE(compose(data::Resize{{4, 5}})(x, 1), reference(x), 1e-6);
  const auto both = compose(data::Resize{8}, data::RandomCrop{{.size = {8, 4}}}, data::Normalize{0.5, 2});
  CHECK(both(x, 1).shape() == Shape{2, 3, 8, 4});
}

LOCUS_DEVICE_TEST("images of other element types, strides and sizes", D) {
  const auto augment = compose(data::RandomCrop{{.padding = 1}}, data::Normalize{0.5, 0.25});
  const auto x = sample<double, D>({4, 2, 3, 4});
  const auto expected = reference(augment(x, 1));
  CHECK_CLOSE(augment(x.template as<bfloat16>(), 1), expected, 1e-2);
  CHECK_CLOSE(augment(x.transpose(2, 3).contiguous().transpose(2, 3), 1), expected, 0);
  CHECK(augment(zeros<float, D>({0, 2, 3, 4}), 1).shape() == Shape{0, 2, 3, 4});
  CHECK(augment(zeros<float, D>({2, 0, 3, 4}), 1).shape() == Shape{2, 0, 3, 4});
}

TEST_CASE("transforms say which shape they make") {
  CHECK(compose(data::RandomCrop{{.size = 24}}, data::Normalize{0, 1}).shape_of({3, 32, 40}) == Shape{3, 24, 24});
}

TEST_CASE("transforms refuse images that they do not take, and options out of range") {
  const auto x = zeros({2, 2, 4, 6});
  const auto refuses = [&](const auto& transforms, const char* message) {
    CHECK_THROWS_WITH_AS((void)transforms(x, 1), message, ShapeError);
  };
  refuses(compose(data::RandomCrop{{.size = {7, 6}, .padding = 1}}),
          "RandomCrop: parts of 7 x 6 from images of 4 x 6 with a padding of 1; expected at most 6 x 8");
  refuses(compose(data::Normalize{{1, 2, 3}, 1}),
          "Normalize: 3 means for images of 2 channels; expected one for each, or one for all");
  refuses(compose(data::Normalize{1, {1, 2, 3}}),
          "Normalize: 3 stds for images of 2 channels; expected one for each, or one for all");
  refuses(compose(data::ColorJitter{{.contrast = 1}}),
          "ColorJitter: images of 2 channels; expected 3, red, green and blue, or 1");
  refuses(
      compose(data::RandomCrop{{.size = 1 << 20, .padding = 1 << 20}}),
      "compose: images of shape (2, 1048576, 1048576); expected (channels, height, width), of less than 2^30 elements");
  CHECK_THROWS_AS((void)compose(data::RandomCrop{{.size = 1, .padding = 1 << 20}}).shape_of({1, INT32_MAX, 1}),
                  ShapeError);  // with its padding it has more rows than an index counts
  CHECK_THROWS_WITH_AS((void)compose(data::Normalize{1, 1})(zeros({2, 3}), 1),
                       "compose: images of shape (2, 3); expected (n, channels, height, width)", ShapeError);

  CHECK_THROWS_WITH_AS((void)data::Normalize(0, 0), "Normalize: a std is 0; expected a finite number above 0",
                       ArgumentError);
  CHECK_THROWS_AS((void)data::Normalize(std::nan(""), 1), ArgumentError);
  CHECK_THROWS_AS((void)data::Normalize({}, 1), ArgumentError);
  CHECK_THROWS_AS((void)data::RandomCrop({.size = -1}), ArgumentError);
  CHECK_THROWS_WITH_AS((void)data::RandomCrop({.padding = -1}),
                       "RandomCrop: padding is -1 pixels; expected 0 to 1048576", ArgumentError);
  CHECK_THROWS_AS((void)data::RandomCrop({.padding = INT64_MAX}), ArgumentError);
  CHECK_THROWS_WITH_AS((void)data::RandomHorizontalFlip({.probability = 1.5}),
                       "RandomHorizontalFlip: probability is 1.5; expected a number from 0 to 1", ArgumentError);
  CHECK_THROWS_WITH_AS((void)data::Resize({1, 0}), "Resize: width is 0 pixels; expected 1 to 1048576", ArgumentError);
  CHECK_THROWS_AS((void)compose(data::Resize{2}).shape_of({3, 0, 4}), ShapeError);
  CHECK_THROWS_AS((void)data::Cutout({.size = 0}), ArgumentError);
  CHECK_THROWS_AS((void)data::Cutout({.probability = std::nan("")}), ArgumentError);
  CHECK_THROWS_AS((void)data::ColorJitter({.brightness = -0.1}), ArgumentError);
  CHECK_THROWS_WITH_AS((void)data::ColorJitter({.hue = 0.6}),
                       "ColorJitter: hue is 0.6; expected a number from 0 to 0.5", ArgumentError);
}
