// Runs on: host, cuda (data).
// Data sets whose images are transformed when they are loaded.

#include <locus/data/loading/loader.hpp>
#include <locus/data/sets/parts.hpp>
#include <locus/data/sets/tensor_dataset.hpp>
#include <locus/data/transforms/transformed.hpp>
#include <locus/tensor/factory.hpp>

#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <map>

using namespace locus;
using namespace locus_test;
using data::transformed;

namespace {

/// Image i has random bytes and label i.
data::LabelledImages labelled(std::int64_t count) {
  return {sample<std::uint8_t, Cpu>({count, 3, 6, 5}, 1, 0, 255), arange<std::int64_t>(count), count};
}

auto augment() {
  return data::compose(data::RandomCrop{{.padding = 2}}, data::RandomHorizontalFlip{},
                       data::ColorJitter{{.brightness = 0.3, .contrast = 0.3, .saturation = 0.3}},
                       data::Normalize{{0.5, 0.4, 0.3}, 0.25}, data::Cutout{{.size = 2}});
}

/// The images of an epoch by their labels.
template <class Loader>
std::map<std::int64_t, std::vector<double>> epoch_of(Loader&& loader) {
  std::map<std::int64_t, std::vector<double>> images;
  for (const auto& [batch, labels] : loader) {
    const auto names = host(labels);
    for (std::int64_t i = 0; i < names.size(0); ++i) images[names(i)] = reference(batch.select(0, i)).values;
  }
  return images;
}

/// An image, a number and a label, without names.
struct Mixed {
  std::int64_t size() const { return 9; }
  data::Fields<double, float, std::int32_t> fields() const { return {{1, 2, 2}, {2}, {}}; }
  void write(std::int64_t i, Span<double> image, Span<float> numbers, Span<std::int32_t> label) const {
    for (std::size_t k = 0; k < 4; ++k) image[k] = static_cast<double>(4 * static_cast<std::size_t>(i) + k);
    numbers[0] = numbers[1] = static_cast<float>(i);
    label[0] = static_cast<std::int32_t>(i);
  }
};

/// An image as numbers from -1 to 1, which its bytes stand for on the way to a GPU.
struct Centred {
  struct Bytes {
    std::int64_t size() const { return 2; }
    data::Fields<std::uint8_t> fields() const { return {{1, 1, 2}}; }
    void write(std::int64_t, Span<std::uint8_t> image) const { image[0] = 0, image[1] = 255; }
    template <class D>
    Tuple<Tensor<float, D>> expand(const Tensor<std::uint8_t, D>& bytes) const {
      return {(bytes.template as<float>() * (2.f / 255.f) - 1.f).eval()};
    }
  };
  std::int64_t size() const { return 2; }
  data::Fields<float> fields() const { return {{1, 1, 2}}; }
  void write(std::int64_t, Span<float> image) const { image[0] = -1, image[1] = 1; }
  Bytes compact() const { return {}; }
};

}  // namespace

static_assert(data::Dataset<decltype(transformed(labelled(1), augment()))>);
static_assert(std::is_same_v<decltype(data::sample(transformed(labelled(1), augment()), 0)), data::Batch<float, Cpu>>);

TEST_CASE("a sample's randomness depends on seed, epoch and number, whatever loads it") {
  const auto dataset = transformed(labelled(23), augment(), 5);
  auto loader = data::loader<Cpu>(dataset, {.batch_size = 4});
  const auto first = epoch_of(loader), second = epoch_of(loader);
  CHECK(first.size() == 23);
  CHECK(first != second);
  CHECK(reference(data::sample(dataset, 3).images).values == first.at(3));  // outside loaders it is epoch 0
  for (const int workers : {0, 1, 3}) {
    CAPTURE(workers);
    auto other = data::loader<Cpu>(dataset, {.batch_size = 7, .shuffle = true, .ahead = 2, .workers = workers});
    CHECK(epoch_of(other) == first);
    CHECK(epoch_of(other) == second);
    other.set_position({1, 2});  // as training that was interrupted goes on
    for (const auto& [label, image] : epoch_of(other)) CHECK(second.at(label) == image);
  }
  CHECK(epoch_of(data::loader<Cpu>(transformed(labelled(23), augment(), 6))) != first);
  int changed = 0;
  for (const auto& [label, image] : first) changed += image != second.at(label);
  CHECK(changed >= 22);
}

TEST_CASE("images of bytes are transformed as the numbers that they stand for, and as a batch is") {
  const auto dataset = labelled(11);
  const auto from_bytes = epoch_of(data::loader<Cpu>(transformed(dataset, augment(), 3)));
  const auto from_numbers = epoch_of(data::loader<Cpu>(transformed(
      data::map(dataset, [](const auto& image, const auto& label) { return Tuple(image, label); }), augment(), 3)));
  CHECK(from_bytes == from_numbers);
  for (const auto& [images, labels] : data::loader<Cpu>(dataset)) {
    const auto batch = augment()(images, 3);
    for (std::int64_t i = 0; i < 11; ++i) CHECK(reference(batch.select(0, i)).values == from_bytes.at(i));
  }
  const auto rounded = epoch_of(data::loader<Cpu>(transformed(dataset.as<bfloat16>(), augment(), 3)));
  for (const auto& [label, image] : rounded)
    for (std::size_t k = 0; k < image.size(); ++k)
      CHECK(image[k] == doctest::Approx(from_bytes.at(label)[k]).epsilon(0.01));
}

