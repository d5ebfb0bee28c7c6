#pragma once
// Archives of files (.zip) as NumPy and PyTorch write them: stored or deflated.
// https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT

#include <locus/core/little_endian.hpp>
#include <locus/core/printable.hpp>
#include <locus/core/std/bounds.hpp>
#include <locus/core/system/input_file.hpp>
#include <locus/core/system/out_of_memory.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#if LOCUS_ZLIB
#include <zlib.h>
#endif

namespace locus { inline namespace LOCUS_ABI { namespace io::detail {

/// CRC-32; `before`: the checksum of the preceding bytes, which it continues.
[[nodiscard]] LOCUS_OUT_OF_LINE inline std::uint32_t crc32_of(const void* data, std::size_t count,
                                                              std::uint32_t before = 0) {
#if LOCUS_ZLIB
  return static_cast<std::uint32_t>(crc32_z(before, static_cast<const Bytef*>(data), count));
#else
  static constexpr auto table = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      made[i] = i;
      for (int bit = 0; bit < 8; ++bit) made[i] = made[i] >> 1 ^ (made[i] & 1 ? 0xedb88320u : 0u);
    }
    return made;
  }();
  const auto* const bytes = static_cast<const unsigned char*>(data);
  std::uint32_t crc = ~before;
  for (std::size_t i = 0; i < count; ++i) crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 0xff];
  return ~crc;
#endif
}

/// A file of an archive.
struct ZipEntry {
  std::string name;
  unsigned method;  ///< 0: stored, 8: deflated
  std::uint32_t crc;
  std::uint64_t stored_bytes, bytes;  ///< size in the archive, and uncompressed
  std::uint64_t header;               ///< position of its local header
};

/// The files of an archive, from the central directory at its end.
class ZipDirectory {
 public:
  /// writer: the function that writes such archives, for messages. throws DataError
  ZipDirectory(InputFile& file, const std::string& what, const char* writer)
      : file_(file), what_(what), writer_(writer) {
    find();
    if (end_ > file_.bytes() || begin_ > end_) refuse("its directory lies outside of it");
    const std::string text = text_at(begin_, end_ - begin_);
    for (std::size_t at = 0; at < text.size();) at = read_entry(text, at);
    if (entries_.size() != count_) refuse("its directory has ", entries_.size(), " files, and promises ", count_);
    for (const ZipEntry& entry : entries_) headers_.push_back(entry.header);
    std::sort(headers_.begin(), headers_.end());
    const auto twice = std::adjacent_find(headers_.begin(), headers_.end());
    for (const ZipEntry& entry : entries_)
      if (twice != headers_.end() && entry.header == *twice) refuse_overlap(entry);
  }
  [[nodiscard]] auto begin() const { return entries_.begin(); }
  [[nodiscard]] auto end() const { return entries_.end(); }
  [[nodiscard]] const char* writer() const { return writer_; }

  /// Where the bytes of a file begin. throws DataError for a file that shares bytes with another: by overlaps, a small
  /// archive could expand without limit
  [[nodiscard]] std::uint64_t begin_of(const ZipEntry& entry) const {
    constexpr std::uint64_t header_bytes = 30;
    if (entry.header > begin_ || begin_ - entry.header < header_bytes) refuse_place(entry);
    const std::string header = text_at(entry.header, header_bytes);
    const std::uint64_t begin = entry.header + header_bytes + number_at(header, 26, 2) + number_at(header, 28, 2);
    if (number_at(header, 0, 4) != 0x04034b50 || begin > begin_ || entry.stored_bytes > begin_ - begin)
      refuse_place(entry);
    const auto next = std::upper_bound(headers_.begin(), headers_.end(), entry.header);
    if (next != headers_.end() && begin + entry.stored_bytes > *next) refuse_overlap(entry);
    return begin;
  }

 private:
  template <class... Text>
  [[noreturn]] void refuse(const Text&... why) const {
    fail<DataError>({what_, ": ", why...});
  }
  [[noreturn]] void refuse_place(const ZipEntry& entry) const {
    refuse("'", locus::detail::printable(entry.name),
           "' does not lie where its directory says; it is damaged or cut off");
  }
  [[noreturn]] void refuse_overlap(const ZipEntry& entry) const {
    refuse(
        "'", locus::detail::printable(entry.name),
        "' shares its bytes with another file of the archive; expected bytes of its own for each: write it again with ",
        writer_);
  }
  [[nodiscard]] std::string text_at(std::uint64_t at, std::uint64_t count) const {
    std::string text(count, ' ');
    file_.go_to(at);
    if (file_.read(text.data(), text.size()) != text.size()) refuse("it ended while it was read");
    return text;
  }

