// Runs on: host.
#include <locus/data/loading/loader.hpp>
#include <locus/data/sets/fake_data.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace locus;
using data::FakeData;

static_assert(data::Dataset<FakeData>);

namespace {
/// Every number of an epoch, in order.
template <class T>
std::vector<double> numbers_of(const data::FakeDataAs<T>& dataset, const data::LoaderOptions& options) {
  std::vector<double> numbers;
  auto loader = data::loader<Cpu>(dataset, options);
  for (const auto& [images, labels] : loader) {
    for (std::int64_t i = 0; i < images.elements(); ++i) numbers.push_back(convert<double>(images.data()[i]));
    for (std::int64_t i = 0; i < labels.elements(); ++i) numbers.push_back(static_cast<double>(labels(i)));
  }
  return numbers;
}
}  // namespace

TEST_CASE("fake data has the sizes asked for, numbers in [0, 1) and labels of every class") {
  const FakeData dataset{{.size = 200, .shape = {2, 5, 3}, .classes = 4, .seed = 7}};
  CHECK(dataset.size() == 200);
  CHECK(dataset.classes() == 4);
  CHECK(FakeData().fields() == data::Fields<float, std::int64_t>{{3, 224, 224}, {}});
  std::int64_t seen[4] = {};
  double sum = 0, squares = 0;
  int alike = 0;
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    const auto [image, label] = data::sample(dataset, i);
    REQUIRE(image.shape() == Shape{2, 5, 3});
    ++seen[label.item()];
    alike += static_cast<std::int64_t>(4 * image(0, 0, 0)) == label.item();
    for (std::int64_t k = 0; k < 30; ++k) {
      const double x = image.data()[k];
      REQUIRE(x >= 0);
      REQUIRE(x < 1);
      sum += x;
      squares += x * x;
    }
  }
  CHECK(alike < 75);  // of 50: labels are drawn apart from images
  for (const auto count : seen) CHECK(count == doctest::Approx(50).epsilon(0.4));  // 3 standard deviations
  CHECK(sum / 6000 == doctest::Approx(0.5).epsilon(0.025));                        // 3
  CHECK(squares / 6000 == doctest::Approx(1.0 / 3).epsilon(0.035));                // 3
}

TEST_CASE("a sample of fake data depends on the seed and its number alone") {
  const FakeData::Batch<Cpu> third = data::sample(FakeData{{.shape = {7}, .seed = 1}}, 3),
                             same = data::sample(FakeData{{.size = 4, .shape = {7}, .seed = 1}}, 3),
                             other = data::sample(FakeData{{.shape = {7}, .seed = 2}}, 3),
                             next = data::sample(FakeData{{.shape = {7}, .seed = 1}}, 4);
  int differ = 0;
  for (std::int64_t k = 0; k < 7; ++k) {
    CHECK(third.images(k) == same.images(k));
    differ += third.images(k) != other.images(k);
    differ += third.images(k) != next.images(k);
  }
  CHECK(differ == 14);
  for (std::int64_t k = 4; k < 7; ++k) CHECK(third.images(k) != third.images(k - 4));
  const FakeData dataset{{.size = 20, .shape = {3, 4}, .classes = 3}};
  const auto numbers = numbers_of(dataset, {.batch_size = 7});
  CHECK(numbers.size() == 20 * 13);
  for (const int workers : {1, 3}) CHECK(numbers_of(dataset, {.batch_size = 7, .workers = workers}) == numbers);
}

TEST_CASE("fake data has any element type and shape") {
  const FakeData dataset{{.size = 3, .shape = {}, .classes = 1}};
  const auto numbers = numbers_of(dataset, {}), rounded = numbers_of(dataset.as<bfloat16>(), {});
  REQUIRE(numbers.size() == 6);
  for (std::size_t i = 0; i < 6; ++i) CHECK(rounded[i] == doctest::Approx(numbers[i]).epsilon(0.01));
  CHECK(data::sample(FakeData{{.shape = {0, 3}}}, 0).images.elements() == 0);
}

TEST_CASE("fake data refuses what makes no sense") {
  CHECK_THROWS_WITH_AS((void)FakeData({.size = -1}), "FakeData: size is -1; expected 0 or more", ArgumentError);
  CHECK_THROWS_WITH_AS((void)FakeData({.classes = 0}), "FakeData: classes is 0; expected 1 or more", ArgumentError);
  CHECK_THROWS_AS((void)data::sample(FakeData{{.size = 2}}, 2), IndexError);
}
