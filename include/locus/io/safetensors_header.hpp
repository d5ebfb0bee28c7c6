#pragma once
// Headers of safetensors files: the tensors and their places. https://github.com/huggingface/safetensors

#include <locus/core/element_type.hpp>
#include <locus/core/little_endian.hpp>
#include <locus/core/shape.hpp>
#include <locus/core/std/span.hpp>
#include <locus/io/json.hpp>
#include <locus/io/json_reader.hpp>

#include <map>
#include <set>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace io::detail {

/// A type of the format: name, size in bytes, and ElementType if `is_known`; others cannot be read.
struct SafetensorsType {
  std::string_view name;
  std::uint64_t bytes;
  bool is_known;
  ElementType type;
};
inline constexpr SafetensorsType safetensors_types[] = {{"F32", 4, true, ElementType::float32},
                                                        {"F64", 8, true, ElementType::float64},
                                                        {"I32", 4, true, ElementType::int32},
                                                        {"I64", 8, true, ElementType::int64},
                                                        {"U8", 1, true, ElementType::uint8},
                                                        {"BOOL", 1, true, ElementType::boolean},
                                                        {"F16", 2, true, ElementType::float16},
                                                        {"BF16", 2, true, ElementType::bfloat16},
                                                        {"I8", 1, true, ElementType::int8},
                                                        {"I16", 2, true, ElementType::int16},
                                                        {"U16", 2, true, ElementType::uint16},
                                                        {"U32", 4, true, ElementType::uint32},
                                                        {"U64", 8, true, ElementType::uint64},
                                                        {"C64", 8, true, ElementType::complex64},
                                                        {"F8_E4M3", 1, false, {}},
                                                        {"F8_E5M2", 1, false, {}},
                                                        {"F8_E8M0", 1, false, {}}};

/// The type of a name; null for a name that is unknown.
[[nodiscard]] constexpr const SafetensorsType* safetensors_type(std::string_view name) {
  for (const SafetensorsType& each : safetensors_types)
    if (each.name == name) return &each;
  return nullptr;
}
/// The format's name of a type; empty where it has none.
[[nodiscard]] constexpr std::string_view safetensors_name(ElementType type) {
  for (const SafetensorsType& each : safetensors_types)
    if (each.is_known && each.type == type) return each.name;
  return "";
}
/// The same of a tensor that is written. throws ArgumentError for complex128, which the format lacks
[[nodiscard]] LOCUS_OUT_OF_LINE inline std::string_view written_safetensors_name(std::string_view tensor,
                                                                                 ElementType type) {
  const std::string_view name = safetensors_name(type);
  if (name.empty())
    fail<ArgumentError>({"safetensors: tensor '", locus::detail::printable(tensor), "' holds ", dtype_name(type),
                         ", which the format has no type for; convert it with .as<complex64>(), or save it as .npy"});
  return name;
}

/// The key in a file's metadata of the run that wrote it: other programs write keys of their own.
inline constexpr std::string_view run_key = "locus.run";

/// A tensor as a header describes it; begin and end in bytes from the end of the header.
struct Placed {
  std::string name, unread;  ///< unread: if it cannot be read, its type and shape for messages
  ElementType type;
  Shape shape;
  std::uint64_t begin, end;
  std::string type_name;  ///< in words of the format
  std::vector<std::uint64_t> extents;
};

/// A text of the metadata by its key.
using SafetensorsText = std::pair<std::string, std::string>;

/// Reads the header of a file that has `available` bytes after it.
class HeaderReader {
 public:
  /// The second argument begins messages: "cannot read 'model' as safetensors"
  HeaderReader(std::string_view text, std::string what, std::uint64_t available)
      : text_(text),
        what_(std::move(what)),
        json_what_(what_ + ": its header is no JSON object"),
        available_(available) {}