  /// Finds the directory from the record at the end of the archive, or from the zip64 record before it for large
  /// archives.
  void find() {
    constexpr std::uint64_t record_bytes = 22, most_comment = 65535;
    const std::uint64_t count = locus::detail::smaller(file_.bytes(), record_bytes + most_comment);
    const std::string last = text_at(file_.bytes() - count, count);
    std::size_t at = last.rfind("PK\5\6");
    while (at != std::string::npos &&
           (last.size() - at < record_bytes || number_at(last, at + 20, 2) != last.size() - at - record_bytes))
      at = at > 0 ? last.rfind("PK\5\6", at - 1) : std::string::npos;
    if (at == std::string::npos) refuse("it is no zip archive, or cut off");
    count_ = number_at(last, at + 10, 2);
    std::uint64_t bytes = number_at(last, at + 12, 4);
    begin_ = number_at(last, at + 16, 4);
    constexpr std::size_t locator_bytes = 20;
    if (at >= locator_bytes && number_at(last, at - locator_bytes, 4) == 0x07064b50) {
      constexpr std::uint64_t large_bytes = 56;
      const std::uint64_t large = number_at(last, at - locator_bytes + 8, 8);
      if (large > file_.bytes() || file_.bytes() - large < large_bytes) refuse("its directory lies outside of it");
      const std::string record = text_at(large, large_bytes);
      if (number_at(record, 0, 4) != 0x06064b50) refuse("its directory is not where it says");
      count_ = number_at(record, 32, 8);
      bytes = number_at(record, 40, 8);
      begin_ = number_at(record, 48, 8);
    }
    if (__builtin_add_overflow(begin_, bytes, &end_)) refuse("its directory lies outside of it");
  }

  /// Returns where the next entry begins.
  [[nodiscard]] std::size_t read_entry(const std::string& text, std::size_t at) {
    constexpr std::size_t fixed = 46;
    if (text.size() - at < fixed || number_at(text, at, 4) != 0x02014b50) refuse("its directory is damaged");
    const std::size_t name_bytes = number_at(text, at + 28, 2), extra_bytes = number_at(text, at + 30, 2);
    const std::size_t all = fixed + name_bytes + extra_bytes + number_at(text, at + 32, 2);
    if (text.size() - at < all) refuse("its directory is damaged");
    ZipEntry entry{text.substr(at + fixed, name_bytes),
                   static_cast<unsigned>(number_at(text, at + 10, 2)),
                   static_cast<std::uint32_t>(number_at(text, at + 16, 4)),
                   number_at(text, at + 20, 4),
                   number_at(text, at + 24, 4),
                   number_at(text, at + 42, 4)};
    if (number_at(text, at + 8, 2) & 1) refuse("'", locus::detail::printable(entry.name), "' is encrypted");
    read_large(std::string_view(text).substr(at + fixed + name_bytes, extra_bytes), entry);
    entries_.push_back(std::move(entry));
    return at + all;
  }
  /// Reads numbers that do not fit 32 bits from the extra field (zip64).
  void read_large(std::string_view extra, ZipEntry& entry) const {
    while (extra.size() >= 4) {
      const std::size_t bytes = number_at(extra, 2, 2);
      if (extra.size() - 4 < bytes) refuse("its directory is damaged");
      if (number_at(extra, 0, 2) == 1) {
        std::size_t at = 4;
        for (std::uint64_t* const number : {&entry.bytes, &entry.stored_bytes, &entry.header}) {
          if (*number != 0xffffffff) continue;
          if (at + 8 > 4 + bytes) refuse("its directory is damaged");
          *number = number_at(extra, at, 8);
          at += 8;
        }
      }
      extra.remove_prefix(4 + bytes);
    }
  }

  InputFile& file_;
  const std::string& what_;
  const char* writer_;
  std::uint64_t begin_ = 0, end_ = 0, count_ = 0;
  std::vector<ZipEntry> entries_;
  std::vector<std::uint64_t> headers_;  ///< positions of the local headers, ascending
};

