// Runs on: host, cuda (operations), reference.
// histogram and bincount against counting one by one.

#include <locus/autograd/expression.hpp>
#include <locus/ops/histogram.hpp>

#include <support/device_list.hpp>
#include <support/reference.hpp>
#include <support/sorting.hpp>

using namespace locus;
using locus_test::infinite;
using locus_test::not_a_number;
using locus_test::Reference;
using locus_test::sample;

namespace {

/// Counts found one by one, for ends that floating-point numbers of T hold exactly, with bins that do too.
template <class T, class D>
void check_histogram(const Tensor<T, D>& x, std::int64_t bins, double low, double high) {
  CAPTURE(to_string(x.shape()));
  CAPTURE(bins);
  std::vector<double> counts(static_cast<std::size_t>(bins));
  const double width = (high - low) / static_cast<double>(bins);
  for (const double value : locus_test::reference(x).values) {
    if (!(value >= low && value <= high)) continue;
    ++counts[std::min(static_cast<std::size_t>((value - low) / width), counts.size() - 1)];
  }
  CHECK_CLOSE(histogram(x, bins, low, high), Reference({bins}, counts));
}

}  // namespace

LOCUS_DEVICE_TEST("elements of every type are counted in equal bins", D) {
  check_histogram(sample<float, D>({5000}, 1), 8, -2, 2);
  check_histogram(sample<float, D>({30, 40}, 2).transpose(), 512, -1, 1);
  check_histogram(sample<std::int32_t, D>({3000}, 2, -5000, 5000), 8192, -4096, 4096);
  check_histogram(sample<std::int32_t, D>({3000}, 2, -5000, 5000), 8193, -4096, 4097);  // too many for a block of Cuda
  check_histogram(sample<std::int32_t, D>({500}, 3, -40, 40), 4, -32, 32);
  if constexpr (locus_test::all_dtypes<D>) check_histogram(sample<half, D>({500}, 5), 16, -1, 1);
  if constexpr (HostAccessible<D>) {
    check_histogram(sample<double, D>({500}, 4), 16, -1, 1);
    check_histogram(sample<bfloat16, D>({500}, 6), 16, -1, 1);
    check_histogram(sample<std::int64_t, D>({500}, 7, -40, 40), 64, -32, 32);
    check_histogram(sample<std::uint8_t, D>({500}, 8, 0, 255), 256, 0, 256);
    check_histogram(sample<bool, D>({50}, 9), 2, 0, 1);
  }
  check_histogram(Tensor<float, D>({0}), 3, 0, 1);
}

LOCUS_DEVICE_TEST("the upper end counts in the last bin, what is outside or NaN in none", D) {
  const auto x =
      locus_test::tensor<float, D>({10}, {0, 1, 2, 3, 4, 4.0001, -0.0001, not_a_number, infinite, -infinite});
  CHECK_CLOSE(histogram(x, 4, 0, 4), {1, 1, 1, 2});
  CHECK_CLOSE(histogram(x * 0.5f + 1.f, 1, 1, 3), {5});
  CHECK_CLOSE(histogram(trace(x), 2, -0., 8), {4, 2});
  static_assert(std::is_same_v<decltype(histogram(trace(x), 2, 0, 8)), Tensor<std::int64_t, D>>);
}

TEST_CASE("as many bins as there may be, which no float says exactly") {
  const std::int64_t bins = locus::detail::most_bins;
  const locus::detail::BinOfElement<float> bin_of{0, 1, static_cast<float>(bins), static_cast<std::int32_t>(bins - 1)};
  const auto bin = [&](float value) {
    const volatile float x = value;  // or the compiler converts it, which may round where processors do not
    std::int32_t found = 0;
    bin_of(x, found);
    return found;
  };
  CHECK(bin(1) == bins - 1);
  CHECK(bin(0.5f) == 1 << 30);
  CHECK(bin(0) == 0);
}

LOCUS_DEVICE_TEST("two launches beside the device's count; ends and bins that make no sense are refused", D) {
  const auto x = sample<float, D>({5});
  LaunchLog log;
  (void)histogram(x, 10, 0, 1);
  CHECK(log.launches() == 2);
  (void)bincount(locus_test::tensor<std::uint8_t, D>({3}, {2, 0, 2}));
  CHECK(log.launches() == 6);
  CHECK_THROWS_WITH_AS((void)histogram(x, 0, 0, 1), doctest::Contains("histogram: 0 bins"), ArgumentError);
  CHECK_THROWS_AS((void)histogram(x, std::int64_t{1} << 31, 0, 1), ArgumentError);
  CHECK_THROWS_WITH_AS((void)histogram(x, 3, 1, 1), doctest::Contains("from 1 to 1"), ArgumentError);
  CHECK_THROWS_AS((void)histogram(x, 3, 2, 1), ArgumentError);
  CHECK_THROWS_AS((void)histogram(x, 3, 0, infinite), ArgumentError);
  CHECK_THROWS_AS((void)histogram(x, 3, not_a_number, 1), ArgumentError);
  CHECK_THROWS_AS((void)histogram(x, 3, 0, 3e38), ArgumentError);
  CHECK_THROWS_AS((void)histogram(x, 3, 1, 1 + 1e-12), ArgumentError);
}

LOCUS_DEVICE_TEST("bincount counts up to the largest number, or further", D) {
  const auto x = sample<std::int64_t, D>({3000}, 1, 0, 30);
  std::vector<double> counts(31);
  for (const double value : locus_test::reference(x).values) ++counts[static_cast<std::size_t>(value)];
  CHECK_CLOSE(bincount(x), Reference({31}, counts));
  counts.resize(300);
  CHECK_CLOSE(bincount(x, 300), Reference({300}, counts));
  CHECK_CLOSE(bincount(locus_test::tensor<std::uint8_t, D>({3}, {2, 0, 2})), {1, 0, 2});
  CHECK_CLOSE(bincount(locus_test::tensor<std::int32_t, D>({4}, {1, 9, 1, 9}).slice(0, 0, to_end, 2)), {0, 2});
  CHECK_CLOSE(bincount(Tensor<std::int64_t, D>({0}), 2), {0, 0});
  CHECK(bincount(Tensor<std::int64_t, D>({0})).shape() == Shape{0});
}

LOCUS_DEVICE_TEST("what bincount does not count is refused by name", D) {
  const auto x = locus_test::tensor<std::int64_t, D>({3}, {1, -1, 2});
  CHECK_THROWS_WITH_AS((void)bincount(x), doctest::Contains("from -1 to 2"), ArgumentError);
  CHECK_THROWS_AS((void)bincount(locus_test::tensor<std::int64_t, D>({1}, {3e9})), ArgumentError);
  CHECK_THROWS_AS((void)bincount(x.reshape({3, 1})), ShapeError);
  CHECK_THROWS_AS((void)bincount(x.slice(0, 0, 1), -1), ArgumentError);
}

#if !LOCUS_CUDA
TEST_CASE("a program without CUDA says so where it counts on Cuda") {
  CHECK_THROWS_AS(Histogram<Cuda>::count({}, static_cast<std::int32_t*>(nullptr), 1, nullptr, 1), CudaUnavailable);
}
#endif
