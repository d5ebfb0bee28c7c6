#pragma once
// Temporary files that are written beside a target and renamed to it, and removal of temporary files of killed
// processes.
//
// Their names are random, and they are locked (flock) while they are written. The lock ends when the last process, the
// creator or a child forked meanwhile, closes the file: a temporary file that another process can lock is abandoned.
// Process ids, which repeat in every container, and the age of a file do not matter.

#include <locus/core/std/bounds.hpp>
#include <locus/core/system/descriptor.hpp>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>

#include <dirent.h>
#include <sys/file.h>

namespace locus { inline namespace LOCUS_ABI { namespace io::detail {

/// The folder part of a path; "." where it has none.
[[nodiscard]] inline std::string folder_of(const std::string& path) {
  const auto slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

inline constexpr std::string_view temporary_mark = ".locus-", temporary_end = ".tmp";
inline constexpr std::size_t temporary_digits = 16;

/// The name of a temporary file beside `path`. A name that would get too long for the file system loses its end.
[[nodiscard]] inline std::string temporary_name(const std::string& path, std::uint64_t number) {
  constexpr std::size_t longest = 255, added = temporary_mark.size() + temporary_digits + temporary_end.size();
  const std::size_t begin = path.find_last_of('/') + 1;  // of the name: 0 where there is no slash
  std::size_t end = begin + locus::detail::smaller(path.size() - begin, longest - added);
  while (end < path.size() && end > begin && (path[end] & 0xC0) == 0x80) --end;  // not within a character of UTF-8
  char digits[temporary_digits + 1];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(number));
  return join(path.substr(0, end), temporary_mark, digits, temporary_end);
}
[[nodiscard]] inline bool is_temporary_name(std::string_view name) {
  if (name.size() < temporary_mark.size() + temporary_digits + temporary_end.size() || !name.ends_with(temporary_end))
    return false;
  name.remove_suffix(temporary_end.size());
  const auto digits = name.substr(name.size() - temporary_digits);
  name.remove_suffix(temporary_digits);
  return name.ends_with(temporary_mark) && digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

[[nodiscard]] inline std::uint64_t random_number() {
  std::uint64_t number = 0;
  if (getentropy(&number, sizeof number) == 0) return number;
  timespec now{};  // a kernel without it: names that are taken are not used, whatever the number
  (void)clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec) +
         (static_cast<std::uint64_t>(getpid()) << 40);
}

/// A new file beside `target`, removed at the end unless it was renamed.
class TemporaryFile {
 public:
  /// mode: permissions, as open() takes them. draw: returns a random number for the name, called again if the name is
  /// taken.
  template <class Draw = std::uint64_t (*)()>
  explicit TemporaryFile(const std::string& target, mode_t mode = 0666, Draw draw = &random_number) {
    constexpr int most_attempts = 100;
    for (int i = 0; i < most_attempts && !file_; ++i) {
      path_ = temporary_name(target, draw());
      error_ = create(mode);
      if (error_ != EEXIST) return;
    }
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (file_) (void)unlink(path_.c_str());
  }

  /// Why there is no file; else 0.
  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const Descriptor& file() const { return file_; }

  /// Returns 0 or an errno. A process that sees the new name sees the whole content.
  [[nodiscard]] int rename_to(const std::string& target) {
    if (std::rename(path_.c_str(), target.c_str()) != 0) return errno;
    (void)file_.close();  // errors were reported when it was written
    return 0;
  }

 private:
  /// Returns 0 or an errno; EEXIST if the name is taken, or if a process that removes abandoned files locked the new
  /// file first.
  [[nodiscard]] int create(mode_t mode) {
    file_ = Descriptor(open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (!file_) return errno;
    struct stat info {};
    if ((flock(file_.number(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) ||
        (fstat(file_.number(), &info) == 0 && info.st_nlink == 0)) {
      (void)file_.close();
      return EEXIST;
    }
    return 0;
  }

  std::string path_;
  Descriptor file_;
  int error_ = EEXIST;
};

/// Removes a temporary file that no process has locked.
inline void remove_if_abandoned(int folder, const char* name) noexcept {
  const Descriptor file(openat(folder, name, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  struct stat locked {
  }, named{};
  if (file && fstat(file.number(), &locked) == 0 && S_ISREG(locked.st_mode) &&
      flock(file.number(), LOCK_EX | LOCK_NB) == 0 && fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
      named.st_dev == locked.st_dev && named.st_ino == locked.st_ino)  // it may have been renamed before the lock
    (void)unlinkat(folder, name, 0);
}

/// Removes abandoned temporary files among the first 10,000 entries of the folder, which takes about a millisecond.
inline void remove_abandoned(const std::string& folder) noexcept {
  DIR* const files = opendir(folder.c_str());
  if (!files) return;
  for (int i = 0; i < 10'000; ++i) {
    const dirent* const entry = readdir(files);
    if (!entry) break;
    if (is_temporary_name(entry->d_name)) remove_if_abandoned(dirfd(files), entry->d_name);
  }
  (void)closedir(files);
}

/// Makes a new name survive a loss of power. Errors are ignored: the file has its new name all the same.
inline void sync_folder(const std::string& path) noexcept {
  const Descriptor folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) (void)fsync(folder.number());
}

}}}  // namespace locus::LOCUS_ABI::io::detail
