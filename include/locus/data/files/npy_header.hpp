#pragma once
// Headers of .npy files: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html

#include <locus/core/check.hpp>
#include <locus/core/element_type.hpp>
#include <locus/core/little_endian.hpp>
#include <locus/core/printable.hpp>
#include <locus/core/shape.hpp>

#include <cstring>
#include <string>
#include <string_view>

namespace locus { inline namespace LOCUS_ABI { namespace io::detail {

/// A type of NumPy that Locus has, without its byte order.
struct NpyType {
  std::string_view name;
  ElementType type;
};
inline constexpr NpyType npy_types[] = {
    {"f4", ElementType::float32},   {"f8", ElementType::float64},    {"i4", ElementType::int32},
    {"i8", ElementType::int64},     {"u1", ElementType::uint8},      {"b1", ElementType::boolean},
    {"f2", ElementType::float16},   {"i1", ElementType::int8},       {"i2", ElementType::int16},
    {"u2", ElementType::uint16},    {"u4", ElementType::uint32},     {"u8", ElementType::uint64},
    {"c8", ElementType::complex64}, {"c16", ElementType::complex128}};

/// An array as its header describes it.
struct NpyArray {
  std::string unread{};  ///< if it cannot be read, its type and shape for messages
  ElementType type{};
  Shape shape{};
  bool is_column_major = false;
  std::uint64_t bytes = 0;  ///< of its elements
};

/// Parses the text of a header: a Python dictionary with a type, an order and a shape.
class NpyHeaderReader {
 public:
  /// The second argument begins messages: "cannot read 'x.npy' as .npy"
  NpyHeaderReader(std::string_view text, const std::string& what) : text_(text), what_(what) {}

