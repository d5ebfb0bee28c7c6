#pragma once
// Element types of GGUF files, and blocks of quantized numbers.

#include <locus/core/element_type.hpp>

#include <cstring>
#include <string_view>

namespace locus { inline namespace LOCUS_ABI { namespace io::detail {

/// How elements of a GGUF file become elements of Locus: they are, they are computed, or they cannot be read.
enum class GgufReading : unsigned char { plain, q8_0, q4_0, none };

/// A type of the format: its number, its name, and the elements and bytes of a block, as in ggml, whose Q8_1 has 36
/// bytes; Python's gguf says 40.
struct GgufType {
  std::uint32_t number;
  std::string_view name;
  std::uint64_t block, bytes;
  GgufReading reading;
  ElementType type;  ///< of the tensor that is read
};
inline constexpr GgufType gguf_types[] = {{0, "F32", 1, 4, GgufReading::plain, ElementType::float32},
                                          {1, "F16", 1, 2, GgufReading::plain, ElementType::float16},
                                          {2, "Q4_0", 32, 18, GgufReading::q4_0, ElementType::float32},
                                          {3, "Q4_1", 32, 20, GgufReading::none, {}},
                                          {6, "Q5_0", 32, 22, GgufReading::none, {}},
                                          {7, "Q5_1", 32, 24, GgufReading::none, {}},
                                          {8, "Q8_0", 32, 34, GgufReading::q8_0, ElementType::float32},
                                          {9, "Q8_1", 32, 36, GgufReading::none, {}},
                                          {10, "Q2_K", 256, 84, GgufReading::none, {}},
                                          {11, "Q3_K", 256, 110, GgufReading::none, {}},
                                          {12, "Q4_K", 256, 144, GgufReading::none, {}},
                                          {13, "Q5_K", 256, 176, GgufReading::none, {}},
                                          {14, "Q6_K", 256, 210, GgufReading::none, {}},
                                          {15, "Q8_K", 256, 292, GgufReading::none, {}},
                                          {16, "IQ2_XXS", 256, 66, GgufReading::none, {}},
                                          {17, "IQ2_XS", 256, 74, GgufReading::none, {}},
                                          {18, "IQ3_XXS", 256, 98, GgufReading::none, {}},
                                          {19, "IQ1_S", 256, 50, GgufReading::none, {}},
                                          {20, "IQ4_NL", 32, 18, GgufReading::none, {}},
                                          {21, "IQ3_S", 256, 110, GgufReading::none, {}},
                                          {22, "IQ2_S", 256, 82, GgufReading::none, {}},
                                          {23, "IQ4_XS", 256, 136, GgufReading::none, {}},
                                          {24, "I8", 1, 1, GgufReading::plain, ElementType::int8},
                                          {25, "I16", 1, 2, GgufReading::plain, ElementType::int16},
                                          {26, "I32", 1, 4, GgufReading::plain, ElementType::int32},
                                          {27, "I64", 1, 8, GgufReading::plain, ElementType::int64},
                                          {28, "F64", 1, 8, GgufReading::plain, ElementType::float64},
                                          {29, "IQ1_M", 256, 56, GgufReading::none, {}},
                                          {30, "BF16", 1, 2, GgufReading::plain, ElementType::bfloat16},
                                          {34, "TQ1_0", 256, 54, GgufReading::none, {}},
                                          {35, "TQ2_0", 256, 66, GgufReading::none, {}},
                                          {39, "MXFP4", 32, 17, GgufReading::none, {}},
                                          {40, "NVFP4", 64, 36, GgufReading::none, {}},
                                          {41, "Q1_0", 128, 18, GgufReading::none, {}}};

[[nodiscard]] constexpr const GgufType* gguf_type(std::uint32_t number) {
  for (const GgufType& type : gguf_types)
    if (type.number == number) return &type;
  return nullptr;
}

/// The elements of blocks of 32, each behind its scale in binary16: 32 signed bytes, or 32 numbers of 4 bits less 8,
/// the first 16 in the low halves of the bytes. `blocks` need not be aligned.
inline void dequantize(GgufReading reading, const unsigned char* blocks, std::int64_t count, float* out) {
  constexpr int block = 32;
  const bool is_q8 = reading == GgufReading::q8_0;
  for (std::int64_t i = 0; i < count; i += block, blocks += is_q8 ? 34 : 18, out += block) {
    half scale_bits;
    std::memcpy(&scale_bits, blocks, sizeof scale_bits);
    const auto scale = static_cast<float>(scale_bits);
    const unsigned char* const numbers = blocks + sizeof scale_bits;
    for (int j = 0; j < block; ++j) {
      const int number = is_q8           ? static_cast<signed char>(numbers[j])
                         : j < block / 2 ? (numbers[j] & 15) - 8
                                         : (numbers[j - block / 2] >> 4) - 8;
      out[j] = static_cast<float>(number) * scale;
    }
  }
}

}}}  // namespace locus::LOCUS_ABI::io::detail
