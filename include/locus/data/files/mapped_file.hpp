#pragma once
// Memory-mapped files as memory of tensors.

#include <locus/core/system/file_mapping.hpp>
#include <locus/device/buffer.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace io::detail {

/// A file mapped copy on write: writes to the memory do not change the file.
class MappedFile final : public MemoryOwner {
 public:
  /// throws DataError, also for an empty file; OutOfMemory
  explicit MappedFile(InputFile file) : mapping_(std::move(file)) {}

  [[nodiscard]] InputFile& file() { return mapping_.file(); }
  [[nodiscard]] std::uint64_t bytes() const { return mapping_.bytes(); }
  [[nodiscard]] unsigned char* data() const { return mapping_.data(); }
  /// throws DataError if the file became shorter
  void require_readable() const override { mapping_.require_whole(); }

 private:
  FileMapping mapping_;
};

}}}  // namespace locus::LOCUS_ABI::io::detail
