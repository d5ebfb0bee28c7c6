// Runs on: host; loops.
#include <locus/core/dtype.hpp>
#include <locus/core/element_type.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

using namespace locus;

namespace {

enum Letter { a_letter };
enum class Digit { zero };
union Either {
  int number;
};
template <class... T>
constexpr bool agree_on_arithmetic = ((Arithmetic<T> == std::is_arithmetic_v<T>)&&...);

half half_of(unsigned bits) { return std::bit_cast<half>(static_cast<std::uint16_t>(bits)); }
bfloat16 bfloat16_of(unsigned bits) { return std::bit_cast<bfloat16>(static_cast<std::uint16_t>(bits)); }
template <class T>
unsigned bits_of(T value) {
  return std::bit_cast<std::uint16_t>(value);
}

/// Exact value of a finite half, from the definition of IEEE binary16.
double exact_half(unsigned bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31u);
  const double mantissa = static_cast<double>(bits & 1023u);
  const double magnitude = exponent ? std::ldexp(1024 + mantissa, exponent - 25) : std::ldexp(mantissa, -24);
  return bits & 0x8000u ? -magnitude : magnitude;
}

/// Every float between two neighbouring values of T rounds to the nearer one, and a tie to the even one.
template <class T>
bool rounds_to_nearest_even(T low, T high) {
  const float a = static_cast<float>(low), b = static_cast<float>(high);
  const float middle = a + (b - a) / 2;
  const T even = bits_of(low) % 2 == 0 ? low : high;
  const auto becomes = [](float value, T expected) { return bits_of(static_cast<T>(value)) == bits_of(expected); };
  return becomes(a, low) && becomes(b, high) && becomes(middle, even) && becomes(std::nextafter(middle, a), low) &&
         becomes(std::nextafter(middle, b), high);
}

}  // namespace

