#pragma once
// Files of tokens, 16 bits each, as nanoGPT's prepare.py and llm.c's dev/data write them.

#include <locus/core/moved.hpp>
#include <locus/core/std/shared.hpp>
#include <locus/core/std/span.hpp>
#include <locus/data/files/mapped_file.hpp>

#include <cstdint>
#include <string>

namespace locus { inline namespace LOCUS_ABI { namespace data {

namespace detail {
/// llm.c's header: 256 numbers of int32, of which the first three are these and the number of tokens. No file of
/// GPT-2's tokens without a header begins so: the first two bytes are a token of 55,432.
struct TokenHeader {
  static constexpr std::int32_t magic = 20240520, version = 1;
  static constexpr std::uint64_t bytes = 256 * sizeof(std::int32_t);
};

/// Where the tokens of a mapped file begin, in bytes. throws DataError unless the rest of the file are its tokens
[[nodiscard]] LOCUS_OUT_OF_LINE inline std::uint64_t begin_of_tokens(const std::string& path, const unsigned char* data,
                                                                     std::uint64_t bytes) {
  std::int32_t header[3] = {};
  if (bytes >= sizeof header) std::memcpy(header, data, sizeof header);
  const bool has_header = header[0] == TokenHeader::magic;
  if (has_header && header[1] != TokenHeader::version)
    fail<DataError>({"'", path, "' is a token file of version ", header[1], "; expected version ", TokenHeader::version,
                     ", tokens of 16 bits: write it anew for GPT-2"});
  if (has_header && bytes < TokenHeader::bytes)
    fail<DataError>({"'", path, "' ends within its header; expected ", TokenHeader::bytes, " bytes before the tokens"});
  const std::uint64_t begin = has_header ? TokenHeader::bytes : 0, rest = bytes - begin;
  if (rest % sizeof(std::uint16_t) != 0)
    fail<DataError>({"'", path, "' has ", rest, " bytes of tokens; expected an even number, 2 for each token: was it ",
                     "truncated, or is it another kind of file?"});
  if (has_header && rest / sizeof(std::uint16_t) != static_cast<std::uint64_t>(std::uint32_t(header[2])))
    fail<DataError>({"'", path, "' announces ", std::uint32_t(header[2]), " tokens and holds ",
                     rest / sizeof(std::uint16_t), "; was it truncated?"});
  return begin;
}
}  // namespace detail

/// The tokens of a file, mapped into memory: pages come from the disk when they are first read, and processes share
/// them. The file holds numbers of 16 bits and nothing else, as nanoGPT's train.bin, or behind the header of llm.c.
/// Copies share the mapping. Replace the file by a new one while it is mapped; do not write to it.
///
///     const data::TokenFile tokens("fineweb_train_000001.bin");
///     tokens[0];        // 50256, the end of a text, if tiktoken's GPT-2 made them
class TokenFile {
 public:
  /// throws DataError naming the path if the file is missing, empty, damaged, or of another kind; OutOfMemory
  explicit TokenFile(const std::string& path) {
    io::detail::InputFile file(path, "a file of tokens, 16 bits each");
    if (file.bytes() == 0) fail<DataError>({"'", path, "' is empty; expected tokens, 16 bits each"});
    file_ = Shared<const io::detail::MappedFile>(new io::detail::MappedFile(std::move(file)));
    const std::uint64_t bytes = file_->bytes();
    const std::uint64_t begin = detail::begin_of_tokens(path, file_->data(), bytes);
    tokens_ = Span<const std::uint16_t>(reinterpret_cast<const std::uint16_t*>(file_->data() + begin),
                                        static_cast<std::size_t>((bytes - begin) / sizeof(std::uint16_t)));
    path_ = path;
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(tokens().size()); }
  /// position: 0 to size() - 1, not checked
  [[nodiscard]] std::uint16_t operator[](std::int64_t position) const {
    return tokens()[static_cast<std::size_t>(position)];
  }
  [[nodiscard]] Span<const std::uint16_t> tokens() const {
    presence_.require("TokenFile");
    return tokens_;
  }
  /// throws DataError if the file became shorter: reading a missing page would end the program
  void require_readable() const {
    presence_.require("TokenFile");
    file_->require_readable();
  }

 private:
  locus::detail::Presence presence_;
  std::string path_;
  Shared<const io::detail::MappedFile> file_;
  Span<const std::uint16_t> tokens_;
};

}}}  // namespace locus::LOCUS_ABI::data