/// The content of a file of an archive, from front to back.
class ZipReader {
 public:
  /// throws DataError
  ZipReader(InputFile& file, const ZipDirectory& directory, const ZipEntry& entry, const std::string& what)
      : file_(file),
        entry_(entry),
        what_(what),
        writer_(directory.writer()),
        stored_left_(entry.stored_bytes),
        left_(entry.bytes) {
    const std::uint64_t begin = directory.begin_of(entry);
    file_.go_to(begin);
    if (entry.method == 0 && entry.stored_bytes != entry.bytes) refuse("has two lengths");
    if (entry.method == 8) begin_inflating();
    else if (entry.method != 0)
      refuse("is compressed by method ", entry.method, "; expected none or deflate: write it again with ", writer_);
  }
  ZipReader(const ZipReader&) = delete;
  ZipReader& operator=(const ZipReader&) = delete;
  ~ZipReader() {
#if LOCUS_ZLIB
    (void)inflateEnd(&stream_);
#endif
  }

  /// Bytes still to come, if the file is not damaged.
  [[nodiscard]] std::uint64_t left() const { return left_; }
  /// Reads exactly `count` bytes, at most left(). The last bytes complete the checksum, which is compared. throws
  /// DataError
  void read(void* target, std::size_t count) {
    if (entry_.method == 0) {
      if (file_.read(target, count) != count) refuse("ended while it was read");
    } else {
      inflate_to(target, count);
    }
    crc_ = crc32_of(target, count, crc_);
    left_ -= count;
    if (left_ == 0 && crc_ != entry_.crc) refuse("is damaged: its checksum is another one; copy or download it again");
  }

 private:
  template <class... Text>
  [[noreturn]] void refuse(const Text&... why) const {
    fail<DataError>({what_, ": '", locus::detail::printable(entry_.name), "' ", why...});
  }
#if LOCUS_ZLIB
  void begin_inflating() {
    constexpr int deflate_alone = -15;  // windowBits, in words of zlib
    // Deflate shrinks a byte to no less than 1/1032.
    if (entry_.bytes / 1032 > entry_.stored_bytes) refuse("promises more bytes than it can hold");
    block_.resize(std::size_t{1} << 16);
    if (inflateInit2(&stream_, deflate_alone) != Z_OK)
      locus::detail::fail_out_of_memory({what_, ": zlib found no memory"});
  }
  void inflate_to(void* target, std::size_t count) {
    constexpr std::size_t most_at_once = std::size_t{1} << 30;
    for (std::size_t done = 0; done < count;) {
      if (stream_.avail_in == 0) fill();
      const auto room = static_cast<uInt>(locus::detail::smaller(count - done, most_at_once));
      stream_.next_out = static_cast<Bytef*>(target) + done;
      stream_.avail_out = room;
      const bool had_input = stream_.avail_in > 0;
      const int code = inflate(&stream_, Z_NO_FLUSH);
      done += room - stream_.avail_out;
      if (code == Z_MEM_ERROR) locus::detail::fail_out_of_memory({what_, ": zlib found no memory"});
      if ((code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) ||
          (done < count && (code == Z_STREAM_END || !had_input)))
        refuse("is damaged: ", stream_.msg ? stream_.msg : "it ends early", "; copy or download it again");
    }
  }
  void fill() {
    const std::size_t count = locus::detail::smaller<std::uint64_t>(block_.size(), stored_left_);
    if (file_.read(block_.data(), count) != count) refuse("ended while it was read");
    stored_left_ -= count;
    stream_.next_in = block_.data();
    stream_.avail_in = static_cast<uInt>(count);
  }
  std::vector<unsigned char> block_{};
  z_stream stream_{};
#else
  [[noreturn]] void begin_inflating() const {
    refuse("is compressed, and this program was built without zlib; ", how_to_build_with_zlib,
           ", or write it without compression");
  }
  [[noreturn]] void inflate_to(void*, std::size_t) const { begin_inflating(); }
#endif

  InputFile& file_;
  const ZipEntry& entry_;
  const std::string& what_;
  const char* writer_;
  std::uint64_t stored_left_, left_;
  std::uint32_t crc_ = 0;
};