TEST_CASE("every half has the value that its bits say, and converts back to them") {
  int wrong = 0;
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const auto value = static_cast<float>(half_of(bits));
    if ((bits & 0x7c00u) != 0x7c00u) {
      wrong += static_cast<double>(value) != exact_half(bits) || bits_of(half(value)) != bits;
    } else if (bits & 0x3ffu) {
      wrong += !std::isnan(value) || !std::isnan(static_cast<float>(half(value)));
    } else {
      wrong += value != (bits & 0x8000u ? -INFINITY : INFINITY) || bits_of(half(value)) != bits;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("floats round to the nearest half, ties to even, subnormals included") {
  int wrong = 0;
  for (unsigned bits = 0; bits + 1 < 0x7c00; ++bits) {
    wrong += !rounds_to_nearest_even(half_of(bits), half_of(bits + 1));
    if (bits) wrong += !rounds_to_nearest_even(half_of(bits | 0x8000u), half_of((bits + 1) | 0x8000u));
  }
  CHECK(wrong == 0);
  CHECK(bits_of(half(65504.0f)) == 0x7bff);
  CHECK(bits_of(half(65519.996f)) == 0x7bff);
  CHECK(bits_of(half(65520.0f)) == 0x7c00);
  CHECK(bits_of(half(-1e30f)) == 0xfc00);
  CHECK(bits_of(half(1e-30f)) == 0);
  CHECK(bits_of(half(-1e-30f)) == 0x8000);
}

TEST_CASE("floats round to the nearest bfloat16, ties to even") {
  int wrong = 0;
  for (unsigned bits = 0; bits + 1 < 0x7f80; ++bits) {
    wrong += !rounds_to_nearest_even(bfloat16_of(bits), bfloat16_of(bits + 1));
  }
  CHECK(wrong == 0);
  CHECK(static_cast<float>(bfloat16(1.0f)) == 1.0f);
  CHECK(bits_of(bfloat16(std::numeric_limits<float>::max())) == 0x7f80);
  CHECK(bits_of(bfloat16(-INFINITY)) == 0xff80);
  CHECK(std::isnan(static_cast<float>(bfloat16(NAN))));
  CHECK(std::isnan(static_cast<float>(bfloat16(std::bit_cast<float>(0x7f800001u)))));
}

TEST_CASE("elements convert as in C++, through float for the 16-bit types") {
  CHECK(convert<std::int32_t>(-2.75f) == -2);
  CHECK(convert<std::uint8_t>(200) == 200);
  CHECK(convert<double>(1.5f) == 1.5);
  CHECK(convert<float>(half(0.5f)) == 0.5f);
  CHECK(convert<std::int64_t>(bfloat16(3.0f)) == 3);
  CHECK(static_cast<float>(convert<bfloat16>(half(0.25f))) == 0.25f);
  CHECK(static_cast<float>(convert<half>(7)) == 7.0f);
  CHECK(convert<bool>(0.5f));
  CHECK(convert<bool>(half(-0.5f)));
  CHECK(convert<bool>(256));
  CHECK_FALSE(convert<bool>(0.0));
  CHECK_FALSE(convert<bool>(bfloat16(0.0f)));
  CHECK(convert<float>(true) == 1.0f);
}

namespace {
/// Numbers on and beside the middle between two neighbours of a 16-bit type, which the nearest one must represent.
template <class T>
void check_rounded_once(const std::vector<std::uint16_t>& lower) {
  int wrong = 0;
  const auto value = [](std::uint16_t bits) { return static_cast<double>(static_cast<float>(std::bit_cast<T>(bits))); };
  for (const std::uint16_t bits : lower) {
    const auto next = static_cast<std::uint16_t>(bits + 1);
    const double low = value(bits), high = value(next), middle = low + (high - low) / 2;
    for (const double sign : {1., -1.}) {
      const auto check = [&](double x, std::uint16_t expected) {
        wrong += bits_of(convert<T>(sign * x)) != static_cast<std::uint16_t>(expected | (sign < 0 ? 0x8000u : 0u));
      };
      check(middle, bits % 2 == 0 ? bits : next);
      for (const double part : {0x1p-40, 0x1p-30, 0x1p-20, 0x1p-3, 0.5}) {
        check(middle + (high - low) * 0.5 * part, next);
        check(middle - (high - low) * 0.5 * part, bits);
      }
      check(low, bits);
    }
  }
  CHECK(wrong == 0);
}
}  // namespace

TEST_CASE("what is converted to 16 bits is rounded once") {
  CHECK(static_cast<float>(convert<bfloat16>(1.0039062500001)) == 1.0078125f);
  CHECK(static_cast<float>(convert<half>(1.00048828125001)) == 1.0009765625f);
  CHECK(static_cast<float>(convert<half>(65519.9999)) == 65504.f);
  CHECK(bits_of(convert<half>(65520.)) == 0x7c00);
  CHECK(bits_of(convert<half>(0x1p-25 * (1 + 0x1p-40))) == 1);
  CHECK(bits_of(convert<half>(-0x1p-1070)) == 0x8000);
  CHECK(bits_of(convert<bfloat16>(-0.)) == 0x8000);
  CHECK(bits_of(convert<bfloat16>(1e300)) == 0x7f80);
  CHECK(bits_of(convert<bfloat16>(-std::numeric_limits<double>::infinity())) == 0xff80);
  CHECK(std::isnan(static_cast<float>(convert<bfloat16>(std::nan("")))));
  CHECK(std::isnan(static_cast<float>(convert<half>(-std::nan("")))));
  check_rounded_once<half>({0, 1, 2, 0x3ff, 0x400, 0x401, 0x3c00, 0x3c01, 0x7bfe});
  check_rounded_once<bfloat16>({0x80, 0x81, 0x3f80, 0x3f81, 0x7f7e, 0x1234, 0x1235});
  // Integers: beside the middle between 2^k and the next bfloat16.
  for (const int k : {24, 30, 31, 40, 62}) {
    CAPTURE(k);
    const std::int64_t low = std::int64_t{1} << k, middle = low + (low >> 8);
    const float next = static_cast<float>(low + (low >> 7));
    CHECK(static_cast<float>(convert<bfloat16>(middle)) == static_cast<float>(low));
    CHECK(static_cast<float>(convert<bfloat16>(middle + 1)) == next);
    CHECK(static_cast<float>(convert<bfloat16>(-middle - 1)) == -next);
    CHECK(static_cast<float>(convert<bfloat16>(middle - 1)) == static_cast<float>(low));
    if (k < 31) CHECK(static_cast<float>(convert<bfloat16>(static_cast<std::int32_t>(middle + 1))) == next);
    if (k < 32) CHECK(static_cast<float>(convert<bfloat16>(static_cast<std::uint32_t>(middle + 1))) == next);
  }
  CHECK(static_cast<float>(convert<bfloat16>(std::numeric_limits<std::uint64_t>::max())) == 0x1p64f);
  CHECK(static_cast<float>(convert<bfloat16>(std::numeric_limits<std::int64_t>::min())) == -0x1p63f);
}

TEST_CASE("types are named as in NumPy and computed in registers wide enough") {
  CHECK(dtype_name<float>() == "float32");
  CHECK(dtype_name<double>() == "float64");
  CHECK(dtype_name<std::int32_t>() == "int32");
  CHECK(dtype_name<std::int64_t>() == "int64");
  CHECK(dtype_name<std::uint8_t>() == "uint8");
  CHECK(dtype_name<bool>() == "bool");
  CHECK(dtype_name<half>() == "float16");
  CHECK(dtype_name<bfloat16>() == "bfloat16");
  const auto check = []<class T>(T, std::string_view name) {
    CHECK(dtype_name<T>() == name);
    CHECK(dtype_name(element_type<T>) == name);
    CHECK(size_of(element_type<T>) == sizeof(T));
    static_assert(IntegerDType<T> && std::is_same_v<locus::compute_t<T>, T>);
  };
  check(std::int8_t{}, "int8");
  check(std::int16_t{}, "int16");
  check(std::uint16_t{}, "uint16");
  check(std::uint32_t{}, "uint32");
  check(std::uint64_t{}, "uint64");
  static_assert(std::is_same_v<locus::compute_t<half>, float> && std::is_same_v<locus::compute_t<bfloat16>, float>);
  static_assert(std::is_same_v<locus::compute_t<double>, double> && std::is_same_v<locus::compute_t<bool>, bool>);
  static_assert(!DType<long double> && !DType<char> && !DType<wchar_t> && !DType<const float>);
  static_assert(agree_on_arithmetic<bool, char, wchar_t, char8_t, signed char, short, unsigned, long, long long, float,
                                    double, long double, const int, void, void*, std::nullptr_t, int half::*,
                                    int (half::*)(), int[2], int(), Letter, Digit, half, bfloat16, Either>);
  static_assert(FloatingDType<half> && !FloatingDType<bool> && IntegerDType<std::uint8_t> && !IntegerDType<bool>);
}
