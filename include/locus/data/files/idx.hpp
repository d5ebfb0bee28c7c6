#pragma once
// Reading IDX files, the format of MNIST: two zero bytes, the element type, the number of dimensions, one big-endian
// 32-bit extent each, then the elements, last dimension fastest.

#include <locus/core/shape.hpp>
#include <locus/core/system/folder.hpp>
#include <locus/core/system/input_file.hpp>
#include <locus/data/files/gzip.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace data {

struct IdxFile {
  Dims extents;
  std::vector<std::uint8_t> bytes;  ///< elements(extents) of them
};

namespace detail {

/// The bytes of a file, decompressed if its first two bytes mark it as gzip.
class ByteSource {
 public:
  explicit ByteSource(const std::string& path) : file_(path, "an IDX file, plain or .gz") {
    unsigned char magic[2] = {};
    is_compressed_ = file_.read(magic, 2) == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
    file_.go_to(0);
    if (is_compressed_) decompressed_.begin(file_);
  }

  /// Reads up to `count` bytes; fewer only at the end. throws DataError for a damaged or unreadable file
  std::size_t read(std::uint8_t* out, std::size_t count) {
    return is_compressed_ ? decompressed_.read(file_, out, count) : file_.read(out, count);
  }

  /// An upper bound of the readable bytes: deflate shrinks a byte to no less than 1/1032.
  [[nodiscard]] std::uint64_t most_bytes() const { return is_compressed_ ? file_.bytes() * 1032 : file_.bytes(); }

 private:
  io::detail::InputFile file_;
  bool is_compressed_ = false;
  Gunzip decompressed_;
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
[[nodiscard]] inline int idx_rank(const std::array<std::uint8_t, 4>& magic, const std::string& path,
                                  std::optional<int> rank) {
  const char* type = idx_type_name(magic[2]);
  if (magic[0] != 0 || magic[1] != 0 || !type) {
    fail<DataError>({"'", path, "' is not an IDX file: it begins with ", hexadecimal(magic[0]), " ",
                     hexadecimal(magic[1]), " ", hexadecimal(magic[2]), " ", hexadecimal(magic[3]),
                     "; expected 00 00 08 and the number of dimensions"});
  }
  if (magic[2] != 0x08) {
    fail<DataError>({"'", path, "' holds elements of type ", type, "; expected unsigned bytes: convert the file"});
  }
  if (rank && magic[3] != *rank) {
    fail<DataError>(
        {"'", path, "' has ", int{magic[3]}, " dimensions; expected ", *rank, ": is it another file of the set?"});
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

/// The number of elements that the extents promise; throws DataError if the file cannot hold so many.
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

[[nodiscard]] inline IdxFile read_whole_idx(const std::string& path, std::optional<int> rank) {
  ByteSource source(path);
  std::array<std::uint8_t, 4> magic{};
  read_idx_header_bytes(source, path, magic.data(), magic.size(), true);
  const Dims extents = read_idx_extents(source, path, idx_rank(magic, path, rank));
  const std::size_t promised = promised_bytes(extents, source, path);

  IdxFile file{extents, locus::detail::or_out_of_memory({"'", path, "': no memory for its ", promised,
                                                         " bytes; expected a smaller file or more memory"},
                                                        [&] { return std::vector<std::uint8_t>(promised); })};
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

/// find_idx(), with a remedy in the message if files are missing.
[[nodiscard]] inline std::string find_idx_file(const std::string& folder, const std::string& name,
                                               const std::string& remedy) {
  io::detail::require_path("read", folder);
  if (!io::detail::is_folder(folder)) {
    fail<DataError>(
        {"there is no folder '", folder, "'; expected one that holds ", name, " (or ", name, ".gz)", remedy});
  }
  std::string dotted = name;
  if (const auto at = dotted.rfind("-idx"); at != std::string::npos) dotted[at] = '.';
  for (const std::string* base : {&name, &std::as_const(dotted)}) {
    for (const char* ending : {"", ".gz"}) {
      std::string path = join(folder, folder.back() == '/' ? "" : "/", *base, ending);
      if (io::detail::exists(path) && !io::detail::is_folder(path)) return path;
    }
  }
  fail<DataError>({"the folder '", folder, "' holds none of ", name, ", ", name, ".gz, ", dotted, ", ", dotted,
                   ".gz; expected one of them", remedy});
}

}  // namespace detail

/// Reads an IDX file of unsigned bytes, plain or gzip, of `rank` dimensions, or any number from 1 to 8. Reads and
/// decompresses at most one byte more than the header promises, and allocates no more than the file's size allows.
/// throws DataError for a file that is missing, damaged, truncated, too long, or of another kind; OutOfMemory
[[nodiscard]] inline IdxFile read_idx(const std::string& path, std::optional<int> rank = {}) {
  return locus::detail::or_out_of_memory({"cannot read '", path, "': out of memory"},
                                         [&] { return detail::read_whole_idx(path, rank); });
}

/// The path of an IDX file in a folder by its usual name, `train-images-idx3-ubyte`: as it is, with .gz, and the same
/// for `train-images.idx3-ubyte`. throws DataError naming the folder and the file names
[[nodiscard]] inline std::string find_idx(const std::string& folder, const std::string& name) {
  return detail::find_idx_file(folder, name, "");
}

}}}  // namespace locus::LOCUS_ABI::data
