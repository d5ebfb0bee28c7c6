#pragma once
// Files of tokens, 16 or 32 bits each: of nanoGPT's prepare.py, of llm.c's dev/data, and of numpy.save.

#include <locus/core/moved.hpp>
#include <locus/core/std/shared.hpp>
#include <locus/core/std/span.hpp>
#include <locus/data/files/mapped_file.hpp>
#include <locus/data/files/npy_header.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace data {

struct TokenFileOptions {
  int bits = 16;  ///< of a token, 16 or 32, in a file without a header; other files say it
};

namespace detail {
/// llm.c's header: 256 numbers of int32, of which the first three are these and the number of tokens. No file of tokens
/// of GPT-2 or Llama 3 without a header begins so: its first token would be beyond the vocabulary.
struct TokenHeader {
  std::int32_t magic, version;
  int bits;
  static constexpr std::uint64_t bytes = 256 * sizeof(std::int32_t);
};
inline constexpr TokenHeader token_headers[] = {{20240520, 1, 16}, {20240801, 7, 32}};

/// The tokens in the memory of a file.
struct PlacedTokens {
  std::uint64_t begin;  ///< in bytes
  std::uint64_t count;
  int bits;
};

/// The tokens behind a header of llm.c. throws DataError
[[nodiscard]] LOCUS_OUT_OF_LINE inline PlacedTokens tokens_behind(const TokenHeader& header, const std::string& path,
                                                                  const unsigned char* data, std::uint64_t bytes) {
  std::int32_t numbers[3] = {};
  std::memcpy(numbers, data, sizeof numbers);
  if (numbers[1] != header.version)
    fail<DataError>({"'", path, "' is a token file of version ", numbers[1], "; expected version ", header.version,
                     ", tokens of ", header.bits, " bits: write it anew"});
  if (bytes < TokenHeader::bytes)
    fail<DataError>({"'", path, "' ends within its header; expected ", TokenHeader::bytes, " bytes before the tokens"});
  const std::uint64_t rest = bytes - TokenHeader::bytes, each = static_cast<std::uint64_t>(header.bits) / 8;
  const std::uint64_t announced = std::uint32_t(numbers[2]);
  if (rest % each != 0 || rest / each != announced)
    fail<DataError>({"'", path, "' announces ", announced, " tokens of ", each, " bytes and holds ", rest,
                     " bytes of tokens; was it truncated?"});
  return {TokenHeader::bytes, announced, header.bits};
}
/// The tokens of a file of numpy.save. throws DataError
[[nodiscard]] LOCUS_OUT_OF_LINE inline PlacedTokens tokens_of_npy(const std::string& path, const unsigned char* data,
                                                                  std::uint64_t bytes) {
  const std::string what = join("cannot read '", path, "' as tokens of .npy");
  io::detail::BytesInMemory source(data, bytes, what);
  const io::detail::NpyArray array = io::detail::read_npy_header(source, what);
  const bool is_known = array.type == ElementType::uint16 || array.type == ElementType::uint32;
  if (!array.unread.empty() || !is_known || array.shape.rank() != 1)
    fail<DataError>({what, ": it holds ",
                     array.unread.empty() ? join(dtype_name(array.type), " in shape ", array.shape) : array.unread,
                     "; expected one dimension of uint16 or uint32: save it with .ravel().astype('<u2')"});
  const std::uint64_t begin = bytes - source.left(), each = size_of(array.type);
  if (begin % each != 0)
    fail<DataError>({what, ": its header has ", begin, " bytes; numpy.save writes a multiple of 16"});
  return {begin, source.left() / each, static_cast<int>(8 * each)};
}
/// The tokens of a file of any kind. throws ArgumentError, DataError
[[nodiscard]] LOCUS_OUT_OF_LINE inline PlacedTokens placed_tokens(const std::string& path, const unsigned char* data,
                                                                  std::uint64_t bytes,
                                                                  const TokenFileOptions& options) {
  if (options.bits != 16 && options.bits != 32)
    fail<ArgumentError>({"TokenFile: .bits = ", options.bits, "; expected 16 or 32"});
  std::int32_t magic = 0;
  if (bytes >= 3 * sizeof magic) std::memcpy(&magic, data, sizeof magic);
  for (const TokenHeader& header : token_headers)
    if (magic == header.magic) return tokens_behind(header, path, data, bytes);
  if (std::string_view(reinterpret_cast<const char*>(data), bytes).starts_with(io::detail::npy_magic))
    return tokens_of_npy(path, data, bytes);
  const std::uint64_t each = static_cast<std::uint64_t>(options.bits) / 8;
  if (bytes % each != 0)
    fail<DataError>({"'", path, "' has ", bytes, " bytes of tokens; expected a multiple of ", each, ", the bytes of a ",
                     "token: was it truncated, or is it another kind of file?"});
  return {0, bytes / each, options.bits};
}
}  // namespace detail

