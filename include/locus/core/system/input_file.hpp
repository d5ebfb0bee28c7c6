#pragma once
// Reading a file from front to back.

#include <locus/core/std/bounds.hpp>
#include <locus/core/system/descriptor.hpp>

#include <cstdint>
#include <cstring>

namespace locus { inline namespace LOCUS_ABI { namespace io::detail {

/// The remedy, for messages about compressed files in a program without zlib.
inline constexpr const char* how_to_build_with_zlib =
    "install zlib1g-dev and build with -DLOCUS_ZLIB=1 and -lz (a single header: scripts/single_header --zlib)";

/// A regular file that is open for reading.
class InputFile {
 public:
  /// expected: the kind of file, for messages, such as "an IDX file". throws DataError that names the path if the file
  /// is missing, may not be read or is no regular file
  InputFile(const std::string& path, const char* expected) : path_(path) {
    require_path("read", path);
    // Opening a pipe would otherwise wait for a writer.
    file_ = Descriptor(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    struct stat info {};
    if (!file_ || fstat(file_.number(), &info) != 0)
      fail<DataError>({"cannot read '", path_, "': ", std::strerror(errno), "; expected ", expected});
    if (!S_ISREG(info.st_mode))
      fail<DataError>(
          {"'", path_, "' is a ", S_ISDIR(info.st_mode) ? "folder" : "pipe or device", "; expected ", expected});
    bytes_ = static_cast<std::uint64_t>(info.st_size);
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Size when the file was opened.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t bytes_now() const {
    struct stat info {};
    return fstat(file_.number(), &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
  }
  [[nodiscard]] const Descriptor& descriptor() const { return file_; }

  /// Reads up to `count` bytes; fewer only at the end. throws DataError where the disk fails
  std::size_t read(void* out, std::size_t count) {
    constexpr std::size_t most_at_once = std::size_t{1} << 30;
    std::size_t done = 0;
    while (done < count) {
      const auto got =
          ::read(file_.number(), static_cast<char*>(out) + done, locus::detail::smaller(count - done, most_at_once));
      if (got == 0) break;
      if (got > 0) done += static_cast<std::size_t>(got);
      else if (errno != EINTR)
        fail<DataError>({"cannot read '", path_, "': ", std::strerror(errno), "; check the disk"});
    }
    return done;
  }
  /// Continues reading at this byte.
  void go_to(std::uint64_t position) {
    if (lseek(file_.number(), static_cast<off_t>(position), SEEK_SET) < 0)
      fail<DataError>({"cannot read '", path_, "': ", std::strerror(errno), "; check the disk"});
  }

 private:
  std::string path_;
  Descriptor file_;
  std::uint64_t bytes_ = 0;
};

/// The content of a file of at most `most` bytes; expected: the kind of file. throws DataError
[[nodiscard]] inline std::string content_of(const std::string& path, const char* expected, std::uint64_t most) {
  InputFile file(path, expected);
  if (file.bytes() > most)
    fail<DataError>(
        {"cannot read '", path, "': it has ", file.bytes(), " bytes; expected ", expected, " of at most ", most});
  std::string content(static_cast<std::size_t>(file.bytes()), ' ');
  if (file.read(content.data(), content.size()) != content.size())
    fail<DataError>({"cannot read '", path, "': it ended while it was read"});
  return content;
}

}}}  // namespace locus::LOCUS_ABI::io::detail
