#pragma once
// Writing files so that a reader sees the old content or the new, never half of it.

#include <locus/core/std/span.hpp>
#include <locus/core/system/out_of_memory.hpp>
#include <locus/core/system/temporary_file.hpp>

#include <climits>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include <sys/uio.h>

namespace locus { inline namespace LOCUS_ABI { namespace io {

namespace detail {

/// Throws the DataError that explains why `path` cannot be written; `temporary` is the file beside it that failed.
[[noreturn]] inline void fail_to_write(const std::string& path, int error, const std::string& temporary = {}) {
  const std::string folder = folder_of(path);
  struct stat info {};
  if (error == ELOOP) {
    fail<DataError>({"cannot write '", path,
                     "': it is behind too many symbolic links, or they lead in a circle; remove one of them"});
  }
  if (stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
    fail<DataError>({"cannot write '", path, "': it is a folder; expected the name of a file"});
  }
  if (stat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    fail<DataError>(
        {"cannot write '", path, "': there is no folder '", folder, "'; create it (mkdir -p) or choose another"});
  }
  const auto advice = error == EACCES || error == EROFS ? "; expected a place that you may write to"
                      : error == ENOSPC                 ? "; free some space or choose another disk"
                      : error == EFBIG ? "; raise the limit of file sizes (ulimit -f) or choose another file system"
                                       : "";
  const std::string which = temporary.empty() ? "" : join(" (of the temporary file '", temporary, "')");
  fail<DataError>({"cannot write '", path, "': ", std::strerror(error), which, advice});
}

/// The folder part of a path without symbolic links; "" if the folder does not exist.
[[nodiscard]] inline std::string real_folder_of(const std::string& path) {
  char real[PATH_MAX];
  return realpath(folder_of(path).c_str(), real) ? real : "";
}

/// The file behind symbolic links, so that replacing it leaves the links in place. Links of /proc are not followed:
/// they stand for open files of a process, and their texts may name no file, as "pipe:[123]". throws DataError for a
/// circle of links
[[nodiscard]] inline std::string behind_links(const std::string& path) {
  std::string target = path;
  constexpr int most_links = 40;  // as the kernel follows
  for (int i = 0; i <= most_links; ++i) {
    char link[4096];  // longer than any can be
    const auto length = readlink(target.c_str(), link, sizeof link);
    if (length < 0 && errno == ELOOP) break;
    if (length < 0 || real_folder_of(target).starts_with("/proc/")) return target;
    const std::string next(link, static_cast<std::size_t>(length));
    target = next[0] == '/' ? next : join(folder_of(target), "/", next);
  }
  fail_to_write(path, ELOOP);
}

/// The file that a path to write to resolves to.
struct Target {
  std::string path;
  bool exists, is_replaced;  ///< pipes, devices and open files of a process are not replaced but written
  mode_t mode;
};
/// throws DataError for a folder, an empty path, and a path that the system refuses to look up
[[nodiscard]] inline Target target_of(const std::string& path) {
  require_path("write to", path);
  std::string target = behind_links(path);
  struct stat info {};
  const bool exists = stat(target.c_str(), &info) == 0;
  if (!exists && errno != ENOENT) fail_to_write(path, errno);
  if (path.back() == '/' || (exists && S_ISDIR(info.st_mode))) fail_to_write(path, EISDIR);
  struct stat itself {};
  const bool is_link = lstat(target.c_str(), &itself) == 0 && S_ISLNK(itself.st_mode);
  return {std::move(target), exists, !exists || (S_ISREG(info.st_mode) && !is_link), info.st_mode};
}

/// Writes all parts; returns 0 or the errno of the call that failed.
[[nodiscard]] inline int write_parts(const Descriptor& file, Span<const std::string_view> parts) {
  const WithoutSizeSignal quiet;
  constexpr std::size_t at_once = 64;
  std::size_t whole = 0, begun = 0;  // parts that are written, and bytes of the next one
  while (whole < parts.size()) {
    iovec blocks[at_once];
    std::size_t count = 0;
    for (; count < at_once && whole + count < parts.size(); ++count) {
      const auto part = parts[whole + count].substr(count == 0 ? begun : 0);
      blocks[count] = {const_cast<char*>(part.data()), part.size()};
    }
    const auto written = writev(file.number(), blocks, static_cast<int>(count));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    const std::size_t before = whole;
    begun += static_cast<std::size_t>(written);
    for (; whole < parts.size() && begun >= parts[whole].size(); ++whole) begun -= parts[whole].size();
    if (written == 0 && whole == before) return EIO;
  }
  return 0;
}

/// Opens a file that is not replaced. An open file of this process keeps its position, as others may write there, too.
[[nodiscard]] inline Descriptor open_directly(const std::string& path) {
  const std::string name = path.substr(path.find_last_of('/') + 1);
  if (name.find_first_not_of("0123456789") == std::string::npos &&
      real_folder_of(path) == join("/proc/", getpid(), "/fd"))
    return Descriptor(fcntl(std::atoi(name.c_str()), F_DUPFD_CLOEXEC, 0));
  return Descriptor(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
}

/// Writes a file that is not replaced; returns 0 or the errno of the call that failed.
[[nodiscard]] inline int write_directly(const std::string& path, Span<const std::string_view> parts) {
  Descriptor device = open_directly(path);
  if (!device) return errno;
  const int error = write_parts(device, parts);
  return error ? error : device.close();
}

/// Writes a temporary file and gives it the target's name; returns 0 or the errno of the call that failed.
[[nodiscard]] inline int replace(const Target& target, TemporaryFile& temporary, Span<const std::string_view> parts) {
  if (temporary.error()) return temporary.error();
  if (const int error = write_parts(temporary.file(), parts)) return error;
  if (fsync(temporary.file().number()) != 0 && errno != EINVAL) return errno;  // EINVAL: there is no such thing here
  if (target.exists) (void)fchmod(temporary.file().number(), target.mode & 07777);
  return temporary.rename_to(target.path);
}

}  // namespace detail

/// Early check for a program that writes the file when it ends. throws DataError if writing would fail now
inline void require_writable(const std::string& path) {
  const detail::Target target = detail::target_of(path);
  const std::string& changed = target.is_replaced ? detail::folder_of(target.path) : target.path;
  if (access(changed.c_str(), W_OK) != 0) detail::fail_to_write(path, errno);
}

/// Writes the parts, one after the other, to a temporary file beside `path`, then renames it. On failure `path` keeps
/// its old content and nothing is left behind; after a loss of power it has the old content or the new. A killed
/// process leaves its temporary file, `path` followed by .locus-, sixteen digits and .tmp: the next write in that
/// folder removes it, unless 10,000 other entries come first. A pipe, a device, or an open file of the process, as
/// /dev/stdout, is written directly. throws DataError when the folder does not exist, may not be written, the disk is
/// full, or the file would be larger than the process may write (without SIGXFSZ); OutOfMemory
inline void write_file_atomically(const std::string& path, Span<const std::string_view> parts) {
  locus::detail::or_out_of_memory({"cannot write '", path, "': out of memory"}, [&] {
    const detail::Target target = detail::target_of(path);
    if (!target.is_replaced) {
      if (const int error = detail::write_directly(target.path, parts)) detail::fail_to_write(path, error);
      return;
    }
    const std::string folder = detail::folder_of(target.path);
    detail::remove_abandoned(folder);
    // Takes over the permissions of the old file before there is content, so that nobody else can read it meanwhile.
    const mode_t mode = target.exists ? (target.mode & 0777) | 0600 : 0666;
    // Another machine whose locks do not reach this one can take the temporary file for abandoned and remove it.
    int error = ENOENT;
    for (int attempt = 0; error == ENOENT && attempt < 5; ++attempt) {
      detail::TemporaryFile temporary(target.path, mode);
      error = detail::replace(target, temporary, parts);
      if (error && error != ENOENT) detail::fail_to_write(path, error, temporary.path());
    }
    if (error) detail::fail_to_write(path, error);
    detail::sync_folder(folder);
  });
}
inline void write_file_atomically(const std::string& path, std::string_view text) {
  write_file_atomically(path, Span<const std::string_view>(&text, 1));
}

}}}  // namespace locus::LOCUS_ABI::io