/// The tokens of a file, mapped into memory: pages come from the disk when they are first read, and processes share
/// them. The file holds numbers of 16 bits, or of 32, and nothing else, as nanoGPT's train.bin; or behind the header of
/// llm.c or of numpy.save. Copies share the mapping. Replace the file by a new one while it is mapped; do not write to
/// it.
///
///     const data::TokenFile tokens("fineweb_train_000001.bin");
///     tokens[0];        // 50256, the end of a text, if tiktoken's GPT-2 made them
class TokenFile {
 public:
  /// throws DataError naming the path if the file is missing, empty, damaged, or of another kind; ArgumentError for
  /// other bits than 16 and 32; OutOfMemory
  explicit TokenFile(const std::string& path, const TokenFileOptions& options = {}) {
    io::detail::InputFile file(path, "a file of tokens, 16 or 32 bits each");
    if (file.bytes() == 0) fail<DataError>({"'", path, "' is empty; expected tokens, 16 or 32 bits each"});
    file_ = Shared<const io::detail::MappedFile>(new io::detail::MappedFile(std::move(file)));
    placed_ = detail::placed_tokens(path, file_->data(), file_->bytes(), options);
    path_ = path;
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::int64_t size() const {
    presence_.require("TokenFile");
    return static_cast<std::int64_t>(placed_.count);
  }
  /// Of a token in the file: 16 or 32.
  [[nodiscard]] int bits() const { return placed_.bits; }
  /// position: 0 to size() - 1, not checked
  [[nodiscard]] std::uint32_t operator[](std::int64_t position) const {
    presence_.require("TokenFile");
    const auto at = static_cast<std::size_t>(position);
    return placed_.bits == 16 ? memory<std::uint16_t>()[at] : memory<std::uint32_t>()[at];
  }
  /// The tokens as they lie in the file: of uint16, or uint32. throws ArgumentError for the other type
  template <class T = std::uint16_t>
    requires(std::is_same_v<T, std::uint16_t> || std::is_same_v<T, std::uint32_t>)
  [[nodiscard]] Span<const T> tokens() const {
    presence_.require("TokenFile");
    if (placed_.bits != static_cast<int>(8 * sizeof(T)))
      fail<ArgumentError>(
          {"'", path_, "' has tokens of ", placed_.bits, " bits; say tokens<std::uint", placed_.bits, "_t>()"});
    return {memory<T>(), static_cast<std::size_t>(placed_.count)};
  }
  /// throws DataError if the file became shorter: reading a missing page would end the program
  void require_readable() const {
    presence_.require("TokenFile");
    file_->require_readable();
  }

 private:
  template <class T>
  [[nodiscard]] const T* memory() const {
    return reinterpret_cast<const T*>(file_->data() + placed_.begin);
  }

  locus::detail::Presence presence_;
  std::string path_;
  Shared<const io::detail::MappedFile> file_;
  detail::PlacedTokens placed_{};
};

/// Several files of tokens as one text, in the order given.
///
///     const data::TokenFiles tokens({"fineweb_train_000001.bin", "fineweb_train_000002.bin"});
class TokenFiles {
 public:
  template <class F>
    requires std::is_same_v<std::remove_cvref_t<F>, TokenFile>  // so that TokenFiles({path}) takes a path
  TokenFiles(F&& file) {
    add(std::forward<F>(file));
  }
  /// throws as TokenFile; ArgumentError without a file
  explicit TokenFiles(const std::vector<std::string>& paths, const TokenFileOptions& options = {}) {
    if (paths.empty()) fail<ArgumentError>({"TokenFiles: no files; expected one or more"});
    for (const std::string& path : paths) add(TokenFile(path, options));
  }

  /// Tokens of all files.
  [[nodiscard]] std::int64_t size() const { return ends_.empty() ? 0 : ends_.back(); }
  [[nodiscard]] const std::vector<TokenFile>& files() const { return files_; }
  /// Copies tokens from position `first` on. throws IndexError for positions outside 0 to size(); DataError for a file
  /// that was truncated, and, naming its file and position, for a token of at least `vocab_size`
  void read(std::int64_t first, Span<std::int64_t> to, std::int64_t vocab_size) const {
    if (first < 0 || first > size() || static_cast<std::uint64_t>(size() - first) < to.size())
      fail<IndexError>({"TokenFiles: ", to.size(), " tokens from position ", first, "; the files have ", size()});
    std::size_t at = 0, done = 0;
    while (at < files_.size() && ends_[at] <= first) ++at;
    for (; done < to.size(); ++at) {
      const TokenFile& file = files_[at];
      file.require_readable();
      const std::int64_t begin = ends_[at] - file.size();
      const auto copy = [&](const auto& tokens) {
        std::int64_t position = first + static_cast<std::int64_t>(done) - begin;
        for (; done < to.size() && position < file.size(); ++position) {
          const std::int64_t token = to[done++] = tokens[static_cast<std::size_t>(position)];
          if (token >= vocab_size) [[unlikely]]
            refuse(file, position, vocab_size);
        }
      };
      if (file.bits() == 16) copy(file.tokens<std::uint16_t>());
      else copy(file.tokens<std::uint32_t>());
    }
  }

 private:
  void add(TokenFile file) {
    ends_.push_back(size() + file.size());
    files_.push_back(std::move(file));
  }
  [[noreturn]] LOCUS_COLD static void refuse(const TokenFile& file, std::int64_t position, std::int64_t vocab_size) {
    fail<DataError>({"'", file.path(), "': token ", file[position], " at position ", position,
                     " is beyond the vocabulary; expected 0 to ", vocab_size - 1,
                     ": is the file of another tokenizer?"});
  }

  std::vector<TokenFile> files_;
  std::vector<std::int64_t> ends_;  ///< the tokens up to the end of each file
};

}}}  // namespace locus::LOCUS_ABI::data
