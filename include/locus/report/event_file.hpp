#pragma once
// Files of TensorBoard's events: records of protocol buffers.
// https://github.com/tensorflow/tensorboard: tensorboard/compat/proto, and TFRecord for the framing of records.

#include <locus/core/std/posix.hpp>
#include <locus/core/std/shared.hpp>
#include <locus/io/zip.hpp>
#include <locus/report/record_file.hpp>

#include <array>
#include <cstdio>

namespace locus { inline namespace LOCUS_ABI { namespace io::detail {

/// CRC-32C (Castagnoli), of RFC 3720.
[[nodiscard]] LOCUS_OUT_OF_LINE inline std::uint32_t crc32c_of(std::string_view bytes) {
  static constexpr auto table = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      made[i] = i;
      for (int bit = 0; bit < 8; ++bit) made[i] = made[i] >> 1 ^ (made[i] & 1 ? 0x82f63b78u : 0u);
    }
    return made;
  }();
  std::uint32_t crc = ~0u;
  for (const char byte : bytes) crc = crc >> 8 ^ table[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~crc;
}
/// Masked as in records: the checksum of a text that holds its own checksum would be a constant.
[[nodiscard]] inline std::uint32_t masked_crc32c_of(std::string_view bytes) {
  const std::uint32_t crc = crc32c_of(bytes);
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

/// A record: its length in eight bytes, their checksum, the bytes, their checksum.
[[nodiscard]] inline std::string framed(std::string_view bytes) {
  std::string record;
  append_number(record, bytes.size(), 8);
  append_number(record, masked_crc32c_of(record), 4);
  record += bytes;
  append_number(record, masked_crc32c_of(bytes), 4);
  return record;
}

/// A message of protocol buffers (https://protobuf.dev/programming-guides/encoding), field by field.
class Message {
 public:
  Message& integer(int field, std::uint64_t value) {
    key(field, 0);
    varint(value);
    return *this;
  }
  Message& real(int field, double value) {
    key(field, 1);
    append_number(text_, __builtin_bit_cast(std::uint64_t, value), 8);
    return *this;
  }
  Message& real32(int field, float value) {
    key(field, 5);
    append_number(text_, __builtin_bit_cast(std::uint32_t, value), 4);
    return *this;
  }
  /// A string, bytes, or a message within this one.
  Message& bytes(int field, std::string_view value) {
    key(field, 2);
    varint(value.size());
    text_ += value;
    return *this;
  }
  Message& message(int field, const Message& value) { return bytes(field, value.text_); }
  Message& reals(int field, const std::vector<double>& values) {
    std::string packed;
    for (const double value : values) append_number(packed, __builtin_bit_cast(std::uint64_t, value), 8);
    return bytes(field, packed);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void key(int field, unsigned type) { varint(static_cast<unsigned>(field) << 3 | type); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(value | 0x80);
    text_ += static_cast<char>(value);
  }

  std::string text_;
};

/// A RecordFile of events.
class EventFile : public Counted {
 public:
  static constexpr const char* handle_name = "TensorBoard";
  /// throws DataError if the file cannot be opened, or its first record cannot be written
  explicit EventFile(const std::string& path) : records_(path, "events") {
    records_.begin(framed(Message().real(1, wall_time()).bytes(3, "brain.Event:2").text()));
  }

  /// Adds an event at a step whose summary has this value. An event that cannot be written is lost; the first loss is
  /// reported on stderr.
  void add(std::int64_t step, const Message& value) { add(step, 5, Message().message(1, value)); }
  /// Adds a restart of the run: TensorBoard drops events at this step and later ones from earlier files of the folder.
  void add_start(std::int64_t step) { add(step, 7, Message().integer(1, 1)); }  // SessionLog of status START
  /// Adds the graph of a model: a GraphDef.
  void add_graph(const Message& graph) { add(0, 4, graph); }
  [[nodiscard]] const std::string& path() const { return records_.path(); }

 private:
  /// Adds an event with this field.
  LOCUS_OUT_OF_LINE void add(std::int64_t step, int field, const Message& content) {
    records_.add(framed(
        Message().real(1, wall_time()).integer(2, static_cast<std::uint64_t>(step)).message(field, content).text()));
  }

  RecordFile records_;
};

/// Makes a folder and those above it. throws DataError
inline void make_folders(const std::string& folder) {
  require_path("create a folder by the name of", folder);
  for (std::size_t at = folder.find('/', 1);; at = folder.find('/', at + 1)) {
    const std::string part = folder.substr(0, at);
    struct stat info {};
    int error = mkdir(part.c_str(), 0777) == 0 ? 0 : errno;
    if (error && stat(part.c_str(), &info) == 0) error = S_ISDIR(info.st_mode) ? 0 : ENOTDIR;
    if (error) {
      fail<DataError>({"cannot create the folder '", locus::detail::printable(folder, 200), "': ", std::strerror(error),
                       " ('", locus::detail::printable(part, 200), "'); expected a folder that you may write to"});
    }
    if (at == std::string::npos) return;
  }
}

/// A unique name of an event file.
[[nodiscard]] inline std::string event_file_in(const std::string& folder) {
  static Atomic<int> made{0};
  char host[256] = "host", seconds[32];
  (void)gethostname(host, sizeof host - 1);
  std::snprintf(seconds, sizeof seconds, "%010lld", static_cast<long long>(wall_time()));
  return join(folder, folder.back() == '/' ? "" : "/", "events.out.tfevents.", seconds, ".", host, ".", getpid(), ".",
              made.fetch_add(1, Order::relaxed));
}

}}}  // namespace locus::LOCUS_ABI::io::detail
