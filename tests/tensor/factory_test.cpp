#include <locus/tensor/factory.hpp>

#include <array>
#include <cmath>
#include <iterator>
#include <list>
#include <span>
#include <sstream>
#include <support/device_list.hpp>
#include <support/reference.hpp>

using namespace locus;
using namespace locus_test;

namespace {

template <class D>
void check_filled(const Shape& shape) {
  CAPTURE(to_string(shape));
  const auto count = static_cast<std::size_t>(elements(shape));
  CHECK_CLOSE((zeros<float, D>(shape)), Reference(shape, std::vector<double>(count, 0)));
  CHECK_CLOSE((ones<std::int32_t, D>(shape)), Reference(shape, std::vector<double>(count, 1)));
}

}  // namespace

LOCUS_DEVICE_TEST("zeros, ones and full of any shape and type", D) {
  check_filled<D>({2, 3});
  check_filled<D>({});
  check_filled<D>({0, 4});
  check_filled<D>({1, 2, 1, 2, 1, 2, 1, 2});
  CHECK_CLOSE((full<double, D>({2}, 0.1)), {0.1, 0.1});
  CHECK_CLOSE((full<half, D>({2}, 0.5)), {0.5, 0.5});
  CHECK_CLOSE((full<bfloat16, D>({2}, half(3.0f))), {3, 3});
  CHECK_CLOSE((full<bool, D>({2}, true)), {1, 1});
  CHECK_CLOSE((full<std::uint8_t, D>({1}, 200)), {200});
  CHECK(empty<std::int64_t, D>({3, 0}).shape() == Shape{3, 0});
  static_assert(std::is_same_v<decltype(zeros({1})), Tensor<float, Cpu>>);
  static_assert(std::is_same_v<decltype(zeros({1}, D{})), Tensor<float, D>>);
}

LOCUS_DEVICE_TEST("arange counts from start to before end", D) {
  CHECK_CLOSE((arange<float, D>(4)), {0, 1, 2, 3});
  CHECK_CLOSE((arange<std::int64_t, D>(2, 11, 3)), {2, 5, 8});
  CHECK_CLOSE((arange<std::int32_t, D>(5, -2, -3)), {5, 2, -1});
  CHECK_CLOSE((arange<double, D>(0, 1, 0.25)), {0, 0.25, 0.5, 0.75});
  CHECK_CLOSE((arange<float, D>(1, 0, -0.5)), {1, 0.5});
  CHECK_CLOSE((arange<half, D>(3)), {0, 1, 2});
  CHECK_CLOSE((arange<std::uint8_t, D>(250, 256)), {250, 251, 252, 253, 254, 255});
  CHECK_CLOSE((arange<std::int64_t, D>((std::int64_t{1} << 40) + 1, (std::int64_t{1} << 40) + 2)), {0x1p40 + 1});
  const std::int64_t quarter = std::int64_t{1} << 62;
  CHECK_CLOSE((arange<std::int64_t, D>(INT64_MIN, INT64_MAX, quarter)), {-0x1p63, -0x1p62, 0, 0x1p62});
  CHECK_CLOSE((arange<std::int64_t, D>(INT64_MAX, INT64_MIN, -quarter)), {0x1p63, 0x1p62, -1, -0x1p62});
  CHECK_CLOSE((arange<float, D>(0)), Reference({0}, {}));
  CHECK_CLOSE((arange<float, D>(3, 3)), Reference({0}, {}));
}

template <class T>
concept CountsByHalves = requires { arange<T>(0.5); };

TEST_CASE("arange refuses what has no end or does not fit") {
  CHECK_THROWS_AS((void)arange(0, 5, 0), ArgumentError);
  CHECK_THROWS_AS((void)arange(5, 0), ArgumentError);
  CHECK_THROWS_AS((void)arange<int>(0, 5, -1), ArgumentError);
  CHECK_THROWS_AS((void)arange(0, NAN), ArgumentError);
  CHECK_THROWS_AS((void)arange(0, INFINITY), ArgumentError);
  CHECK_THROWS_AS((void)arange(0.0, 1.0, NAN), ArgumentError);
  CHECK_THROWS_AS((void)arange<std::uint8_t>(257), ArgumentError);
  CHECK_THROWS_AS((void)arange<std::uint8_t>(-1, 3), ArgumentError);
  CHECK_THROWS_AS((void)arange<std::int32_t>(std::int64_t{1} << 40), ArgumentError);
  CHECK_THROWS_AS((void)arange<std::int64_t>(INT64_MIN, INT64_MAX), ArgumentError);
  CHECK_FALSE(CountsByHalves<std::int32_t>);
  CHECK(CountsByHalves<double>);
}

