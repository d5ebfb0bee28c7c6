#pragma once
// Reading tensors of ONNX files: bytes in the file itself, lists of numbers, and external files.

#include <locus/interop/onnx/fields.hpp>
#include <locus/interop/onnx/graph.hpp>
#include <locus/io/mapped_memory.hpp>

#include <climits>
#include <cstdlib>

namespace locus { inline namespace LOCUS_ABI { namespace onnx::detail {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "ONNX files hold little-endian numbers");

/// Bits of an element; 0 for types of other sizes, such as strings.
[[nodiscard]] constexpr std::uint64_t bits_of(DataType type) {
  if (has_element_type(type)) return 8 * static_cast<std::uint64_t>(size_of(element_type(type)));
  switch (static_cast<std::int32_t>(type)) {
    case 14: return 64;
    case 15: return 128;
    case 17:
    case 18:
    case 19:
    case 20:
    case 24: return 8;
    case 21:
    case 22:
    case 23: return 4;
    case 25:
    case 26: return 2;
    default: return 0;
  }
}

[[nodiscard]] inline Tensor<std::uint8_t, Cpu> new_bytes(std::uint64_t count) {
  return Tensor<std::uint8_t, Cpu>(Shape{static_cast<std::int64_t>(count)});
}
[[nodiscard]] inline Buffer<Cpu> mapped(io::detail::InputFile opened) {
  return io::detail::memory_of(new io::detail::MappedFile(std::move(opened)));
}

/// The files of a model: its own memory, its folder, and the external files that were mapped.
class Files {
 public:
  Files(std::string what, std::string folder, Buffer<Cpu> memory)
      : what_(std::move(what)), folder_(std::move(folder)), memory_(std::move(memory)) {}

  [[nodiscard]] const std::string& what() const { return what_; }
  /// Bytes of the model file, shared.
  [[nodiscard]] Tensor<std::uint8_t, Cpu> own(protozero::data_view view) const {
    const auto begin = static_cast<std::uint64_t>(view.data() - static_cast<const char*>(memory_.data()));
    return io::detail::bytes_in(memory_, begin, view.size());
  }
  /// Bytes of an external file, shared. throws DataError for a file outside the model's folder, or one too short
  [[nodiscard]] Tensor<std::uint8_t, Cpu> external(const std::string& tensor, const std::string& location,
                                                   std::uint64_t offset, std::uint64_t count) {
    const Buffer<Cpu>& file = open(tensor, location);
    if (offset > file.bytes() || count > file.bytes() - offset)
      fail<DataError>({what_, ": ", tensor, " is ", count, " bytes from byte ", offset, " of external file '",
                       locus::detail::printable(location), "', which has ", file.bytes()});
    if (count == 0) return new_bytes(0);
    return io::detail::bytes_in(file, offset, count);
  }

 private:
  struct External {
    std::string location;
    Buffer<Cpu> memory;
  };
  [[nodiscard]] const Buffer<Cpu>& open(const std::string& tensor, const std::string& location) {
    for (const External& known : externals_)
      if (known.location == location) return known.memory;
    if (folder_.empty())
      fail<DataError>({what_, ": ", tensor, " is in an external file; expected a model that was read by read_onnx"});
    require_inside(tensor, location);
    io::detail::InputFile file(folder_ + "/" + location, "a file of ONNX tensors");
    Buffer<Cpu> memory = file.bytes() == 0 ? Buffer<Cpu>(Cpu{}, 0) : mapped(std::move(file));
    return externals_.emplace_back(External{location, std::move(memory)}).memory;
  }
  /// Symbolic links are followed first, so that none leads out of the folder.
  void require_inside(const std::string& tensor, const std::string& location) const {
    char real_folder[PATH_MAX], real_file[PATH_MAX];
    const std::string path = folder_ + "/" + location;
    const bool is_plain = !location.empty() && location[0] != '/' && location.find('\0') == std::string::npos &&
                          ("/" + location + "/").find("/../") == std::string::npos;
    const bool is_inside =
        is_plain && realpath(folder_.c_str(), real_folder) &&
        (!realpath(path.c_str(), real_file) ||
         std::string_view(real_file).starts_with(
             std::string_view(real_folder) == "/" ? std::string("/") : std::string(real_folder) + "/"));
    if (!is_inside)
      fail<DataError>({what_, ": ", tensor, " is in external file '", locus::detail::printable(location),
                       "'; expected a file in the model's folder"});
  }

