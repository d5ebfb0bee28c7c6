// Runs on: host, cuda (expressions).
#include <locus/cuda/pinned.hpp>
#include <locus/expr/bits.hpp>
#include <locus/tensor/from.hpp>

#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <cstdint>
#include <limits>

using namespace locus;
using namespace locus_test;

LOCUS_DEVICE_TEST("operators on bits, in one expression, are those of C++", D) {
  if constexpr (all_dtypes<D>) {
    using T = std::int32_t;
    const auto x = sample<T, D>({50}, 1, -2e9, 2e9), y = sample<T, D>({50}, 2, -2e9, 2e9);
    const auto count = sample<T, D>({50}, 3, 0, 31);
    const Tensor z = ((x & y) | (~x ^ (y << count))) >> 3;
    const auto a = host(x), b = host(y), by = host(count), given = host(z);
    for (std::int64_t i = 0; i < 50; ++i) {
      const T moved = static_cast<T>(static_cast<std::uint32_t>(b(i)) << by(i));
      CHECK(given(i) == ((a(i) & b(i)) | (~a(i) ^ moved)) >> 3);
    }
  }
}

TEST_CASE("bits of every integer type: results have the type, signs move in from the left") {
  const std::uint8_t byte = 0b1010'0110, mask = 0b0000'1111;
  CHECK(functor::BitAnd{}(byte, mask) == 0b0000'0110);
  CHECK(functor::BitOr{}(byte, mask) == 0b1010'1111);
  CHECK(functor::BitXor{}(byte, mask) == 0b1010'1001);
  CHECK(functor::BitNot{}(byte) == 0b0101'1001);
  CHECK(functor::ShiftLeft{}(byte, std::uint8_t{1}) == 0b0100'1100);
  CHECK(functor::ShiftRight{}(byte, std::uint8_t{7}) == 1);
  CHECK(functor::ShiftRight{}(std::int8_t{-128}, std::int8_t{6}) == -2);
  CHECK(functor::ShiftLeft{}(std::int64_t{-3}, std::int64_t{62}) == std::numeric_limits<std::int64_t>::max() / 2 + 1);
  CHECK((functor::BitAnd{}(true, false) == false && functor::BitXor{}(true, false) && !functor::BitNot{}(true)));
}

TEST_CASE("counts that a GPU finds out of range shift everything out") {
  for (const std::int32_t count : {-1, 32, 33, 1 << 30}) {
    CHECK(functor::ShiftLeft{}(5, count) == 0);
    CHECK(functor::ShiftRight{}(5, count) == 0);
    CHECK(functor::ShiftRight{}(-5, count) == -1);
  }
  for (const std::uint8_t count : {std::uint8_t{8}, std::uint8_t{255}}) {
    CHECK(functor::ShiftLeft{}(std::uint8_t{255}, count) == 0);
    CHECK(functor::ShiftRight{}(std::uint8_t{255}, count) == 0);
  }
  CHECK(functor::ShiftRight{}(std::int64_t{-5}, std::int64_t{64}) == -1);
}

TEST_CASE("counts out of range are refused on the host, by value and position") {
  const Tensor x = from<std::int32_t>({1, 2, 3}), counts = from<std::int32_t>({0, 31, 32});
  CHECK_CLOSE(x << counts.slice(0, 0, 2).expand({2}).select(0, 0), {1, 2, 3});
  CHECK_CLOSE(1 << from<std::int32_t>({0, 4, 30}), {1, 16, 1 << 30});
  CHECK_THROWS_WITH_AS((void)(x << 32), doctest::Contains("x << 32: expected a count of 0 to 31 for int32"),
                       ArgumentError);
  CHECK_THROWS_WITH_AS((void)(x >> -1), doctest::Contains("x >> -1: expected"), ArgumentError);
  CHECK_THROWS_WITH_AS((void)(x << counts), doctest::Contains("32 at position 2; expected counts of 0 to 31"),
                       ArgumentError);
  CHECK_THROWS_WITH_AS((void)(x >> (counts - 1)), doctest::Contains("-1 at position 0"), ArgumentError);
  CHECK_THROWS_WITH_AS((void)(from<std::uint8_t>({1}) << 8), doctest::Contains("0 to 7 for uint8"), ArgumentError);
  CHECK_THROWS_WITH_AS((void)(from<std::uint8_t>({1}) & 256), doctest::Contains("bit_and: 256 is no value of uint8"),
                       ArgumentError);
}

namespace {
template <class L, class R>
concept HasAnd = requires(L a, R b) { a& b; };
template <class L, class R>
concept HasShift = requires(L a, R b) { a << b; };
template <class X>
concept HasNot = requires(X x) { ~x; };
}  // namespace

TEST_CASE("floating-point numbers have no bits, bool is not shifted, and places do not mix") {
  CHECK((HasAnd<Tensor<bool>, Tensor<bool>> && HasAnd<Tensor<std::int64_t>, int> && HasNot<Tensor<bool>>));
  CHECK((HasShift<Tensor<std::uint8_t>, int> && HasShift<int, Tensor<std::int32_t>>));
  CHECK_FALSE((HasAnd<Tensor<float>, Tensor<float>> || HasAnd<Tensor<std::int32_t>, Tensor<std::int64_t>>));
  CHECK_FALSE((HasAnd<Tensor<bool>, Tensor<bool, Cuda>> || HasNot<Tensor<float>> || HasNot<Tensor<int, Pinned>>));
  CHECK_FALSE(
      (HasShift<Tensor<bool>, Tensor<bool>> || HasShift<Tensor<float>, int> || HasShift<Tensor<std::int32_t>, float>));
}
