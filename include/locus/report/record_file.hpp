#pragma once
// A file that grows by whole records while others read it: events of TensorBoard, lines of JSON.

#include <locus/core/std/posix.hpp>
#include <locus/core/system/file.hpp>

#include <cstdio>

namespace locus { inline namespace LOCUS_ABI { namespace io::detail {

/// Seconds since 1970.
[[nodiscard]] inline double wall_time() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Keeps other RecordFiles of a file, in this process and others, from writing. Where the file system has no locks,
/// keeps nobody. The lock belongs to an open() of the file: a process must not use its parent's descriptor.
class FileLock {
 public:
  explicit FileLock(const Descriptor& file) : file_(file) {
    while (flock(file_.number(), LOCK_EX) != 0 && errno == EINTR) {}
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock() { (void)flock(file_.number(), LOCK_UN); }

 private:
  const Descriptor& file_;
};

/// Appends each record by one write, so that a concurrent reader sees whole records, and a killed process leaves whole
/// records. Several threads, objects and processes may add to a file, children of fork() to their parent's.
class RecordFile {
 public:
  /// `records`: name of the records in messages. throws DataError if the file cannot be opened
  RecordFile(const std::string& path, const char* records)
      : path_(path), records_(records), file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_APPEND, 0666)) {
    if (!file_) fail_to_write(path, errno);
  }

  /// Adds the first record. throws DataError if it cannot be written
  void begin(std::string_view record) {
    const Lock lock(mutex_);
    if (const int error = write(record, false)) fail_to_write(path_, error);
  }
  /// Adds the first line, after ending a line that another writer left unfinished. throws as begin()
  void begin_line(std::string_view line) {
    const Lock lock(mutex_);
    if (const int error = write(line, true)) fail_to_write(path_, error);
  }
  /// Adds a record. One that cannot be written is lost; the first loss is reported on stderr.
  LOCUS_OUT_OF_LINE void add(std::string_view record) {
    const Lock lock(mutex_);
    const int error = is_broken_ ? 0 : write(record, false);
    if (error == 0 || has_warned_) return;
    has_warned_ = true;
    std::fprintf(stderr, "locus: cannot write %s to '%s': %s; training goes on, %s are lost\n", records_, path_.c_str(),
                 std::strerror(error), records_);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  /// Returns 0 or an errno. Cuts off a partly written record, which would hide all later records: the file keeps the
  /// bytes that it had just before.
  [[nodiscard]] int write(std::string_view record, bool in_new_line) {
    if (forks_ != locus::detail::fork_count())
      if (const int error = reopen()) return error;
    const FileLock others(file_);
    struct stat before {};
    if (fstat(file_.number(), &before) != 0) return errno;
    const std::string_view parts[] = {in_new_line && is_within_line(before.st_size) ? "\n" : "", record};
    const int error = write_parts(file_, parts);
    if (error != 0 && S_ISREG(before.st_mode)) is_broken_ = ftruncate(file_.number(), before.st_size) != 0;
    return error;
  }
  /// Opens the same file for this process, even if it was renamed; without /proc, the one of the path. Returns 0 or an
  /// errno.
  [[nodiscard]] int reopen() {
    constexpr int flags = O_RDWR | O_CLOEXEC | O_APPEND;
    Descriptor own(open(join("/proc/self/fd/", file_.number()).c_str(), flags));
    if (!own) own = Descriptor(open(path_.c_str(), flags));
    if (!own) return errno;
    file_ = std::move(own);
    forks_ = locus::detail::fork_count();
    return 0;
  }
  [[nodiscard]] bool is_within_line(off_t bytes) const {
    char last = '\n';
    return bytes > 0 && pread(file_.number(), &last, 1, bytes - 1) == 1 && last != '\n';
  }

  std::string path_;
  const char* records_;
  Descriptor file_;
  std::uint32_t forks_ = locus::detail::fork_count();  ///< where this process, not an ancestor, opened the file
  bool is_broken_ = false;                             ///< the file ends within a record
  bool has_warned_ = false;
  Mutex mutex_;
};

}}}  // namespace locus::LOCUS_ABI::io::detail
