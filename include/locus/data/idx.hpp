#pragma once
// Reading IDX files, the format of MNIST: two zero bytes, the element type, the number of dimensions, one big-endian
// 32-bit extent each, then the elements, last dimension fastest.

#include <locus/core/bounds.hpp>
#include <locus/core/shape.hpp>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include <sys/stat.h>

#if LOCUS_ZLIB
#include <zlib.h>
#endif

namespace locus::inline LOCUS_ABI {

namespace data {

struct IdxFile {
  Dims extents;
  std::vector<std::uint8_t> bytes;  ///< elements(extents) of them
};

namespace detail {

/// The bytes of a file, decompressed where it is gzip; which it is, its first two bytes say.
class ByteSource {
 public:
  explicit ByteSource(const std::string& path) : path_(path) {
    struct stat info {};
    if (stat(path.c_str(), &info) != 0) fail_to_open(errno);
    if (!S_ISREG(info.st_mode)) {
      fail<DataError>({"'", path, "' is a ", S_ISDIR(info.st_mode) ? "folder" : "pipe or device",
                       "; expected an IDX file, plain or .gz"});
    }
    size_ = static_cast<std::uint64_t>(info.st_size);
    plain_ = std::fopen(path.c_str(), "rb");
    if (!plain_) fail_to_open(errno);
    unsigned char magic[2] = {};
    compressed_ = std::fread(magic, 1, 2, plain_) == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
    std::rewind(plain_);
    if (compressed_) open_compressed();
  }
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  ~ByteSource() { close(); }

  /// Reads up to `count` bytes; fewer only at the end. throws DataError for a damaged or unreadable file
  std::size_t read(std::uint8_t* out, std::size_t count) {
    return compressed_ ? read_compressed(out, count) : read_plain(out, count);
  }

  /// An upper bound of what can be read: deflate shrinks a byte to no less than 1/1032.
  [[nodiscard]] std::uint64_t most_bytes() const { return compressed_ ? size_ * 1032 : size_; }

