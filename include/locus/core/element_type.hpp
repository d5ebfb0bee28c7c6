#pragma once
// Element types as values, where the type is known only at run time, as from a file.

#include <locus/core/dtype.hpp>

#include <cstddef>

namespace locus { inline namespace LOCUS_ABI {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"  // g++ behind nvcc takes an enumerator for one of the scope around it
enum class ElementType : std::uint8_t {
  float32,
  float64,
  int32,
  int64,
  uint8,
  boolean,
  float16,
  bfloat16,
  int8,
  int16,
  uint16,
  uint32,
  uint64,
  complex64,
  complex128
};
#pragma GCC diagnostic pop

namespace detail {
/// Duals have no enumerator: their code is that of the number, plus 64 for each tangent.
inline constexpr unsigned code_of_dual = 64;

template <DType T>
[[nodiscard]] consteval ElementType element_type_of() {
  if constexpr (is_dual<T>)
    return static_cast<ElementType>(code_of_dual * dual_depth<T> +
                                    static_cast<unsigned>(element_type_of<primal_t<T>>()));
  if (std::is_same_v<T, float>) return ElementType::float32;
  if (std::is_same_v<T, double>) return ElementType::float64;
  if (std::is_same_v<T, std::int32_t>) return ElementType::int32;
  if (std::is_same_v<T, std::int64_t>) return ElementType::int64;
  if (std::is_same_v<T, std::uint8_t>) return ElementType::uint8;
  if (std::is_same_v<T, bool>) return ElementType::boolean;
  if (std::is_same_v<T, half>) return ElementType::float16;
  if (std::is_same_v<T, bfloat16>) return ElementType::bfloat16;
  if (std::is_same_v<T, std::int8_t>) return ElementType::int8;
  if (std::is_same_v<T, std::int16_t>) return ElementType::int16;
  if (std::is_same_v<T, std::uint16_t>) return ElementType::uint16;
  if (std::is_same_v<T, std::uint32_t>) return ElementType::uint32;
  if (std::is_same_v<T, std::uint64_t>) return ElementType::uint64;
  if (std::is_same_v<T, complex64>) return ElementType::complex64;
  if (std::is_same_v<T, complex128>) return ElementType::complex128;
}
}  // namespace detail
template <DType T>
inline constexpr ElementType element_type = detail::element_type_of<T>();

/// In bytes.
[[nodiscard]] constexpr std::size_t size_of(ElementType type) {
  const auto code = static_cast<unsigned>(type);
  if (code >= detail::code_of_dual)
    return size_of(static_cast<ElementType>(code % detail::code_of_dual)) << code / detail::code_of_dual;
  switch (type) {
    case ElementType::complex128: return 16;
    case ElementType::complex64:
    case ElementType::float64:
    case ElementType::int64:
    case ElementType::uint64: return 8;
    case ElementType::float32:
    case ElementType::int32:
    case ElementType::uint32: return 4;
    case ElementType::float16:
    case ElementType::bfloat16:
    case ElementType::int16:
    case ElementType::uint16: return 2;
    case ElementType::uint8:
    case ElementType::int8:
    case ElementType::boolean: return 1;
  }
  return 0;
}

[[nodiscard]] constexpr bool is_complex_type(ElementType type) {
  return type == ElementType::complex64 || type == ElementType::complex128;
}

[[nodiscard]] constexpr bool is_floating(ElementType type) {
  return type == ElementType::float32 || type == ElementType::float64 || type == ElementType::float16 ||
         type == ElementType::bfloat16;
}

/// NumPy's name of the type.
[[nodiscard]] constexpr std::string_view dtype_name(ElementType type) {
  switch (type) {
    case ElementType::float32: return dtype_name<float>();
    case ElementType::float64: return dtype_name<double>();
    case ElementType::int32: return dtype_name<std::int32_t>();
    case ElementType::int64: return dtype_name<std::int64_t>();
    case ElementType::uint8: return dtype_name<std::uint8_t>();
    case ElementType::boolean: return dtype_name<bool>();
    case ElementType::float16: return dtype_name<half>();
    case ElementType::bfloat16: return dtype_name<bfloat16>();
    case ElementType::int8: return dtype_name<std::int8_t>();
    case ElementType::int16: return dtype_name<std::int16_t>();
    case ElementType::uint16: return dtype_name<std::uint16_t>();
    case ElementType::uint32: return dtype_name<std::uint32_t>();
    case ElementType::uint64: return dtype_name<std::uint64_t>();
    case ElementType::complex64: return dtype_name<complex64>();
    case ElementType::complex128: return dtype_name<complex128>();
  }
  return static_cast<unsigned>(type) >= detail::code_of_dual ? "dual" : "unknown";
}

}}  // namespace locus::LOCUS_ABI
