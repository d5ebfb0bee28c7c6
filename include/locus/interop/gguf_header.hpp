#pragma once
// Headers of GGUF files: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md

#include <locus/core/little_endian.hpp>
#include <locus/interop/gguf_types.hpp>
#include <locus/interop/value.hpp>
#include <locus/io/utf8.hpp>

#include <map>
#include <set>

namespace locus { inline namespace LOCUS_ABI { namespace io {

/// A tensor of a GGUF file.
struct GgufTensor {
  std::string name;
  std::string_view type;  ///< in the format's words: "Q8_0"
  Shape shape;            ///< outermost extent first, as in Locus; the file has the innermost first
  std::uint64_t begin;    ///< of its bytes in the file
  std::uint64_t bytes;
};

namespace detail {

/// Reads the header of a file: metadata and tensors. Errors throw DataError.
class GgufHeaderReader {
 public:
  /// text: the file; what: begins messages
  GgufHeaderReader(std::string_view text, const std::string& what, ValueTree& tree)
      : text_(text), what_(what), tree_(tree) {}

  /// The metadata, a dictionary.
  [[nodiscard]] ValueIndex read() {
    read_begin();
    const std::uint64_t tensors = number(8), items = number(8);
    const ValueIndex metadata = read_metadata(items);
    for (std::uint64_t i = 0; i < tensors; ++i) read_tensor();
    place_tensors();
    return metadata;
  }
  /// After read(): the tensors in the file's order.
  [[nodiscard]] std::vector<GgufTensor>& tensors() { return tensors_; }

 private:
  static constexpr int deepest = 4;  ///< arrays in arrays

  template <class... Text>
  [[noreturn]] void refuse(const Text&... why) const {
    fail<DataError>({what_, ": ", why...});
  }
  [[nodiscard]] std::string_view bytes(std::uint64_t count) {
    if (count > text_.size() - at_) refuse("at byte ", at_, " it is cut off, or promises ", count, " bytes");
    const std::string_view part = text_.substr(at_, count);
    at_ += count;
    return part;
  }
  [[nodiscard]] std::uint64_t number(int size) { return number_at(bytes(static_cast<std::uint64_t>(size)), 0, size); }
  [[nodiscard]] std::string_view string() { return bytes(number(8)); }

  void read_begin() {
    if (text_.substr(0, 4) != "GGUF")
      refuse("it begins with '", locus::detail::printable(text_.substr(0, 4)), "'; expected 'GGUF'");
    at_ = 4;
    const std::uint64_t version = number(4);
    if (version != 0 && (version & 0xffff) == 0) refuse("it is big-endian; expected the little-endian form");
    if (version != 2 && version != 3) refuse("it has version ", version, " of the format; expected 2 or 3");
  }

  [[nodiscard]] ValueIndex read_metadata(std::uint64_t count) {
    ValueNode dict{.kind = ValueKind::dict};
    std::set<std::string_view> keys;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::string_view key = string();
      if (!keys.insert(key).second) refuse("the key '", locus::detail::printable(key), "' is there twice");
      const std::uint64_t type = number(4);
      if (key == "general.alignment") {
        if (type != 4) refuse("its general.alignment is no number of 32 bits");
        set_alignment();
      }
      dict.parts.push_back(tree_.add_text(ValueKind::text, key));
      dict.parts.push_back(value(type, 0));
    }
    return tree_.add(std::move(dict));
  }
  /// Reads the alignment, without going on.
  void set_alignment() {
    const std::size_t before = at_;
    alignment_ = number(4);
    at_ = before;
    if (alignment_ == 0 || alignment_ % 8 != 0)
      refuse("its general.alignment is ", alignment_, "; expected a multiple of 8");
  }

