#pragma once
// Element types of PyTorch by name.

#include <locus/core/element_type.hpp>

#include <string_view>

namespace locus { inline namespace LOCUS_ABI { namespace io::detail {

/// An element type of PyTorch. `storage`: the class of its memory in files, "torch.FloatStorage"; empty if files name
/// untyped memory and the type.
struct TorchType {
  std::string_view name, storage;
  std::uint64_t bytes;
  bool is_known;  ///< whether Locus has it
  ElementType type;
};
inline constexpr TorchType torch_types[] = {
    {"torch.float32", "torch.FloatStorage", 4, true, ElementType::float32},
    {"torch.float64", "torch.DoubleStorage", 8, true, ElementType::float64},
    {"torch.float16", "torch.HalfStorage", 2, true, ElementType::float16},
    {"torch.bfloat16", "torch.BFloat16Storage", 2, true, ElementType::bfloat16},
    {"torch.int64", "torch.LongStorage", 8, true, ElementType::int64},
    {"torch.int32", "torch.IntStorage", 4, true, ElementType::int32},
    {"torch.int16", "torch.ShortStorage", 2, true, ElementType::int16},
    {"torch.int8", "torch.CharStorage", 1, true, ElementType::int8},
    {"torch.uint8", "torch.ByteStorage", 1, true, ElementType::uint8},
    {"torch.bool", "torch.BoolStorage", 1, true, ElementType::boolean},
    {"torch.uint16", "", 2, true, ElementType::uint16},
    {"torch.uint32", "", 4, true, ElementType::uint32},
    {"torch.uint64", "", 8, true, ElementType::uint64},
    {"torch.complex32", "torch.ComplexHalfStorage", 4, false, {}},
    {"torch.complex64", "torch.ComplexFloatStorage", 8, true, ElementType::complex64},
    {"torch.complex128", "torch.ComplexDoubleStorage", 16, true, ElementType::complex128},
    {"torch.float8_e4m3fn", "", 1, false, {}},
    {"torch.float8_e5m2", "", 1, false, {}},
    {"torch.float8_e4m3fnuz", "", 1, false, {}},
    {"torch.float8_e5m2fnuz", "", 1, false, {}},
    {"torch.float8_e8m0fnu", "", 1, false, {}}};

/// The type of a name or of a class of storages; null if there is none.
[[nodiscard]] constexpr const TorchType* torch_type(std::string_view name) {
  for (const TorchType& type : torch_types)
    if (type.name == name || (!type.storage.empty() && type.storage == name)) return &type;
  return nullptr;
}

}}}  // namespace locus::LOCUS_ABI::io::detail
