#pragma once
// The element types: float, double, integers of 8 to 64 bits with and without a sign, bool, the 16-bit storage types
// half and bfloat16, complex numbers, and numbers with a tangent.

#include <locus/core/complex.hpp>
#include <locus/core/config.hpp>

#include <cstdint>
#include <string_view>
#include <type_traits>

#if LOCUS_CUDA
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace locus { inline namespace LOCUS_ABI {

#if LOCUS_CUDA
using half = __half;
using bfloat16 = __nv_bfloat16;
#else
namespace detail {
/// Rounds to nearest even. IEEE binary16 from binary32, subnormals and NaN included; branch-free, so that loops
/// vectorize. Adding 0.5 rounds magnitudes below the smallest normal number: the last bit of 0.5f, 2^-24, is also the
/// last bit of binary16's subnormals.
[[nodiscard]] LOCUS_FN constexpr std::uint16_t half_bits(float value) {
  const auto bits = __builtin_bit_cast(std::uint32_t, value);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const std::uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  const std::uint32_t subnormal =
      __builtin_bit_cast(std::uint32_t, __builtin_bit_cast(float, magnitude) + 0.5f) - 0x3f000000u;
  const std::uint32_t special = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
  const std::uint32_t finite = magnitude < 0x38800000u ? subnormal : normal;
  const std::uint32_t rounded = magnitude < 0x47800000u ? finite : special;
  return static_cast<std::uint16_t>(((bits >> 16) & 0x8000u) | rounded);
}
[[nodiscard]] LOCUS_FN constexpr float half_value(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t magnitude = bits & 0x7fffu;
  const std::uint32_t normal = (magnitude << 13) + 0x38000000u;
  const auto subnormal =
      __builtin_bit_cast(std::uint32_t, static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24f);
  const std::uint32_t finite = magnitude < 0x400u ? subnormal : normal;
  return __builtin_bit_cast(float, sign | (magnitude < 0x7c00u ? finite : normal + 0x38000000u));
}
}  // namespace detail

/// IEEE binary16, for storage: arithmetic happens in float.
struct half {
  std::uint16_t bits = 0;
  constexpr half() = default;
  LOCUS_FN explicit constexpr half(float value) : bits(detail::half_bits(value)) {}
  LOCUS_FN explicit constexpr operator float() const { return detail::half_value(bits); }
};

/// The upper 16 bits of a float, rounded to nearest even, for storage: arithmetic happens in float.
struct bfloat16 {
  std::uint16_t bits = 0;
  constexpr bfloat16() = default;
  LOCUS_FN explicit constexpr bfloat16(float value) {
    const auto full = __builtin_bit_cast(std::uint32_t, value);
    const bool is_nan = (full & 0x7fffffffu) > 0x7f800000u;
    const std::uint32_t rounded = full + 0x7fffu + ((full >> 16) & 1u);
    bits = static_cast<std::uint16_t>(is_nan ? (full >> 16) | 0x40u : rounded >> 16);
  }
  LOCUS_FN explicit constexpr operator float() const {
    return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16);
  }
};
#endif

/// A built-in arithmetic type. (With g++ 12, std::is_arithmetic makes ten classes for each T, and every operand is
/// tested.)
template <class T>
concept Arithmetic = !__is_class(T) && !__is_union(T) && !__is_enum(T) && requires(T x) { -x; };

template <class T>
inline constexpr bool is_16_bit_float = std::is_same_v<T, half> || std::is_same_v<T, bfloat16>;

/// A number with its derivative along one direction; see core/dual.hpp.
template <class R>
struct Dual;

template <class T>
inline constexpr bool is_dual = false;
template <class R>
inline constexpr bool is_dual<Dual<R>> = true;

/// A type that a tensor can hold. int8, int16, uint16, uint32 and uint64 are there to read files that hold them and to
/// convert: their arithmetic wraps around, too, but is not tuned.
template <class T>
concept DType = std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, std::int32_t> ||
                std::is_same_v<T, std::int64_t> || std::is_same_v<T, std::uint8_t> || std::is_same_v<T, bool> ||
                is_16_bit_float<T> || std::is_same_v<T, std::int8_t> || std::is_same_v<T, std::int16_t> ||
                std::is_same_v<T, std::uint16_t> || std::is_same_v<T, std::uint32_t> ||
                std::is_same_v<T, std::uint64_t> || is_complex<T> || is_dual<T>;

template <class T>
concept FloatingDType = DType<T> && (std::is_floating_point_v<T> || is_16_bit_float<T> || is_dual<T>);

template <class T>
concept ComplexDType = DType<T> && is_complex<T>;

/// A type of numbers that have gradients.
template <class T>
concept DifferentiableDType = FloatingDType<T> || ComplexDType<T>;

/// A type to which elements of T are converted: complex numbers do not become real ones, but for bool, "is not zero".
template <class U, class T>
concept ConvertibleFrom = DType<U> && (!is_complex<T> || is_complex<U> || std::is_same_v<U, bool>);

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

namespace detail {
/// x as a double that rounds to 16 bits like x. A sticky bit replaces the lowest 16 of 64 bits.
template <class I>
[[nodiscard]] LOCUS_FN constexpr double double_of(I x) {
  if constexpr (sizeof(I) < 8 || !std::is_integral_v<I>) {
    return static_cast<double>(x);
  } else {
    bool is_negative = false;
    if constexpr (std::is_signed_v<I>) is_negative = x < 0;
    const auto bits = static_cast<std::uint64_t>(x);
    std::uint64_t magnitude = is_negative ? std::uint64_t{0} - bits : bits;
    if (magnitude >> 40 != 0) magnitude = (magnitude >> 16 | ((magnitude & 0xffffu) != 0 ? 1u : 0u)) << 16;
    const auto result = static_cast<double>(magnitude);
    return is_negative ? -result : result;
  }
}
/// x as a float, rounded to odd: if x is no float, the neighbour whose last bit is 1. Rounding the result to 16 bits
/// gives the number nearest to x (Boldo and Melquiond, 2008); rounding the nearest float instead may not.
[[nodiscard]] LOCUS_FN constexpr float rounded_to_odd(double x) {
  const auto near = static_cast<float>(x);
  const double found = static_cast<double>(near);
  const auto bits = __builtin_bit_cast(std::uint32_t, near);
  const bool is_farther = x < 0 ? found < x : found > x;
  return __builtin_bit_cast(float, found == x ? bits : (bits - (is_farther ? 1u : 0u)) | 1u);
}
}  // namespace detail

/// A number of another type in a register: from_register<To> rounds it to the nearest element.
template <class To, class From>
[[nodiscard]] LOCUS_FN compute_t<To> register_of(const From& number) {
  static_assert(!is_16_bit_float<From>, "a number in a register");
  if constexpr (is_16_bit_float<To> && sizeof(From) >= 4 && !std::is_same_v<From, float>)
    return detail::rounded_to_odd(detail::double_of(number));
  else return static_cast<compute_t<To>>(number);
}

/// Conversion between element types as in C++, through float for the 16-bit types; to bool, "is not zero". Rounds once.
/// Complex numbers become complex numbers or bool alone.
template <class To, class From>
[[nodiscard]] LOCUS_FN To convert(const From& value) {
  if constexpr (std::is_same_v<To, From>) return value;
  else if constexpr (std::is_same_v<To, bool>) return static_cast<compute_t<From>>(value) != compute_t<From>(0);
  else return static_cast<To>(register_of<To>(static_cast<compute_t<From>>(value)));
}

namespace detail {
/// The element type without its tangents.
template <class T>
struct PrimalType {
  using type = T;
};
template <class R>
struct PrimalType<Dual<R>> : PrimalType<R> {};
}  // namespace detail
/// float for Dual<float> and for Dual<Dual<float>>; T itself for other types.
template <class T>
using primal_t = typename detail::PrimalType<T>::type;

namespace detail {
/// The type in which functors of T hold options, which have no tangents.
template <class T>
using option_t = primal_t<compute_t<T>>;

template <class R>
struct WideType {
  using type = double;
};
template <class R>
struct WideType<Dual<R>> {
  using type = Dual<typename WideType<R>::type>;
};
/// The type in which hosts add floating-point numbers, or duals, of R: double, Dual<double>.
template <class R>
using wide_t = typename WideType<R>::type;

/// Whether elements of From become elements of To by adding tangents of 0: float lifts to Dual<float>, and both to
/// Dual<Dual<float>>.
template <class From, class To>
inline constexpr bool lifts_to = false;
template <class From, class R>
inline constexpr bool lifts_to<From, Dual<R>> = std::is_same_v<From, R> || lifts_to<From, R>;

/// 0 for numbers, 1 for Dual<float>, 2 for Dual<Dual<float>>.
template <class T>
inline constexpr int dual_depth = 0;
template <class R>
inline constexpr int dual_depth<Dual<R>> = 1 + dual_depth<R>;
}  // namespace detail

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
  else if constexpr (std::is_same_v<T, bfloat16>) return "bfloat16";
  else if constexpr (std::is_same_v<T, std::int8_t>) return "int8";
  else if constexpr (std::is_same_v<T, std::int16_t>) return "int16";
  else if constexpr (std::is_same_v<T, std::uint16_t>) return "uint16";
  else if constexpr (std::is_same_v<T, std::uint32_t>) return "uint32";
  else if constexpr (std::is_same_v<T, std::uint64_t>) return "uint64";
  else if constexpr (std::is_same_v<T, complex64>) return "complex64";
  else if constexpr (std::is_same_v<T, complex128>) return "complex128";
  else return T::dtype_name;
}

}}  // namespace locus::LOCUS_ABI