  [[nodiscard]] std::int64_t with_sign(int size) {
    const int unused = 64 - 8 * size;
    return static_cast<std::int64_t>(number(size) << unused) >> unused;
  }
  [[nodiscard]] ValueIndex value(std::uint64_t type, int depth) {
    switch (type) {
      case 0: return tree_.add_integer(false, number(1));
      case 1: return tree_.add_integer(with_sign(1));
      case 2: return tree_.add_integer(false, number(2));
      case 3: return tree_.add_integer(with_sign(2));
      case 4: return tree_.add_integer(false, number(4));
      case 5: return tree_.add_integer(with_sign(4));
      case 6:
        return tree_.add_real(static_cast<double>(__builtin_bit_cast(float, static_cast<std::uint32_t>(number(4)))));
      case 7: return boolean();
      case 8: {
        const std::string_view text = string();
        return tree_.add_text(is_utf8(text) ? ValueKind::text : ValueKind::bytes, text);
      }
      case 9: return array(depth + 1);
      case 10: return tree_.add_integer(false, number(8));
      case 11: return tree_.add_integer(with_sign(8));
      case 12: return tree_.add_real(__builtin_bit_cast(double, number(8)));
      default: refuse("at byte ", at_, " it has a value of the type ", type, ", which is unknown");
    }
  }
  [[nodiscard]] ValueIndex boolean() {
    const std::uint64_t truth = number(1);
    if (truth > 1) refuse("at byte ", at_, " it has a boolean of ", truth, "; expected 0 or 1");
    return tree_.add_boolean(truth != 0);
  }
  [[nodiscard]] ValueIndex array(int depth) {
    if (depth > deepest) refuse("it has arrays in arrays, more than ", deepest, " deep");
    ValueNode list{.kind = ValueKind::list};
    const std::uint64_t type = number(4), count = number(8);
    if (count > text_.size() - at_) refuse("at byte ", at_, " it promises an array of ", count, " values");
    for (std::uint64_t i = 0; i < count; ++i) list.parts.push_back(value(type, depth));
    return tree_.add(std::move(list));
  }

  void read_tensor() {
    const std::string_view name = string();
    const auto shown = [&] { return join("'", locus::detail::printable(name), "'"); };
    if (!names_.insert(name).second) refuse(shown(), " is there twice");
    const std::uint64_t rank = number(4);
    if (rank > max_rank) refuse(shown(), " has ", rank, " dimensions; expected at most ", max_rank);
    Shape shape = Dims::filled(static_cast<int>(rank), 0);
    std::uint64_t count = 1, innermost = 1;
    bool overflows = false, is_empty = false;
    for (int i = static_cast<int>(rank); i-- > 0;) {
      const std::uint64_t extent = number(8);
      if (i == static_cast<int>(rank) - 1) innermost = extent;
      is_empty |= extent == 0;
      overflows |= extent > INT64_MAX || __builtin_mul_overflow(count, extent, &count) || count > INT64_MAX / 8;
      shape[i] = static_cast<std::int64_t>(extent & INT64_MAX);
    }
    if (overflows && !is_empty) refuse(shown(), " has more than 2^60 elements");
    const auto type_number = static_cast<std::uint32_t>(number(4));
    const GgufType* const type = gguf_type(type_number);
    if (!type) refuse(shown(), " is of the type ", type_number, ", which is unknown to Locus");
    if (innermost % type->block != 0)
      refuse(shown(), " has rows of ", innermost, " elements; expected a multiple of ", type->block, ", as it is ",
             type->name);
    const std::uint64_t all = is_empty ? 0 : count / type->block * type->bytes;
    tensors_.push_back({std::string(name), type->name, shape, number(8), all});
  }

  /// Turns offsets within the data into places in the file, and checks them.
  void place_tensors() {
    const std::uint64_t begin = (at_ + alignment_ - 1) / alignment_ * alignment_;
    std::multimap<std::uint64_t, const GgufTensor*> by_place;
    for (GgufTensor& tensor : tensors_) {
      const std::uint64_t available = begin < text_.size() ? text_.size() - begin : 0;
      if (tensor.begin % alignment_ != 0)
        refuse("'", locus::detail::printable(tensor.name), "' begins at byte ", tensor.begin,
               " of the data; expected a multiple of ", alignment_);
      if (tensor.begin > available || tensor.bytes > available - tensor.begin)
        refuse("'", locus::detail::printable(tensor.name), "' of ", tensor.bytes, " bytes begins at byte ",
               tensor.begin, " of the data, which has ", available, ": the file is cut off or damaged");
      tensor.begin = tensor.bytes > 0 ? begin + tensor.begin : 0;
      if (tensor.bytes > 0) by_place.emplace(tensor.begin, &tensor);
    }
    const GgufTensor* before = nullptr;
    for (const auto& [place, tensor] : by_place) {
      if (before && before->begin + before->bytes > place)
        refuse("'", locus::detail::printable(tensor->name), "' begins within '", locus::detail::printable(before->name),
               "'");
      before = tensor;
    }
  }

  std::string_view text_;
  const std::string& what_;
  ValueTree& tree_;
  std::size_t at_ = 0;
  std::uint64_t alignment_ = 32;
  std::set<std::string_view> names_;
  std::vector<GgufTensor> tensors_;
};

}  // namespace detail
}}}  // namespace locus::LOCUS_ABI::io