  /// The tensors in the order of their bytes, which must cover the file. throws DataError
  [[nodiscard]] std::vector<Placed> read() {
    std::set<std::string> names;
    std::multimap<std::pair<std::uint64_t, std::uint64_t>, Placed> by_place;
    JsonReader json(text_, json_what_);
    json.object([&](const std::string& name) {
      if (!names.insert(name).second) refuse(quoted(name), " is there twice");
      if (name == "__metadata__") return read_metadata(json.value());
      Placed tensor = placed(name, json);
      by_place.emplace(std::pair(tensor.begin, tensor.end), std::move(tensor));
    });
    json.expect_end();
    std::vector<Placed> tensors;
    tensors.reserve(by_place.size());
    std::uint64_t end = 0;
    for (auto& [place, tensor] : by_place) {
      if (tensor.begin != end)
        refuse(quoted(tensor.name), " begins at byte ", tensor.begin, ", but the one before it ends at ", end);
      end = tensor.end;
      tensors.push_back(std::move(tensor));
    }
    if (end != available_) refuse("its tensors have ", end, " bytes; it has ", available_);
    return tensors;
  }
  /// After read(): the texts of the metadata.
  [[nodiscard]] std::vector<SafetensorsText>& metadata() { return metadata_; }
  /// After read(): the text of the metadata by run_key; empty if there is none.
  [[nodiscard]] std::string run() const {
    for (const auto& [key, text] : metadata_)
      if (key == run_key) return text;
    return {};
  }

 private:
  template <class... Text>
  [[noreturn]] void refuse(const Text&... why) const {
    fail<DataError>({what_, ": ", why...});
  }
  [[nodiscard]] static std::string quoted(std::string_view name) {
    return join("\"", locus::detail::printable(name), "\"");
  }

  void read_metadata(std::string_view text) {
    std::set<std::string> keys;
    JsonReader json(text, json_what_);
    const auto refuse_it = [&] {
      refuse("its __metadata__ is ", locus::detail::printable(text), "; expected an object of strings");
    };
    if (json.next() != '{') refuse_it();
    json.object([&](const std::string& key) {
      const std::string_view value = json.value();
      if (value.front() != '"') refuse_it();
      metadata_.emplace_back(key, JsonReader(value, json_what_).string());
      if (!keys.insert(key).second) refuse(quoted(key), " is there twice");
    });
  }

  /// Reads a tensor's description, the next value of `json`.
  [[nodiscard]] Placed placed(const std::string& name, JsonReader& json) const {
    constexpr std::string_view keys[] = {"dtype", "shape", "data_offsets"};
    std::string_view values[3];
    if (json.next() != '{') refuse(quoted(name), " has no dtype");
    json.object([&](const std::string& key) {
      const std::string_view value = json.value();
      for (std::size_t i = 0; i < 3; ++i) {
        if (key != keys[i]) continue;
        if (!values[i].empty()) refuse(quoted(key), " is there twice, in ", quoted(name));
        values[i] = value;
      }
    });
    for (std::size_t i = 0; i < 3; ++i)
      if (values[i].empty()) refuse(quoted(name), " has no ", keys[i]);
    return placed(name, values[0], values[1], values[2]);
  }

  [[nodiscard]] Placed placed(const std::string& name, std::string_view dtype, std::string_view shape,
                              std::string_view offsets) const {
    if (dtype.front() != '"')
      refuse(quoted(name), " has dtype ", locus::detail::printable(dtype), "; expected a string such as F32");
    const std::string type_name = JsonReader(dtype, json_what_).string();
    const SafetensorsType* const known = safetensors_type(type_name);
    const bool is_sized = known != nullptr;
    Placed result{name, {}, is_sized ? known->type : ElementType{}, {}, 0, 0, type_name, {}};
    std::uint64_t bytes = is_sized ? known->bytes : 0;
    const bool is_deep = read_shape(name, shape, result, bytes);
    if (!is_sized || !known->is_known || is_deep)
      result.unread = join(locus::detail::printable(type_name, 20), " of shape ", locus::detail::printable(shape));

    std::vector<std::uint64_t> ends;
    if (!read_numbers(name, offsets,
                      [&](std::uint64_t end) {
                        ends.push_back(end);
                        return ends.size() < 3;
                      }) ||
        ends.size() != 2)
      refuse(quoted(name), " has data_offsets ", locus::detail::printable(offsets), "; expected [begin, end]");
    result.begin = ends[0];
    result.end = ends[1];
    if (result.begin > result.end || result.end > available_ || (is_sized && result.end - result.begin != bytes))
      refuse(quoted(name), " of ", locus::detail::printable(type_name, 20), " and shape ",
             locus::detail::printable(shape), " lies from byte ", result.begin, " to ", result.end, " of ", available_,
             "; expected ", is_sized ? join(bytes, " bytes") : "bytes of the file");
    return result;
  }

