#pragma once
// Memory-mapped files.

#include <locus/core/system/input_file.hpp>

#include <sys/mman.h>

namespace locus { inline namespace LOCUS_ABI { namespace io::detail {

/// A file mapped copy on write: writes to the memory do not change the file.
class FileMapping {
 public:
  /// throws DataError, also for an empty file, which cannot be mapped; OutOfMemory
  explicit FileMapping(InputFile file) : file_(std::move(file)) {
    if (file_.bytes() == 0) fail<DataError>({"cannot map '", file_.path(), "': it is empty"});
    memory_ = mmap(nullptr, file_.bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE, file_.descriptor().number(), 0);
    if (memory_ != MAP_FAILED) return;
    if (errno == ENOMEM) fail<OutOfMemory>({"cannot map '", file_.path(), "' of ", file_.bytes(), " bytes"});
    fail<DataError>(
        {"cannot map '", file_.path(), "': ", std::strerror(errno), "; copy it to a file system that maps files"});
  }
  FileMapping(FileMapping&& other) noexcept : file_(std::move(other.file_)), memory_(other.memory_) {
    other.memory_ = MAP_FAILED;
  }
  FileMapping& operator=(FileMapping&&) = delete;
  ~FileMapping() {
    if (memory_ != MAP_FAILED) (void)munmap(memory_, file_.bytes());
  }

  [[nodiscard]] InputFile& file() { return file_; }
  [[nodiscard]] const InputFile& file() const { return file_; }
  [[nodiscard]] std::uint64_t bytes() const { return file_.bytes(); }
  [[nodiscard]] unsigned char* data() const { return static_cast<unsigned char*>(memory_); }
  /// throws DataError if the file became shorter: reading missing pages would end the program
  void require_whole() const {
    if (const std::uint64_t now = file_.bytes_now(); now < file_.bytes())
      fail<DataError>({"'", file_.path(), "' was truncated to ", now, " bytes while it was mapped; it had ",
                       file_.bytes(), ": write files anew and rename them, as io::save does"});
  }

 private:
  InputFile file_;
  void* memory_;
};

}}}  // namespace locus::LOCUS_ABI::io::detail
