#pragma once
// The parts of a safetensors file: the length of the header, the header, the bytes of the tensors.

#include <locus/io/safetensors_header.hpp>

#include <bit>

namespace locus { inline namespace LOCUS_ABI { namespace io::detail {

static_assert(std::endian::native == std::endian::little, "safetensors files hold little-endian numbers");

/// The tensors of a file; `begin` is the byte after its header.
struct Contents {
  std::vector<Placed> tensors;
  std::uint64_t begin;
  std::vector<SafetensorsText> metadata;
  std::string run;  ///< the text of save_training()
};

inline constexpr std::uint64_t header_length_bytes = 8;

/// The length of the header of a file of `bytes` bytes, of which `begin` has the first eight. throws DataError
[[nodiscard]] inline std::uint64_t header_length(std::string_view begin, std::uint64_t bytes, const std::string& what) {
  constexpr std::uint64_t most = 100'000'000;  // as in the reference implementation
  if (bytes < header_length_bytes) fail<DataError>({what, ": it has ", bytes, " bytes; expected at least 8"});
  const std::uint64_t length = number_at(begin, 0, static_cast<int>(header_length_bytes));
  const std::uint64_t rest = bytes - header_length_bytes;
  if (length <= rest && length <= most) return length;
  if (begin.starts_with("PK\3\4"))
    fail<DataError>({what, ": it is a zip archive; io::load_torch reads those of torch.save, io::load_npz NumPy's"});
  if (begin.starts_with("GGUF")) fail<DataError>({what, ": it is a GGUF file; io::load_gguf reads it"});
  fail<DataError>({what, ": it is no safetensors file, or cut off. Its first 8 bytes promise a header of ", length,
                   " bytes; it has ", rest, ", and at most ", most, " are read"});
}

/// The contents by the text of the header of a file of `bytes` bytes. throws DataError
[[nodiscard]] inline Contents contents_of(std::string_view header, std::uint64_t bytes, const std::string& what) {
  const std::uint64_t begin = header_length_bytes + header.size();
  HeaderReader reader(header, what, bytes - begin);
  std::vector<Placed> tensors = reader.read();
  std::string run = reader.run();
  return {std::move(tensors), begin, std::move(reader.metadata()), std::move(run)};
}

/// The contents of a whole file in memory. throws DataError
[[nodiscard]] inline Contents parse_contents(std::string_view file, const std::string& what) {
  const std::uint64_t length = header_length(file, file.size(), what);
  return contents_of(file.substr(header_length_bytes, length), file.size(), what);
}

/// The bytes of a tensor. throws ArgumentError for a type that is unknown, and for more than 2^63 bytes
[[nodiscard]] inline std::uint64_t bytes_of_tensor(std::string_view type, const std::vector<std::uint64_t>& shape,
                                                   const std::string& what) {
  const SafetensorsType* const known = safetensors_type(type);
  if (!known)
    fail<ArgumentError>({what, " has dtype '", locus::detail::printable(type),
                         "'; expected a type of the format, such as F32, BF16, I64 or F8_E4M3"});
  std::uint64_t bytes = known->bytes;
  bool overflows = false, is_empty = false;
  for (const std::uint64_t extent : shape) {
    is_empty |= extent == 0;
    overflows |= __builtin_mul_overflow(bytes, extent, &bytes) || bytes > INT64_MAX;
  }
  if (overflows && !is_empty) fail<ArgumentError>({what, " has more than 2^63 bytes"});
  return is_empty ? 0 : bytes;
}

}}}  // namespace locus::LOCUS_ABI::io::detail