  /// Multiplies `bytes` by the extents. True for more extents than a shape of Locus holds; the shape is then invalid.
  [[nodiscard]] bool read_shape(const std::string& name, std::string_view text, Placed& result,
                                std::uint64_t& bytes) const {
    bool is_deep = false, is_empty = false, is_beyond = false, overflows = false;
    const bool is_list = read_numbers(name, text, [&](std::uint64_t extent) {
      is_empty |= extent == 0;
      is_beyond |= extent > INT64_MAX;
      overflows |= __builtin_mul_overflow(bytes, extent, &bytes) || bytes > INT64_MAX;
      is_deep |= result.shape.rank() == max_rank;
      if (!is_beyond && !is_deep) result.shape.push_back(static_cast<std::int64_t>(extent));
      result.extents.push_back(extent);
      return true;
    });
    if (!is_list) refuse(quoted(name), " has shape ", locus::detail::printable(text), "; expected a list of extents");
    if (is_beyond || (overflows && !is_empty))
      refuse(quoted(name), " of shape ", locus::detail::printable(text), " has more than 2^63 bytes");
    if (is_empty) bytes = 0;
    return is_deep;
  }

  /// Calls take(number) for each number of a list until take returns false. Returns false if the text is no list.
  template <class F>
  [[nodiscard]] bool read_numbers(const std::string& name, std::string_view text, const F& take) const {
    JsonReader json(text, json_what_);
    if (!json.take('[')) return false;
    if (json.take(']')) return true;
    do {
      const std::string_view value = json.value();
      std::uint64_t number = 0;
      if (!natural_number(value, number))
        refuse(quoted(name), " has ", locus::detail::printable(value), " where a number from 0 is expected");
      if (!take(number)) return true;
    } while (json.take(','));
    return true;
  }

  std::string_view text_;
  std::string what_, json_what_;
  std::uint64_t available_;
  std::vector<SafetensorsText> metadata_;
};

/// Builds the beginning of a file: the header's length and its text, padded so that the data is aligned.
class HeaderWriter {
 public:
  /// caller: for messages. metadata: texts by key, without "format", which is written first
  HeaderWriter(const char* caller, Span<const SafetensorsText> metadata) : caller_(caller) {
    json_.begin_object().key("__metadata__").begin_object().member("format", "pt");
    for (const auto& [key, text] : metadata)
      if (key != "format") json_.member(key, text);
    json_.end_object();
  }

  /// The next tensor, of a type in words of the format. throws ArgumentError for a name that cannot be written
  template <class Extents>
  void add(const std::string& name, std::string_view type, const Extents& shape, std::uint64_t bytes) {
    if (name == "__metadata__") fail<ArgumentError>({caller_, ": no tensor can have the name '__metadata__'"});
    if (!is_utf8(name))
      fail<ArgumentError>({caller_, ": the name of a tensor, '", locus::detail::printable(name), "', is not UTF-8"});
    json_.key(name).begin_object().member("dtype", type).key("shape").begin_array();
    for (const auto extent : shape) json_.value(extent);
    json_.end_array().key("data_offsets").begin_array().value(offset_).value(offset_ + bytes).end_array().end_object();
    offset_ += bytes;
  }

  [[nodiscard]] std::string text() {
    std::string text = json_.end_object().text();
    text.back() = ' ';  // Replaces the final newline, so that the padding is spaces.
    while (text.size() % 8) text += ' ';
    std::string whole;
    append_number(whole, text.size(), 8);
    return whole + text;
  }

 private:
  const char* caller_;
  JsonWriter json_{JsonWriter::Form::compact};
  std::uint64_t offset_ = 0;
};

}}}  // namespace locus::LOCUS_ABI::io::detail
