#pragma once
// The element types: float, double, int32, int64, uint8, bool, and the 16-bit storage types half and bfloat16.

#include <locus/core/config.hpp>

#include <bit>
#include <cstdint>
#include <string_view>
#include <type_traits>

#if LOCUS_CUDA
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace locus::inline LOCUS_ABI {

#if LOCUS_CUDA
using half = __half;
using bfloat16 = __nv_bfloat16;
#else
namespace detail {
/// Rounds to nearest even. IEEE binary16 from binary32, subnormals and NaN included.
[[nodiscard]] constexpr std::uint16_t half_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // rounds past 65504
  const int exponent = static_cast<int>(magnitude >> 23) - 127;
  if (exponent < -25) return sign;
  std::uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
  const int shift = exponent < -14 ? 13 + (-14 - exponent) : 13;
  const std::uint32_t base = exponent < -14 ? 0u : static_cast<std::uint32_t>(exponent + 14) << 10;
  const std::uint32_t kept = mantissa >> shift;
  const std::uint32_t rest = mantissa & ((1u << shift) - 1u);
  const std::uint32_t tie = 1u << (shift - 1);
  const std::uint32_t rounded = kept + ((rest > tie || (rest == tie && (kept & 1u))) ? 1u : 0u);
  return static_cast<std::uint16_t>(sign | (base + rounded));
}
[[nodiscard]] constexpr float half_value(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fu;
  const std::uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return sign ? -magnitude : magnitude;
}
}  // namespace detail

/// IEEE binary16, for storage: arithmetic happens in float.
struct half {
  std::uint16_t bits = 0;
  constexpr half() = default;
  explicit constexpr half(float value) : bits(detail::half_bits(value)) {}
  explicit constexpr operator float() const { return detail::half_value(bits); }
};

/// The upper 16 bits of a float, rounded to nearest even, for storage: arithmetic happens in float.
struct bfloat16 {
  std::uint16_t bits = 0;
  constexpr bfloat16() = default;
  explicit constexpr bfloat16(float value) {
    const auto full = std::bit_cast<std::uint32_t>(value);
    const bool is_nan = (full & 0x7fffffffu) > 0x7f800000u;
    const std::uint32_t rounded = full + 0x7fffu + ((full >> 16) & 1u);
    bits = static_cast<std::uint16_t>(is_nan ? (full >> 16) | 0x40u : rounded >> 16);
  }
  explicit constexpr operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};
#endif

template <class T>
inline constexpr bool is_16_bit_float = std::is_same_v<T, half> || std::is_same_v<T, bfloat16>;

/// A type that a tensor can hold.
template <class T>
concept DType =
    std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, std::int32_t> ||
    std::is_same_v<T, std::int64_t> || std::is_same_v<T, std::uint8_t> || std::is_same_v<T, bool> || is_16_bit_float<T>;

template <class T>
concept FloatingDType = DType<T> && (std::is_floating_point_v<T> || is_16_bit_float<T>);

template <class T>
concept IntegerDType = DType<T> && std::is_integral_v<T> && !std::is_same_v<T, bool>;

namespace detail {
template <class T>
struct ComputeType {
  using type = T;
};
template <class T>
  requires is_16_bit_float<T>
struct ComputeType<T> {
  using type = float;
};
}  // namespace detail

/// The type in which values of T are computed: float for half and bfloat16, T itself otherwise.
template <class T>
using compute_t = typename detail::ComputeType<T>::type;

/// From storage to register.
template <class T>
[[nodiscard]] LOCUS_FN compute_t<T> load_as_register(const T& value) {
  return static_cast<compute_t<T>>(value);
}

/// From register to storage.
template <class T>
[[nodiscard]] LOCUS_FN T from_register(const compute_t<T>& value) {
  return static_cast<T>(value);
}

/// Conversion between element types as in C++, through float for the 16-bit types; to bool, "is not zero".
template <class To, class From>
[[nodiscard]] LOCUS_FN To convert(const From& value) {
  if constexpr (std::is_same_v<To, From>) return value;
  else if constexpr (std::is_same_v<To, bool>) return static_cast<compute_t<From>>(value) != compute_t<From>(0);
  else return static_cast<To>(static_cast<compute_t<To>>(static_cast<compute_t<From>>(value)));
}

/// NumPy's name of the type.
template <DType T>
[[nodiscard]] constexpr std::string_view dtype_name() {
  if constexpr (std::is_same_v<T, float>) return "float32";
  else if constexpr (std::is_same_v<T, double>) return "float64";
  else if constexpr (std::is_same_v<T, std::int32_t>) return "int32";
  else if constexpr (std::is_same_v<T, std::int64_t>) return "int64";
  else if constexpr (std::is_same_v<T, std::uint8_t>) return "uint8";
  else if constexpr (std::is_same_v<T, bool>) return "bool";
  else if constexpr (std::is_same_v<T, half>) return "float16";
  else return "bfloat16";
}

}  // namespace locus::inline LOCUS_ABI
