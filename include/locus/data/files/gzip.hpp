#pragma once
// Decompressing gzip files (RFC 1952) with zlib. (zlib's gzread silently ignores data after the last member.)

#include <locus/core/std/bounds.hpp>
#include <locus/core/system/input_file.hpp>
#include <locus/core/system/out_of_memory.hpp>

#if LOCUS_ZLIB
#include <zlib.h>
#endif

namespace locus { inline namespace LOCUS_ABI { namespace data::detail {

#if LOCUS_ZLIB

/// The content of a gzip file: all members, one after the other. Zeros after a member are padding, as for gzip and
/// Python; other bytes are refused.
class Gunzip {
 public:
  Gunzip() = default;
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;
  ~Gunzip() { (void)inflateEnd(&stream_); }

  /// throws OutOfMemory
  void begin(const io::detail::InputFile& file) {
    constexpr std::size_t block = std::size_t{1} << 17;
    constexpr int gzip_alone = 15 + 16;  // windowBits, in words of zlib
    locus::detail::or_out_of_memory({"cannot read '", file.path(), "': out of memory"}, [&] { block_.resize(block); });
    if (inflateInit2(&stream_, gzip_alone) != Z_OK) fail_to_allocate(file);
  }

  /// Reads up to `count` bytes; fewer only at the end, after all checksums were verified. throws DataError, OutOfMemory
  std::size_t read(io::detail::InputFile& file, std::uint8_t* out, std::size_t count) {
    constexpr std::size_t most_at_once = std::size_t{1} << 30;
    std::size_t done = 0;
    while (done < count && (!is_between_ || begin_member(file))) {
      const auto room = static_cast<uInt>(locus::detail::smaller(count - done, most_at_once));
      stream_.next_out = out + done;
      stream_.avail_out = room;
      if (!has_input(file)) refuse(file, "its gzip stream ends early");
      const int code = inflate(&stream_, Z_NO_FLUSH);
      if (code == Z_MEM_ERROR) fail_to_allocate(file);
      if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
        refuse(file, stream_.msg ? stream_.msg : "its gzip stream cannot be read");
      is_between_ = code == Z_STREAM_END;
      done += room - stream_.avail_out;
    }
    return done;
  }

 private:
  /// Goes to the next member; false where there is none.
  [[nodiscard]] bool begin_member(io::detail::InputFile& file) {
    while (has_input(file) && *stream_.next_in == 0) {
      ++stream_.next_in;
      --stream_.avail_in;
    }
    if (stream_.avail_in == 0) return false;
    if (*stream_.next_in != 0x1f) refuse(file, "it goes on after its gzip stream with something else");
    (void)inflateReset(&stream_);
    is_between_ = false;
    return true;
  }
  [[nodiscard]] bool has_input(io::detail::InputFile& file) {
    if (stream_.avail_in > 0) return true;
    stream_.next_in = block_.data();
    stream_.avail_in = static_cast<uInt>(file.read(block_.data(), block_.size()));
    return stream_.avail_in > 0;
  }
  [[noreturn]] static void refuse(const io::detail::InputFile& file, const char* why) {
    fail<DataError>({"'", file.path(), "' is damaged: ", why, "; copy or download it again"});
  }
  [[noreturn]] static void fail_to_allocate(const io::detail::InputFile& file) {
    locus::detail::fail_out_of_memory({"cannot read '", file.path(), "': zlib found no memory"});
  }

  std::vector<std::uint8_t> block_;  ///< of the file
  z_stream stream_{};
  bool is_between_ = false;  ///< members
};

#else

class Gunzip {
 public:
  [[noreturn]] void begin(const io::detail::InputFile& file) {
    fail<DataError>({"'", file.path(), "' is compressed, and this program was built without zlib; ",
                     io::detail::how_to_build_with_zlib, ", or decompress the file (gunzip)"});
  }
  std::size_t read(io::detail::InputFile&, std::uint8_t*, std::size_t) { return 0; }
};

#endif

}}}  // namespace locus::LOCUS_ABI::data::detail