LOCUS_DEVICE_TEST("a loader delivers the same images on every device", D) {
  const auto dataset = transformed(labelled(10), augment(), 8);
  auto here = data::loader<Cpu>(dataset, {.batch_size = 4});
  auto there = data::loader<D>(dataset, {.batch_size = 4, .shuffle = true});
  for (int epoch = 0; epoch < 2; ++epoch) {
    const auto expected = epoch_of(here), given = epoch_of(there);
    REQUIRE(given.size() == 10);
    for (const auto& [label, image] : given)
      for (std::size_t k = 0; k < image.size(); ++k) CHECK(std::abs(image[k] - expected.at(label)[k]) < 1e-5);
  }
}

TEST_CASE("what is copied to a GPU is bytes with numbers of samples, which are transformed in one launch") {
  const auto dataset = transformed(labelled(10), augment(), 8).at_epoch(3);
  const auto compact = dataset.compact();
  static_assert(std::is_same_v<decltype(compact.fields()), data::Fields<std::uint8_t, std::int64_t, std::int64_t>>);
  const std::int64_t list[] = {7, 0, 9};
  const Tensor<std::uint8_t> bytes({3, 3, 6, 5});
  const Tensor<std::int64_t> samples({3}), labels({3});
  compact.write(Span(list), {}, Span<std::uint8_t>(bytes.data(), 270), Span<std::int64_t>(samples.data(), 3),
                Span<std::int64_t>(labels.data(), 3));
  const LaunchLog log;
  const data::Batch<float, Cpu> batch = compact.expand(bytes, samples, labels);
  CHECK(log.launches() == 1);
  for (std::int64_t i = 0; i < 3; ++i) {
    const auto [image, label] = data::sample(dataset, list[i]);
    CHECK(batch.labels(i) == label.item());
    CHECK(reference(batch.images.select(0, i)).values == reference(image).values);
  }
}

TEST_CASE("samples of any fields are transformed; the others stay as they are") {
  const auto dataset = transformed(Mixed{}, data::RandomHorizontalFlip{{.probability = 1}});
  CHECK(dataset.fields() == Mixed{}.fields());
  const auto [image, numbers, label] = data::sample(dataset, 8);
  CHECK(reference(image).values == std::vector<double>{33, 32, 35, 34});
  CHECK(numbers(1) == 8);
  CHECK(label.item() == 8);
  const auto cropped = transformed(dataset, data::RandomCrop{{.size = {1, 2}}});
  CHECK(cropped.fields().shapes[0] == Shape{1, 1, 2});
  for (const auto& [images, first, second] : data::loader<Cpu>(cropped, {.batch_size = 4}))
    for (std::int64_t i = 0; i < images.size(0); ++i) CHECK(images(i, 0, 0, 0) == images(i, 0, 0, 1) + 1);
}

TEST_CASE("bytes of a program's own data set, which stand for other numbers, are not taken for those in [0, 1]") {
  const auto [image] = data::sample(transformed(Centred{}, data::RandomHorizontalFlip{{.probability = 1}}), 0);
  CHECK(reference(image).values == std::vector<double>{1, -1});
}

TEST_CASE("parts of transformed data sets, and functions of them, have epochs, too") {
  const auto dataset = transformed(labelled(12), augment(), 5);
  const auto check = [](const auto& part) {
    auto loader = data::loader<Cpu>(part, {.batch_size = 5});
    const auto first = epoch_of(loader), second = epoch_of(loader);
    CHECK(first != second);
    loader.set_epoch(0);
    CHECK(epoch_of(loader) == first);
    return first;
  };
  const auto whole = check(dataset);
  for (const auto& [label, image] : check(data::Subset(dataset, {3, 1, 8}))) CHECK(whole.at(label) == image);
  const auto [some, others] = data::random_split(dataset, 0.5);
  for (const auto& [label, image] : check(some)) CHECK(whole.at(label) == image);
  CHECK(check(data::map(dataset, [](auto image, auto label) { return Tuple(image, label); })) == whole);
  CHECK(check(data::concat(dataset, data::Subset(dataset, {2}))) == whole);
  CHECK(check(transformed(dataset, data::Normalize{0, 1}, 1)) == whole);  // not random: keeps the epochs of its source
}

TEST_CASE("a data set refuses transforms that do not take its images") {
  CHECK_THROWS_WITH_AS((void)transformed(labelled(1), data::Normalize{{1, 2}, 1}),
                       "Normalize: 2 means for images of 3 channels; expected one for each, or one for all",
                       ShapeError);
  const data::TensorDataset flat{zeros({3, 8}), zeros({3})};
  CHECK_THROWS_WITH_AS((void)transformed(flat, data::Normalize{0, 1}),
                       "compose: images of shape (8,); expected (channels, height, width), of less than 2^30 elements",
                       ShapeError);
}
