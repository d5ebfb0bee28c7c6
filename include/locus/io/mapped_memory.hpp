#pragma once
// Tensors of bytes on parts of a mapped file, for readers of files of weights.

#include <locus/data/files/mapped_file.hpp>
#include <locus/tensor/copy.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace io::detail {

/// The memory of a file of at least one byte; the mapping ends with its last tensor.
[[nodiscard]] inline Buffer<Cpu> memory_of(MappedFile* file) {
  return Buffer<Cpu>(Cpu{}, file->data(), file->bytes(), Shared<const MemoryOwner>(file));
}

/// A tensor on part of a file's memory, with its own version counter.
[[nodiscard]] inline Tensor<std::uint8_t, Cpu> bytes_in(const Buffer<Cpu>& memory, std::uint64_t begin,
                                                        std::uint64_t bytes) {
  auto* const data = static_cast<std::uint8_t*>(memory.data()) + begin;
  const Shape shape{static_cast<std::int64_t>(bytes)};
  return {memory.part(data, bytes), data, shape, row_major(shape)};
}

}}}  // namespace locus::LOCUS_ABI::io::detail