  std::string what_, folder_;
  Buffer<Cpu> memory_;
  std::vector<External> externals_;
};

/// The fields of a TensorProto that hold elements.
struct TensorFields {
  std::vector<std::int64_t> integers;  ///< int32_data, int64_data, uint64_data
  std::vector<float> floats;
  std::vector<double> doubles;
  protozero::data_view raw{};
  bool has_raw = false, is_external = false;
  std::string location;
  std::string offset = "0", length;
};

/// Writes numbers as elements of T; their count is checked by the caller.
template <class T, class N>
[[nodiscard]] Tensor<std::uint8_t, Cpu> elements_of(const std::vector<N>& numbers) {
  auto bytes = new_bytes(numbers.size() * sizeof(T));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const T element = static_cast<T>(numbers[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &element, sizeof(T));
  }
  return bytes;
}
/// The bytes of elements that are lists of numbers: integers of 32 bits and less, and 16-bit floats as their bits.
[[nodiscard]] inline Tensor<std::uint8_t, Cpu> listed_elements(DataType type, const TensorFields& fields) {
  if (!fields.floats.empty()) return elements_of<float>(fields.floats);
  if (!fields.doubles.empty()) return elements_of<double>(fields.doubles);
  switch (bits_of(type)) {
    case 64: return elements_of<std::int64_t>(fields.integers);
    case 32: return elements_of<std::int32_t>(fields.integers);
    case 16: return elements_of<std::uint16_t>(fields.integers);
    default: return elements_of<std::uint8_t>(fields.integers);
  }
}

class TensorReader {
 public:
  explicit TensorReader(Files& files) : files_(files) {}

  [[nodiscard]] TensorData read(protozero::data_view bytes) {
    TensorData tensor;
    TensorFields found;
    for (Fields fields(files_.what(), "Tensor", bytes); fields.next();) read_field(fields, tensor, found);
    const std::string what = join(files_.what(), ": ", name_of(tensor));
    const std::uint64_t count = element_count(what, tensor.shape);
    if (tensor.type == DataType::string) return require_count(what, count, tensor.strings.size()), tensor;
    const std::uint64_t bits = bits_of(tensor.type);
    if (bits == 0) fail<DataError>({what, ": elements of unknown ", to_string(tensor.type)});
    if (count > UINT64_MAX / 128) fail<DataError>({what, ": its shape has more than 2^57 elements"});
    const std::uint64_t expected = (count * bits + 7) / 8;
    if (found.is_external) tensor.bytes = read_external(what, found, expected);
    else if (found.has_raw) tensor.bytes = files_.own(found.raw);
    else tensor.bytes = listed_elements(tensor.type, found);
    if (const auto given = static_cast<std::uint64_t>(tensor.bytes.elements()); given != expected)
      fail<DataError>({what, " has ", given, " bytes; expected ", expected, " for ", count, " elements of ",
                       to_string(tensor.type)});
    return tensor;
  }

 private:
  static void read_field(Fields& fields, TensorData& tensor, TensorFields& found) {
    switch (fields.tag()) {
      case 1: return fields.append_to(tensor.shape);
      case 2: tensor.type = static_cast<DataType>(fields.integer()); return;
      case 4: return fields.append_to(found.floats);
      case 5:
      case 7:
      case 11: return fields.append_to(found.integers);
      case 6: tensor.strings.push_back(fields.text()); return;
      case 8: tensor.name = fields.text(); return;
      case 9:
        found.raw = fields.view();
        found.has_raw = true;
        return;
      case 10: return fields.append_to(found.doubles);
      case 13: return read_external_entry(fields, found);
      case 14: found.is_external = fields.integer() == 1; return;
      default: fields.skip();
    }
  }
  static void read_external_entry(Fields& fields, TensorFields& found) {
    std::string key, value;
    for (Fields entry(fields.what(), "StringStringEntry", fields.view()); entry.next();) {
      if (entry.tag() == 1) key = entry.text();
      else if (entry.tag() == 2) value = entry.text();
      else entry.skip();
    }
    if (key == "location") found.location = value;
    else if (key == "offset") found.offset = value;
    else if (key == "length") found.length = value;
  }
  [[nodiscard]] static std::uint64_t number(const std::string& what, const char* key, const std::string& text) {
    std::uint64_t value = 0;
    bool is_number = !text.empty();
    for (const char c : text)
      is_number = is_number && c >= '0' && c <= '9' && !__builtin_mul_overflow(value, 10u, &value) &&
                  !__builtin_add_overflow(value, static_cast<unsigned>(c - '0'), &value);
    if (!is_number)
      fail<DataError>({what, ": ", key, " '", locus::detail::printable(text), "' of its external file is no number"});
    return value;
  }
  [[nodiscard]] Tensor<std::uint8_t, Cpu> read_external(const std::string& what, const TensorFields& found,
                                                        std::uint64_t expected) {
    const std::uint64_t length = found.length.empty() ? expected : number(what, "length", found.length);
    if (length != expected) fail<DataError>({what, " has ", length, " bytes in an external file; expected ", expected});
    return files_.external(what, found.location, number(what, "offset", found.offset), length);
  }
  static void require_count(const std::string& what, std::uint64_t expected, std::uint64_t given) {
    if (given != expected) fail<DataError>({what, " has ", given, " strings; expected ", expected});
  }

  Files& files_;
};

}}}  // namespace locus::LOCUS_ABI::onnx::detail
