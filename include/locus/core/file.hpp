#pragma once
// Writing files so that a reader sees the old content or the new, never half of it.

#include <locus/core/check.hpp>
#include <locus/core/span.hpp>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include <sys/stat.h>
#include <unistd.h>

namespace locus::inline LOCUS_ABI {

namespace io {

namespace detail {

/// The folder part of a path; "." where it has none.
[[nodiscard]] inline std::string folder_of(const std::string& path) {
  const auto slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

/// Throws the DataError that explains why `path` cannot be written.
[[noreturn]] inline void fail_to_write(const std::string& path, int error) {
  const std::string folder = folder_of(path);
  struct stat info {};
  if (stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
    fail<DataError>({"cannot write '", path, "': it is a folder; expected the name of a file"});
  }
  if (stat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    fail<DataError>(
        {"cannot write '", path, "': there is no folder '", folder, "'; create it (mkdir -p) or choose another"});
  }
  const auto advice = error == EACCES || error == EROFS ? "; expected a place that you may write to"
                      : error == ENOSPC                 ? "; free some space or choose another disk"
                                                        : "";
  fail<DataError>({"cannot write '", path, "': ", std::strerror(error), advice});
}

/// The file behind symbolic links, so that replacing it leaves the links in place.
[[nodiscard]] inline std::string behind_links(const std::string& path) {
  char* const resolved = realpath(path.c_str(), nullptr);
  std::string target = resolved ? resolved : path;
  std::free(resolved);
  constexpr int most_links = 40;          // as the kernel follows
  for (int i = 0; i < most_links; ++i) {  // those that lead to a new file
    char link[4096];
    const auto length = readlink(target.c_str(), link, sizeof link);
    if (length <= 0 || length == static_cast<ssize_t>(sizeof link)) break;
    const std::string next(link, static_cast<std::size_t>(length));
    target = next[0] == '/' ? next : join(folder_of(target), "/", next);
  }
  return target;
}

/// What a path to write to leads to.
struct Target {
  std::string path;
  bool exists, is_replaced;  ///< pipes and devices are written, not replaced
  mode_t mode;
};
/// throws DataError for a folder or an empty path
[[nodiscard]] inline Target target_of(const std::string& path) {
  if (path.empty()) fail<DataError>({"cannot write to a file without a name; expected a path"});
  std::string target = behind_links(path);
  struct stat info {};
  const bool exists = stat(target.c_str(), &info) == 0;
  if (path.back() == '/' || (exists && S_ISDIR(info.st_mode))) fail_to_write(path, EISDIR);
  return {std::move(target), exists, !exists || S_ISREG(info.st_mode), info.st_mode};
}

/// Writes and closes; 0 or the errno of what failed.
[[nodiscard]] inline int write_and_close(std::FILE* file, Span<const std::string_view> parts, bool to_disk) {
  int error = 0;
  for (const auto& part : parts)
    if (!error && !part.empty() && std::fwrite(part.data(), 1, part.size(), file) != part.size()) error = errno;
  if (!error && std::fflush(file) != 0) error = errno;
  if (!error && to_disk && fsync(fileno(file)) != 0) error = errno;
  if (std::fclose(file) != 0 && !error) error = errno;
  return error;
}

}  // namespace detail

/// For a program that will write a file at its end. throws DataError where that could not be done now
inline void require_writable(const std::string& path) {
  const detail::Target target = detail::target_of(path);
  const std::string& changed = target.is_replaced ? detail::folder_of(target.path) : target.path;
  if (access(changed.c_str(), W_OK) != 0) detail::fail_to_write(path, errno);
}

/// Writes the parts, one after the other, to a temporary file beside `path`, then renames it. On failure `path` keeps
/// its old content and nothing is left behind. A pipe or device such as /dev/stdout is written directly. throws
/// DataError when the folder does not exist, may not be written, or the disk is full
inline void write_file_atomically(const std::string& path, Span<const std::string_view> parts) {
  const detail::Target target = detail::target_of(path);
  if (!target.is_replaced) {
    std::FILE* device = std::fopen(target.path.c_str(), "wb");
    const int error = device ? detail::write_and_close(device, parts, false) : errno;
    if (error) detail::fail_to_write(path, error);
    return;
  }

  static unsigned counter = 0;
  const std::string temporary =
      join(target.path, ".", getpid(), "-", __atomic_fetch_add(&counter, 1u, __ATOMIC_RELAXED), ".tmp");
  std::FILE* file = std::fopen(temporary.c_str(), "wbx");
  if (!file) detail::fail_to_write(path, errno);
  int error = detail::write_and_close(file, parts, true);
  if (!error && target.exists) (void)chmod(temporary.c_str(), target.mode & 07777);
  if (!error && std::rename(temporary.c_str(), target.path.c_str()) != 0) error = errno;
  if (error) {
    std::remove(temporary.c_str());
    detail::fail_to_write(path, error);
  }
}
inline void write_file_atomically(const std::string& path, std::string_view text) {
  write_file_atomically(path, Span<const std::string_view>(&text, 1));
}

}  // namespace io

}  // namespace locus::inline LOCUS_ABI