#if LOCUS_ZLIB
/// Two texts, one behind the other, deflated.
[[nodiscard]] inline std::string deflated(const char* caller, std::string_view first, std::string_view second) {
  struct Stream : z_stream {
    Stream() : z_stream{} {}
    ~Stream() { (void)deflateEnd(this); }
  } stream;
  constexpr int deflate_alone = -15, memory_level = 8;
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, deflate_alone, memory_level, Z_DEFAULT_STRATEGY) != Z_OK)
    locus::detail::fail_out_of_memory({caller, ": zlib found no memory"});
  constexpr std::size_t most_at_once = std::size_t{1} << 30;
  std::string result, block(std::size_t{1} << 16, ' ');
  for (std::string_view rest = first; !rest.empty() || !second.empty();) {
    if (rest.empty()) rest = second, second = {};
    const std::size_t count = locus::detail::smaller(rest.size(), most_at_once);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest.data()));
    stream.avail_in = static_cast<uInt>(count);
    rest.remove_prefix(count);
    const int flush = rest.empty() && second.empty() ? Z_FINISH : Z_NO_FLUSH;
    do {
      stream.next_out = reinterpret_cast<Bytef*>(block.data());
      stream.avail_out = static_cast<uInt>(block.size());
      (void)deflate(&stream, flush);
      result.append(block, 0, block.size() - stream.avail_out);
    } while (stream.avail_out == 0);
  }
  return result;
}
#endif

/// Builds an archive of stored or deflated files, as parts to write one after another.
class ZipWriter {
 public:
  /// caller: for messages. files: number of files to be added. throws ArgumentError for too many, and for compression
  /// without zlib
  ZipWriter(const char* caller, std::size_t files, bool is_compressed = false)
      : caller_(caller), is_compressed_(is_compressed) {
#if !LOCUS_ZLIB
    if (is_compressed)
      fail<ArgumentError>(
          {caller, ": this program was built without zlib; ", how_to_build_with_zlib, ", or save without compression"});
#endif
    if (files > 0xfffe) fail<ArgumentError>({caller, ": ", files, " arrays; expected at most 65,534"});
    texts_.reserve(3 * files + 1);  // parts are views of these texts
  }
  /// Adds a file of two parts; the second part must live until all are written.
  void add(const std::string& name, std::string first, std::string_view second) {
    const std::uint64_t bytes = std::uint64_t{first.size()} + second.size(), at = offset_;
    const std::uint32_t crc = crc32_of(second.data(), second.size(), crc32_of(first.data(), first.size()));
#if LOCUS_ZLIB
    if (is_compressed_) first = deflated(caller_, first, second), second = {};
#endif
    const std::uint64_t stored_bytes = std::uint64_t{first.size()} + second.size();
    std::string common;  // to both headers
    append_number(common, 20, 2);
    append_number(common, 0x800, 2);  // the name is UTF-8
    append_number(common, is_compressed_ ? 8 : 0, 2);
    append_number(common, 0x00210000, 4);  // 1980-01-01: equal arrays give equal archives
    append_number(common, crc, 4);
    append_number(common, stored_bytes, 4);
    append_number(common, bytes, 4);
    append_number(common, name.size(), 2);
    append_number(common, 0, 2);
    std::string header("PK\3\4");
    header += common + name;
    directory_ += "PK\1\2";
    append_number(directory_, 20, 2);
    directory_ += common;
    directory_.append(10, '\0');
    append_number(directory_, at, 4);
    directory_ += name;
    put(std::move(header));
    put(std::move(first));
    parts_.push_back(second);
    offset_ += second.size();
    ++count_;
    if (name.size() > 0xffff || bytes > 0xfffffffe || offset_ + directory_.size() > 0xfffffffe)
      fail<ArgumentError>({caller_,
                           ": more than 4 GB of arrays, or a name of more than 65,535 bytes; save safetensors, "
                           "which may be larger"});
  }
  /// All parts; valid as long as this object and the added second parts.
  [[nodiscard]] const std::vector<std::string_view>& parts() {
    const std::uint64_t begin = offset_, bytes = directory_.size();
    std::string end = std::move(directory_) + "PK\5\6";
    append_number(end, 0, 4);
    append_number(end, count_, 2);
    append_number(end, count_, 2);
    append_number(end, bytes, 4);
    append_number(end, begin, 4);
    append_number(end, 0, 2);
    put(std::move(end));
    return parts_;
  }

 private:
  void put(std::string text) {
    offset_ += text.size();
    parts_.emplace_back(texts_.emplace_back(std::move(text)));
  }
  const char* caller_;
  bool is_compressed_;
  std::vector<std::string> texts_;
  std::vector<std::string_view> parts_;
  std::string directory_;
  std::uint64_t offset_ = 0, count_ = 0;
};

}}}  // namespace locus::LOCUS_ABI::io::detail