LOCUS_DEVICE_TEST("linspace has exact ends and equal distances", D) {
  CHECK_CLOSE((linspace<double, D>(0, 1, 5)), {0, 0.25, 0.5, 0.75, 1});
  CHECK_CLOSE((linspace<float, D>(3, -3, 4)), {3, 1, -1, -3});
  CHECK_CLOSE((linspace<float, D>(2, 9, 1)), {2});
  CHECK_CLOSE((linspace<float, D>(-3e38, 3e38, 5)), {-3e38, -1.5e38, 0, 1.5e38, 3e38});
  CHECK_CLOSE((linspace<double, D>(-1.5e308, 1.5e308, 4)), {-1.5e308, -0.5e308, 0.5e308, 1.5e308});
  CHECK_CLOSE((linspace<bfloat16, D>(1.0039062500001, 2, 2)), {1.0078125, 2}, 0);  // rounded once
  CHECK_CLOSE((linspace<float, D>(2, 9, 0)), Reference({0}, {}));
  const auto x = reference(linspace<double, D>(0.1, 0.7, 1000));
  CHECK(x.values.front() == 0.1);
  CHECK(x.values.back() == 0.7);
  CHECK(x.values[333] == doctest::Approx(0.1 + 0.6 * 333 / 999).epsilon(1e-15));
  CHECK_THROWS_AS((void)(linspace<float, D>(0, 1, -1)), ArgumentError);
}

LOCUS_DEVICE_TEST("eye has ones on the diagonal", D) {
  CHECK_CLOSE((eye<float, D>(2)), Reference({2, 2}, {1, 0, 0, 1}));
  CHECK_CLOSE((eye<std::int32_t, D>(2, 3)), Reference({2, 3}, {1, 0, 0, 0, 1, 0}));
  CHECK_CLOSE((eye<bool, D>(3, 1)), Reference({3, 1}, {1, 0, 0}));
  CHECK_CLOSE((eye<float, D>(0)), Reference({0, 0}, {}));
  CHECK_CLOSE((eye<float, D>(2, 0)), Reference({2, 0}, {}));
  CHECK_THROWS_AS((void)(eye<float, D>(-1)), ShapeError);
}

LOCUS_DEVICE_TEST("every factory is one launch", D) {
  LaunchLog log;
  auto launches = [&, before = std::int64_t{0}](auto&&...) mutable {
    return log.launches() - std::exchange(before, log.launches());
  };
  CHECK(launches(empty<float, D>({3})) == 0);
  CHECK(launches(zeros<float, D>({3})) == 1);
  CHECK(launches(full<float, D>({3}, 2)) == 1);
  CHECK(launches(arange<float, D>(3)) == 1);
  CHECK(launches(linspace<float, D>(0, 1, 3)) == 1);
  CHECK(launches(eye<float, D>(3)) == 1);
  CHECK(launches(zeros_like(empty<float, D>({3}))) == 1);
}

LOCUS_DEVICE_TEST("nested lists become tensors of as many dimensions", D) {
  CHECK_CLOSE((from<float, D>({1, 2.5, 3})), Reference({3}, {1, 2.5, 3}));
  CHECK_CLOSE((from<std::int64_t, D>({{1, 2}, {3, 4}, {5, 6}})), Reference({3, 2}, {1, 2, 3, 4, 5, 6}));
  CHECK_CLOSE((from<float, D>({{{1}, {2}}, {{3}, {4}}})), Reference({2, 2, 1}, {1, 2, 3, 4}));
  CHECK_CLOSE((from<half, D>({{{{0.5, 1}, {2, 3}}}})), Reference({1, 1, 2, 2}, {0.5, 1, 2, 3}));
  CHECK_CLOSE((from<bool, D>({{true, false}})), Reference({1, 2}, {1, 0}));
  CHECK_CLOSE((from<bool, D>({2, 0, -1})), Reference({3}, {1, 0, 1}));
  CHECK_CLOSE((from<float, D>({{1}, {2}})), Reference({2, 1}, {1, 2}));
  CHECK_CLOSE((from<float, D>({{7}})), Reference({1, 1}, {7}));
  CHECK_CLOSE((from<float, D>({})), Reference({0}, {}));
  CHECK_CLOSE((from<float, D>({{}, {}})), Reference({2, 0}, {}));
  if constexpr (std::is_same_v<D, Counting>) {
    RequestLog log;
    CHECK_CLOSE(from({{1, 2}}, D{3}), {1, 2});
    CHECK(log.copies() == 2);  // here and back
    CHECK(log.launches() == 0);
  }
}

template <class T, class N>
concept HoldsNumber = requires(N n) { from<T>({n}); };