 private:
  std::size_t read_plain(std::uint8_t* out, std::size_t count) {
    const std::size_t got = std::fread(out, 1, count, plain_);
    if (std::ferror(plain_)) fail<DataError>({"cannot read '", path_, "': ", std::strerror(errno), "; check the disk"});
    return got;
  }

#if LOCUS_ZLIB
  void open_compressed() {
    std::fclose(plain_);
    plain_ = nullptr;
    inflated_ = gzopen(path_.c_str(), "rb");
    if (!inflated_) fail_to_open(errno);
    gzbuffer(inflated_, 1u << 17);
  }
  std::size_t read_compressed(std::uint8_t* out, std::size_t count) {
    constexpr std::size_t most_at_once = 1u << 30;
    std::size_t done = 0;
    while (done < count) {
      const auto wanted = static_cast<unsigned>(locus::detail::smaller(count - done, most_at_once));
      const int got = gzread(inflated_, out + done, wanted);
      check_compressed();
      if (got <= 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }
  void check_compressed() const {
    int error = Z_OK;
    std::string reason = gzerror(inflated_, &error);
    if (error == Z_OK) return;
    if (reason.starts_with(path_ + ": ")) reason.erase(0, path_.size() + 2);
    fail<DataError>({"'", path_, "' is damaged: ", error == Z_BUF_ERROR ? "its gzip stream ends early" : reason,
                     "; copy or download it again"});
  }
  void close() {
    if (plain_) std::fclose(plain_);
    if (inflated_) gzclose_r(inflated_);
  }
  gzFile inflated_ = nullptr;
#else
  [[noreturn]] void open_compressed() {
    close();
    fail<DataError>({"'", path_, "' is compressed, and this program was built without zlib; install zlib1g-dev and ",
                     "build again, or decompress the file (gunzip)"});
  }
  std::size_t read_compressed(std::uint8_t*, std::size_t) { return 0; }
  void close() {
    if (plain_) std::fclose(plain_);
  }
#endif

  [[noreturn]] void fail_to_open(int error) const {
    fail<DataError>({"cannot read '", path_, "': ", std::strerror(error), "; expected an IDX file, plain or .gz"});
  }

  std::string path_;
  std::uint64_t size_ = 0;
  std::FILE* plain_ = nullptr;
  bool compressed_ = false;
};

[[nodiscard]] inline const char* idx_type_name(unsigned code) {
  switch (code) {
    case 0x08: return "unsigned byte";
    case 0x09: return "signed byte";
    case 0x0B: return "int16";
    case 0x0C: return "int32";
    case 0x0D: return "float32";
    case 0x0E: return "float64";
    default: return nullptr;
  }
}

[[nodiscard]] inline std::string hexadecimal(unsigned byte) {
  constexpr const char* digits = "0123456789abcdef";
  return {digits[byte / 16 % 16], digits[byte % 16]};
}

/// Reads `count` bytes of the header.
inline void read_idx_header_bytes(ByteSource& source, const std::string& path, std::uint8_t* out, std::size_t count,
                                  bool first) {
  const std::size_t got = source.read(out, count);
  if (got == count) return;
  fail<DataError>({"'", path, got == 0 && first ? "' is empty" : "' ends within its header",
                   "; expected an IDX file: 00 00 08, the number of dimensions, ", "the extents, the elements"});
}

/// The number of dimensions that the magic number announces.
[[nodiscard]] inline int idx_rank(const std::array<std::uint8_t, 4>& magic, const std::string& path, int rank) {
  const char* type = idx_type_name(magic[2]);
  if (magic[0] != 0 || magic[1] != 0 || !type) {
    fail<DataError>({"'", path, "' is not an IDX file: it begins with ", hexadecimal(magic[0]), " ",
                     hexadecimal(magic[1]), " ", hexadecimal(magic[2]), " ", hexadecimal(magic[3]),
                     "; expected 00 00 08 and the number of dimensions"});
  }
  if (magic[2] != 0x08) {
    fail<DataError>({"'", path, "' holds elements of type ", type, "; expected unsigned bytes: convert the file"});
  }
  if (rank != 0 && magic[3] != rank) {
    fail<DataError>(
        {"'", path, "' has ", int{magic[3]}, " dimensions; expected ", rank, ": is it another file of the set?"});
  }
  if (magic[3] < 1 || magic[3] > max_rank) {
    fail<DataError>({"'", path, "' has ", int{magic[3]}, " dimensions; expected 1 to ", max_rank});
  }
  return magic[3];
}

[[nodiscard]] inline Dims read_idx_extents(ByteSource& source, const std::string& path, int rank) {
  Dims extents;
  for (int i = 0; i < rank; ++i) {
    std::uint8_t b[4];
    read_idx_header_bytes(source, path, b, 4, false);
    extents.push_back(std::int64_t{b[0]} << 24 | std::int64_t{b[1]} << 16 | std::int64_t{b[2]} << 8 | b[3]);
  }
  return extents;
}

/// The number of elements that the extents promise, once it is known that the file can hold them.
[[nodiscard]] inline std::size_t promised_bytes(const Dims& extents, const ByteSource& source,
                                                const std::string& path) {
  std::uint64_t product = 1;
  bool overflow = false, empty = false;
  for (auto extent : extents) {
    overflow |= __builtin_mul_overflow(product, static_cast<std::uint64_t>(extent), &product);
    empty |= extent == 0;
  }
  if (empty) return 0;
  if (overflow || product > source.most_bytes()) {
    fail<DataError>({"'", path, "' promises ", extents, " elements, ",
                     overflow ? join("more than 2^64") : join(product), " bytes, but can hold at most ",
                     source.most_bytes(), "; it is truncated or damaged: copy or ", "download it again"});
  }
  return static_cast<std::size_t>(product);
}

}  // namespace detail

/// Reads an IDX file of unsigned bytes, plain or gzip, of `rank` dimensions (0: any number from 1 to 8). Reads and
/// decompresses at most one byte more than the header promises, and allocates no more than the file's size allows.
/// throws DataError for a file that is missing, damaged, truncated, too long, or of another kind; OutOfMemory
[[nodiscard]] inline IdxFile read_idx(const std::string& path, int rank = 0) {
  detail::ByteSource source(path);
  std::array<std::uint8_t, 4> magic{};
  detail::read_idx_header_bytes(source, path, magic.data(), magic.size(), true);
  const Dims extents = detail::read_idx_extents(source, path, detail::idx_rank(magic, path, rank));
  const std::size_t promised = detail::promised_bytes(extents, source, path);

  IdxFile file{extents, {}};
  try {
    file.bytes.resize(promised);
  } catch (const std::exception&) {
    fail<OutOfMemory>({"'", path, "': no memory for its ", promised, " bytes; expected a smaller file or more memory"});
  }
  const std::size_t got = source.read(file.bytes.data(), promised);
  if (got < promised) {
    fail<DataError>({"'", path, "' promises ", extents, " elements, ", promised, " bytes, but holds ", got,
                     "; it is truncated: copy or download it again"});
  }
  std::uint8_t extra = 0;
  if (source.read(&extra, 1) != 0) {
    fail<DataError>({"'", path, "' goes on after the ", promised, " bytes that its header promises, ", extents,
                     "; it is damaged: copy or download it again"});
  }
  return file;
}

/// The path of an IDX file in a folder by its usual name, `train-images-idx3-ubyte`: as it is, with .gz, and the same
/// for `train-images.idx3-ubyte`. throws DataError naming the folder and what was looked for
[[nodiscard]] inline std::string find_idx(const std::string& folder, const std::string& name) {
  struct stat info {};
  if (stat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    fail<DataError>({"there is no folder '", folder, "'; expected one that holds ", name, " (or ", name, ".gz)"});
  }
  std::string dotted = name;
  if (const auto at = dotted.rfind("-idx"); at != std::string::npos) dotted[at] = '.';
  for (const std::string* base : {&name, &std::as_const(dotted)}) {
    for (const char* ending : {"", ".gz"}) {
      std::string path = join(folder, folder.back() == '/' ? "" : "/", *base, ending);
      if (stat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode)) return path;
    }
  }
  fail<DataError>({"the folder '", folder, "' holds none of ", name, ", ", name, ".gz, ", dotted, ", ", dotted,
                   ".gz; expected one of them"});
}

}  // namespace data

}  // namespace locus::inline LOCUS_ABI