  /// throws DataError
  [[nodiscard]] NpyArray read() {
    NpyArray array;
    std::string_view type, shape;
    bool has_order = false;
    expect('{');
    while (!take('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr") once(type, value());
      else if (key == "shape") once(shape, value());
      else if (key == "fortran_order" && !has_order) array.is_column_major = truth(has_order);
      else refuse("has the key '", locus::detail::printable(key), "' that is unknown or there twice");
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    skip_spaces();
    if (at_ != text_.size()) refuse("goes on after its dictionary");
    if (type.empty() || shape.empty() || !has_order) refuse("lacks one of 'descr', 'fortran_order' and 'shape'");
    read_type_and_shape(type, shape, array);
    return array;
  }

 private:
  template <class... Text>
  [[noreturn]] void refuse(const Text&... why) const {
    fail<DataError>({what_, ": its header ", why...});
  }
  void once(std::string_view& target, std::string_view value) const {
    if (!target.empty()) refuse("has a key twice");
    target = value;
  }
  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  [[nodiscard]] bool take(char wanted) {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) {
    if (!take(wanted)) refuse("has no '", wanted, "' at byte ", at_, " of ", locus::detail::printable(text_));
  }
  [[nodiscard]] std::string_view quoted() {
    skip_spaces();
    const char quote = at_ < text_.size() ? text_[at_] : ' ';
    const auto end = quote == '\'' || quote == '"' ? text_.find(quote, at_ + 1) : std::string_view::npos;
    if (end == std::string_view::npos) refuse("has no string at byte ", at_, " of ", locus::detail::printable(text_));
    const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return inside;
  }
  [[nodiscard]] bool truth(bool& is_there) {
    skip_spaces();
    for (const std::string_view word : {"True", "False"}) {
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      is_there = true;
      return word == "True";
    }
    refuse("has a fortran_order that is neither True nor False");
  }
  /// The text of a string, or of a list or tuple to its last bracket.
  [[nodiscard]] std::string_view value() {
    skip_spaces();
    const std::size_t begin = at_;
    int depth = 0;
    do {
      skip_spaces();
      if (at_ == text_.size()) refuse("ends within a value");
      const char next = text_[at_];
      if (next == '\'' || next == '"') (void)quoted();
      else ++at_;
      depth += next == '(' || next == '[';
      depth -= next == ')' || next == ']';
    } while (depth > 0);
    return text_.substr(begin, at_ - begin);
  }

  void read_type_and_shape(std::string_view type, std::string_view shape, NpyArray& array) const {
    const bool is_simple = type.front() == '\'' || type.front() == '"';
    std::string_view name = is_simple ? type.substr(1, type.size() - 2) : type;
    const char order = name.empty() ? ' ' : name.front();
    if (is_simple && (order == '<' || order == '|' || order == '=')) name.remove_prefix(1);
    const NpyType* known = nullptr;
    for (const NpyType& each : npy_types)
      if (name == each.name) known = &each;
    array.bytes = 1;
    if (known) {
      array.type = known->type;
      array.bytes = size_of(known->type);
    }
    if (read_shape(shape, array) || !known)
      array.unread = join(locus::detail::printable(is_simple ? type.substr(1, type.size() - 2) : type), " of shape ",
                          locus::detail::printable(shape),
                          order == '>' ? ", which is big-endian: save it with .astype('<...')" : "");
  }
  /// Multiplies the bytes by the extents. True for more extents than a shape of Locus holds.
  [[nodiscard]] bool read_shape(std::string_view text, NpyArray& array) const {
    bool is_deep = false, is_empty = false, overflows = false;
    std::size_t at = 1;
    if (text.size() < 2 || text.front() != '(' || text.back() != ')') refuse_shape(text);
    for (bool is_first = true;; is_first = false) {
      while (text[at] == ' ') ++at;
      if (text[at] == ')') break;
      if (!is_first && text[at - 1] != ',' && text[at - 1] != ' ') refuse_shape(text);
      std::int64_t extent = 0;
      const std::size_t begin = at;
      for (; text[at] >= '0' && text[at] <= '9'; ++at)
        if (__builtin_mul_overflow(extent, 10, &extent) || __builtin_add_overflow(extent, text[at] - '0', &extent))
          refuse_shape(text);
      if (at == begin) refuse_shape(text);
      while (text[at] == ' ') ++at;
      if (text[at] == ',') ++at;
      else if (text[at] != ')') refuse_shape(text);
      is_empty |= extent == 0;
      overflows |= __builtin_mul_overflow(array.bytes, static_cast<std::uint64_t>(extent), &array.bytes) ||
                   array.bytes > INT64_MAX;
      is_deep |= array.shape.rank() == max_rank;
      if (!is_deep) array.shape.push_back(extent);
    }
    if (at + 1 != text.size()) refuse_shape(text);
    if (overflows && !is_empty) refuse("has a shape of more than 2^63 bytes, ", locus::detail::printable(text));
    if (is_empty) array.bytes = 0;
    return is_deep;
  }
  [[noreturn]] void refuse_shape(std::string_view text) const {
    refuse("has the shape ", locus::detail::printable(text), "; expected a tuple of extents such as (2, 3)");
  }

  std::string_view text_;
  const std::string& what_;
  std::size_t at_ = 0;
};

inline constexpr std::string_view npy_magic = "\x93NUMPY";

/// A source of bytes for read_npy_header: memory.
class BytesInMemory {
 public:
  BytesInMemory(const unsigned char* data, std::uint64_t bytes, const std::string& what)
      : data_(data), left_(bytes), what_(what) {}
  [[nodiscard]] std::uint64_t left() const { return left_; }
  void read(void* target, std::size_t count) {
    if (count > left_) fail<DataError>({what_, ": it ended while it was read"});
    std::memcpy(target, data_, count);
    data_ += count, left_ -= count;
  }

 private:
  const unsigned char* data_;
  std::uint64_t left_;
  const std::string& what_;
};

/// Reads a header, and checks that exactly the elements follow it. throws DataError
template <class Source>
[[nodiscard]] NpyArray read_npy_header(Source& source, const std::string& what) {
  const auto refuse = [&](const auto&... why) { fail<DataError>({what, ": ", why...}); };
  char begin[12] = {};
  if (source.left() < 10) refuse("it has ", source.left(), " bytes; expected a header of at least 10");
  source.read(begin, 10);
  if (std::string_view(begin, npy_magic.size()) != npy_magic)
    refuse("it does not begin as a .npy file does; expected one that numpy.save wrote");
  const int version = static_cast<unsigned char>(begin[6]);
  if (version < 1 || version > 3) refuse("it has version ", version, " of the format; expected 1, 2 or 3");
  if (version > 1) {
    if (source.left() < 2) refuse("it ends within its header");
    source.read(begin + 10, 2);
  }
  const std::uint64_t length = number_at({begin, sizeof begin}, 8, version > 1 ? 4 : 2);
  constexpr std::uint64_t most = 1 << 20;
  if (length > source.left() || length > most)
    refuse("it promises a header of ", length, " bytes; it has ", source.left(), ", and at most ", most, " are read");
  std::string text(length, ' ');
  source.read(text.data(), text.size());
  NpyArray array = NpyHeaderReader(text, what).read();
  if (array.unread.empty() && array.bytes != source.left())
    refuse("its elements of ", dtype_name(array.type), " in shape ", array.shape, " have ", array.bytes,
           " bytes; it has ", source.left());
  return array;
}

/// Magic and header of a file, in version 1.0 of the format. throws ArgumentError for bfloat16, which NumPy lacks
[[nodiscard]] LOCUS_OUT_OF_LINE inline std::string npy_header(const char* caller, ElementType type,
                                                              const Shape& shape) {
  const NpyType* known = nullptr;
  for (const NpyType& each : npy_types)
    if (type == each.type) known = &each;
  if (!known)
    fail<ArgumentError>(
        {caller, ": NumPy has no ", dtype_name(type), "; convert with .as<float>(), or save safetensors"});
  std::string text = join("{'descr': '", size_of(type) == 1 ? '|' : '<', known->name,
                          "', 'fortran_order': False, 'shape': ", shape, ", }");
  constexpr std::size_t before = 10, aligned = 64;
  while ((before + text.size() + 1) % aligned) text += ' ';
  text += '\n';
  std::string whole(npy_magic);
  whole += {'\1', '\0', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return whole + text;
}

}}}  // namespace locus::LOCUS_ABI::io::detail