TEST_CASE("ragged lists are refused, and so are fractions for integers") {
  CHECK_THROWS_AS((void)from({{1, 2}, {3}}), ShapeError);
  CHECK_THROWS_AS((void)from({{1}, {2, 3}}), ShapeError);
  CHECK_THROWS_AS((void)from({{{1}, {2}}, {{3}, {4, 5}}}), ShapeError);
  CHECK_THROWS_AS((void)from({{1, 2}, 3}), ShapeError);
  CHECK_THROWS_AS((void)from({3, {1, 2}}), ShapeError);
  CHECK_THROWS_AS((void)from({{}, {1}}), ShapeError);
  CHECK_THROWS_AS((void)from({{{{{{{{{1}}}}}}}}}), ShapeError);
  CHECK(HoldsNumber<std::int32_t, std::int64_t>);
  CHECK_FALSE(HoldsNumber<std::int32_t, double>);
  CHECK(HoldsNumber<bool, int>);
  CHECK_FALSE(HoldsNumber<bool, double>);
}

LOCUS_DEVICE_TEST("vectors, arrays, spans and iterators become tensors", D) {
  const std::vector<double> numbers{1, 2, 3, 4, 5, 6};
  CHECK_CLOSE((from<void, D>(numbers, {2, 3})), Reference({2, 3}, {1, 2, 3, 4, 5, 6}));
  CHECK_CLOSE((from<float, D>(numbers, {3, 2})), Reference({3, 2}, {1, 2, 3, 4, 5, 6}));
  CHECK_CLOSE(from(std::span(numbers).subspan(2, 2), {2, 1}, D{}), Reference({2, 1}, {3, 4}));
  CHECK_CLOSE((from<void, D>(std::array<std::int64_t, 2>{7, 8})), Reference({2}, {7, 8}));
  const std::uint8_t bytes[] = {1, 255};
  CHECK_CLOSE((from<float, D>(bytes)), Reference({2}, {1, 255}));
  static_assert(std::is_same_v<decltype(from(numbers)), Tensor<double, Cpu>>);
  static_assert(std::is_same_v<decltype(from<half>(numbers)), Tensor<half, Cpu>>);
  const std::list<int> list{4, 5, 6};
  CHECK_CLOSE((from<void, D>(list.begin(), list.end(), {3, 1})), Reference({3, 1}, {4, 5, 6}));
  std::istringstream text("1.5 2.5");
  CHECK_CLOSE((from<float, D>(std::istream_iterator<double>(text), std::istream_iterator<double>(), {2})), {1.5, 2.5});
  const std::vector<bool> bits{true, false};
  CHECK_CLOSE((from<void, D>(bits.begin(), bits.end(), {2})), {1, 0});
  CHECK_THROWS_AS((void)(from<void, D>(numbers, {2, 2})), ShapeError);
  CHECK_THROWS_AS((void)(from<void, D>(list.begin(), list.end(), {2})), ShapeError);
  CHECK_THROWS_AS((void)(from<void, D>(list.begin(), list.end(), {4})), ShapeError);
  CHECK_CLOSE((from<void, D>(std::vector<float>{}, {0, 3})), Reference({0, 3}, {}));
}

LOCUS_DEVICE_TEST("tensors like another have its shape, device and type", D) {
  const auto x = sample<double, D>({2, 3});
  CHECK_CLOSE(zeros_like(x), Reference({2, 3}, {0, 0, 0, 0, 0, 0}));
  CHECK_CLOSE(ones_like<std::int32_t>(x), Reference({2, 3}, {1, 1, 1, 1, 1, 1}));
  CHECK_CLOSE(full_like(x, 0.5), Reference({2, 3}, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}));
  static_assert(std::is_same_v<decltype(rand_like(x)), Tensor<double, D>>);
  static_assert(std::is_same_v<decltype(randn_like<float>(x)), Tensor<float, D>>);
  CHECK(empty_like(x.select(0, 0)).shape() == Shape{3});
  if constexpr (std::is_same_v<D, Counting>) CHECK(zeros_like(x.to(D{2})).device() == D{2});
}

TEST_CASE("negative extents are refused, and memory that is not there") {
  CHECK_THROWS_AS((void)zeros({2, -1}), ShapeError);
  CHECK_THROWS_AS((void)rand({-3}), ShapeError);
  CHECK_THROWS_AS((void)empty({std::int64_t{1} << 50}), OutOfMemory);
  CHECK_THROWS_AS((void)empty<double>({std::int64_t{1} << 61}), OutOfMemory);
  CHECK_THROWS_AS((void)empty({std::int64_t{1} << 40, std::int64_t{1} << 40}), ShapeError);
}
