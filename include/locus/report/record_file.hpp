#pragma once
// A file that grows by whole records while others read it: events of TensorBoard, lines of JSON.

#include <locus/core/std/posix.hpp>
#include <locus/core/system/file.hpp>

#include <cstdio>

namespace locus { inline namespace LOCUS_ABI { namespace io::detail {

/// Adds each record by one write, so that a concurrent reader sees whole records, and a killed process leaves whole
/// records. Several threads may add.
class RecordFile {
 public:
  enum class Start { empty, append };
  /// `records`: name of the records in messages. throws DataError if the file cannot be opened
  RecordFile(const std::string& path, const char* records, Start start)
      : path_(path),
        records_(records),
        file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | (start == Start::empty ? O_TRUNC : O_APPEND), 0666)) {
    struct stat info {};
    if (!file_ || fstat(file_.number(), &info) != 0) fail_to_write(path, errno);
    if (S_ISREG(info.st_mode)) whole_ = info.st_size;
  }

  /// Adds the first record. throws DataError if it cannot be written
  void begin(std::string_view record) {
    const Lock lock(mutex_);
    if (const int error = write(record)) fail_to_write(path_, error);
  }
  /// Adds a record. One that cannot be written is lost; the first loss is reported on stderr.
  LOCUS_OUT_OF_LINE void add(std::string_view record) {
    const Lock lock(mutex_);
    const int error = is_broken_ ? 0 : write(record);
    if (error == 0 || has_warned_) return;
    has_warned_ = true;
    std::fprintf(stderr, "locus: cannot write %s to '%s': %s; training goes on, %s are lost\n", records_, path_.c_str(),
                 std::strerror(error), records_);
  }
  [[nodiscard]] const std::string& path() const { return path_; }
  /// The last byte of the file; 0 for an empty one, or one that cannot be read.
  [[nodiscard]] char last() const {
    char byte = 0;
    return whole_ > 0 && pread(file_.number(), &byte, 1, whole_ - 1) == 1 ? byte : '\0';
  }

 private:
  /// Returns 0 or an errno. Cuts off a partly written record, which would hide all later records.
  [[nodiscard]] int write(std::string_view record) {
    const int error = write_parts(file_, Span<const std::string_view>(&record, 1));
    if (error == 0) {
      whole_ += static_cast<off_t>(record.size());
      return 0;
    }
    struct stat info {};
    if (fstat(file_.number(), &info) == 0 && S_ISREG(info.st_mode))
      is_broken_ = ftruncate(file_.number(), whole_) != 0 || lseek(file_.number(), whole_, SEEK_SET) != whole_;
    return error;
  }

  std::string path_;
  const char* records_;
  Descriptor file_;
  off_t whole_ = 0;         ///< bytes of whole records
  bool is_broken_ = false;  ///< the file ends within a record
  bool has_warned_ = false;
  Mutex mutex_;
};

}}}  // namespace locus::LOCUS_ABI::io::detail
