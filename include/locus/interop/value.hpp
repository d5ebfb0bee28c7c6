#pragma once
// Values of files that other programs wrote: numbers, texts, lists, dictionaries and tensors, as a tree.

#include <locus/core/printable.hpp>
#include <locus/nn/state.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace io {

/// What a Value is. `list`: lists, tuples and sets of Python, arrays. `name`: a type or a device, "torch.float32".
enum class ValueKind : unsigned char { none, boolean, integer, real, text, bytes, list, dict, tensor, name };

namespace detail {

/// The word for messages: "a dictionary".
[[nodiscard]] constexpr std::string_view kind_text(ValueKind kind) {
  constexpr std::string_view words[] = {"none",  "a boolean", "an integer",   "a real number", "a text",
                                        "bytes", "a list",    "a dictionary", "a tensor",      "a name"};
  return words[static_cast<unsigned>(kind)];
}

using ValueIndex = std::uint32_t;

/// A value in a ValueTree.
struct ValueNode {
  ValueKind kind = ValueKind::none;
  bool is_negative = false;         ///< of an integer
  std::uint64_t bits = 0;           ///< a boolean, an integer's magnitude, a double's bits, a tensor's index
  std::string text{};               ///< a text, bytes or a name; the bytes of an integer of more than 64 bits
  std::vector<ValueIndex> parts{};  ///< elements of a list; of a dictionary, keys and values in turn
};

/// A tensor of a file: part of a memory that several may share, or, if `unread`, its description alone.
struct StoredTensor {
  std::string unread{};
  ElementType type{};
  Tensor<std::uint8_t, Cpu> memory{};
  std::uint64_t begin = 0;  ///< of the first element, in bytes
  Shape shape{};
  Strides strides{};  ///< in elements
};

/// The values of a file. They refer to each other by index, so that cycles in a file neither leak nor overflow a stack.
struct ValueTree : Counted {
  /// Limits, so that a small file, which may name one value many times, does not fill the memory.
  static constexpr std::size_t most = 10'000'000, most_parts = 4 * most, most_text = std::size_t{1} << 29;
  std::string file;
  std::vector<ValueNode> nodes{};
  std::vector<StoredTensor> tensors{};
  std::uint64_t tensor_bytes = 0;  ///< of the memories of all tensors

  explicit ValueTree(std::string path) : file(std::move(path)) {}
  /// throws DataError beyond the limits
  ValueIndex add(ValueNode node) {
    parts_ += node.parts.size();
    text_ += node.text.size();
    if (nodes.size() >= most || parts_ > most_parts || text_ > most_text)
      fail<DataError>({"cannot read '", file, "': it has more than ", most, " values, ", most_parts,
                       " references between them, or ", most_text, " bytes of text"});
    nodes.push_back(std::move(node));
    return static_cast<ValueIndex>(nodes.size() - 1);
  }
  ValueIndex add_text(ValueKind kind, std::string_view text) { return add({.kind = kind, .text = std::string(text)}); }
  ValueIndex add_integer(bool is_negative, std::uint64_t magnitude) {
    return add({.kind = ValueKind::integer, .is_negative = is_negative, .bits = magnitude});
  }
  ValueIndex add_integer(std::int64_t number) {
    return add_integer(number < 0,
                       number < 0 ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number));
  }
  ValueIndex add_real(double number) {
    return add({.kind = ValueKind::real, .bits = __builtin_bit_cast(std::uint64_t, number)});
  }
  ValueIndex add_boolean(bool truth) { return add({.kind = ValueKind::boolean, .bits = truth}); }

 private:
  std::size_t parts_ = 0, text_ = 0;
};

/// Bytes that a state may still take: tensors with strides of 0, and names that occur many times, must not fill the
/// memory.
struct StateRoom {
  std::uint64_t copies, names = std::uint64_t{1} << 28;
};
/// throws DataError if less than `bytes` is left
inline void take_room(std::uint64_t& room, std::uint64_t bytes, const std::string& file) {
  if (bytes > room)
    fail<DataError>({"'", file, "': its tensors repeat their elements, or its dictionaries each other, to more than ",
                     "memory should hold; expected tensors that are saved whole: .contiguous()"});
  room -= bytes;
}

/// The elements of a tensor, dense and row-major: in the file's memory where they lie so. throws DataError
[[nodiscard]] inline Tensor<std::uint8_t, Cpu> dense_bytes(const StoredTensor& tensor, StateRoom& room,
                                                           const std::string& file) {
  const auto size = static_cast<std::int64_t>(size_of(tensor.type));
  if (!is_contiguous(tensor.shape, tensor.strides)) {
    std::int64_t bytes = 0;
    const bool overflows = __builtin_mul_overflow(elements(tensor.shape), size, &bytes);
    take_room(room.copies, overflows ? UINT64_MAX : static_cast<std::uint64_t>(bytes), file);
  }
  tensor.memory.buffer().require_readable();
  const auto dense = [&]<class Word>(Word) {
    const Tensor<Word, Cpu> view(tensor.memory.buffer(), reinterpret_cast<Word*>(tensor.memory.data() + tensor.begin),
                                 tensor.shape, tensor.strides);
    return nn::detail::bytes_of(view.contiguous());
  };
  switch (size) {
    case 8: return dense(std::int64_t{});
    case 4: return dense(std::int32_t{});
    case 2: return dense(std::uint16_t{});
    default: return dense(std::uint8_t{});
  }
}

}  // namespace detail

/// A value of a file, with its elements: a handle, which keeps the file's values alive.
///
///     const io::Value file = io::read_torch("checkpoint.pt");
///     const double rate = file["optimizer"]["param_groups"][0]["lr"].number();
///     nn::load_state_dict(model, file["model"].state_dict());
class Value {
 public:
  struct Item;

  Value(Shared<const detail::ValueTree> tree, detail::ValueIndex index) : tree_(std::move(tree)), index_(index) {}

  [[nodiscard]] ValueKind kind() const { return node().kind; }
  [[nodiscard]] bool is_none() const { return kind() == ValueKind::none; }
  /// throws ArgumentError for a value of another kind, as all below
  [[nodiscard]] bool boolean() const { return of(ValueKind::boolean).bits != 0; }
  /// throws ArgumentError also for an integer that std::int64_t cannot hold
  [[nodiscard]] std::int64_t integer() const {
    const detail::ValueNode& n = of(ValueKind::integer);
    const std::uint64_t most = static_cast<std::uint64_t>(INT64_MAX) + n.is_negative;
    if (!n.text.empty() || n.bits > most) refuse("an integer of 64 bits with a sign, not a larger one; say .natural()");
    return static_cast<std::int64_t>(n.is_negative ? 0 - n.bits : n.bits);
  }
  /// An integer from 0.
  [[nodiscard]] std::uint64_t natural() const {
    const detail::ValueNode& n = of(ValueKind::integer);
    if (!n.text.empty() || (n.is_negative && n.bits != 0)) refuse("an integer of 0 to 2^64 - 1");
    return n.bits;
  }
  /// A real number or an integer.
  [[nodiscard]] double number() const {
    if (kind() == ValueKind::integer && node().text.empty())
      return static_cast<double>(node().bits) * (node().is_negative ? -1 : 1);
    return __builtin_bit_cast(double, of(ValueKind::real).bits);
  }
  /// A text, bytes or a name.
  [[nodiscard]] const std::string& text() const {
    if (kind() == ValueKind::bytes || kind() == ValueKind::name) return node().text;
    return of(ValueKind::text).text;
  }

  /// The number of elements of a list, or of items of a dictionary; 0 for other values.
  [[nodiscard]] std::size_t size() const {
    return kind() == ValueKind::dict ? node().parts.size() / 2 : node().parts.size();
  }
  /// An element of a list, or the value of an integer key of a dictionary, such as a parameter's in an optimizer.
  /// throws IndexError
  template <class I>
    requires std::is_integral_v<I>
  [[nodiscard]] Value operator[](I index) const {
    return element(static_cast<std::int64_t>(index));
  }
  /// The value of a key of a dictionary. throws ArgumentError, which names the keys
  [[nodiscard]] Value operator[](std::string_view key) const {
    const std::size_t found = position(key);
    if (found == not_found) {
      locus::detail::NameList names;
      for (std::size_t i = 0; i < size(); ++i) names.add(at(2 * i).shown());
      fail<ArgumentError>(
          {"'", tree_->file, "': there is no key '", locus::detail::printable(key), "'; there are ", names.text()});
    }
    return at(found);
  }
  [[nodiscard]] bool contains(std::string_view key) const { return position(key) != not_found; }
  /// The items of a dictionary, in the file's order.
  [[nodiscard]] std::vector<Item> items() const;

  /// A tensor, which shares the file's memory. throws ArgumentError for another element type, or one that Locus lacks
  template <DType T>
  [[nodiscard]] Tensor<T, Cpu> tensor() const {
    const detail::StoredTensor& stored = tree_->tensors[of(ValueKind::tensor).bits];
    if (!stored.unread.empty()) refuse(join("a tensor that Locus can hold, not ", stored.unread));
    if (stored.type != element_type<T>)
      refuse(join(dtype_name<T>(), ", not ", dtype_name(stored.type),
                  "; get it as what it holds and convert with .as<T>()"));
    stored.memory.buffer().require_readable();
    return {stored.memory.buffer(), reinterpret_cast<T*>(stored.memory.data() + stored.begin), stored.shape,
            stored.strides};
  }
  /// The tensors of a dictionary by name, also of dictionaries within it: {"encoder": {"weight": ...}} has
  /// "encoder.weight". Tensors that lie densely share the file's memory, and each other's, as in the file. Values that
  /// are no tensors are in .unread() of the state. throws DataError for a name that is there twice, and for
  /// dictionaries that contain themselves
  [[nodiscard]] nn::StateDict<Cpu> state_dict() const;

 private:
  static constexpr std::size_t not_found = ~std::size_t{0};

  [[nodiscard]] const detail::ValueNode& node() const { return tree_->nodes[index_]; }
  [[nodiscard]] Value at(std::size_t part) const { return {tree_, node().parts[part]}; }
  [[nodiscard]] bool is(std::int64_t number) const {
    const detail::ValueNode& n = node();
    return n.text.empty() && n.is_negative == (number < 0) &&
           (n.is_negative ? 0 - n.bits : n.bits) == static_cast<std::uint64_t>(number);
  }
  [[nodiscard]] Value element(std::int64_t index) const {
    if (kind() == ValueKind::dict) {
      for (std::size_t i = 0; i < size(); ++i) {
        const detail::ValueNode& key = tree_->nodes[node().parts[2 * i]];
        if (key.kind == ValueKind::integer && at(2 * i).is(index)) return at(2 * i + 1);
      }
      fail<IndexError>({"'", tree_->file, "': there is no key ", index, " in a dictionary of ", size()});
    }
    const auto& parts = of(ValueKind::list).parts;
    if (index < 0 || static_cast<std::uint64_t>(index) >= parts.size())
      fail<IndexError>({"'", tree_->file, "': there is no element ", index, " in a list of ", parts.size()});
    return at(static_cast<std::size_t>(index));
  }
  [[noreturn]] void refuse(std::string_view expected) const {
    fail<ArgumentError>({"'", tree_->file, "' holds ", detail::kind_text(kind()), " here; expected ", expected});
  }
  [[nodiscard]] const detail::ValueNode& of(ValueKind expected) const {
    if (kind() != expected) refuse(detail::kind_text(expected));
    return node();
  }
  /// A key for messages.
  [[nodiscard]] std::string shown() const {
    const detail::ValueNode& n = node();
    if (n.kind == ValueKind::integer && n.text.empty()) return join(n.is_negative ? "-" : "", n.bits);
    return n.kind == ValueKind::text ? n.text : std::string(detail::kind_text(n.kind));
  }
  /// The part that is the value of a key; not_found if there is none.
  [[nodiscard]] std::size_t position(std::string_view key) const {
    if (kind() != ValueKind::dict) return not_found;
    for (std::size_t i = 0; i < node().parts.size(); i += 2) {
      const detail::ValueNode& each = tree_->nodes[node().parts[i]];
      if (each.kind == ValueKind::text && each.text == key) return i + 1;
    }
    return not_found;
  }
  void add_to(nn::StateDict<Cpu>& state, const std::string& prefix, int depth, detail::StateRoom& room) const;

  Shared<const detail::ValueTree> tree_;
  detail::ValueIndex index_;
};

struct Value::Item {
  Value key, value;
};

inline std::vector<Value::Item> Value::items() const {
  (void)of(ValueKind::dict);
  std::vector<Item> result;
  for (std::size_t i = 0; i < size(); ++i) result.push_back({at(2 * i), at(2 * i + 1)});
  return result;
}

inline nn::StateDict<Cpu> Value::state_dict() const {
  (void)of(ValueKind::dict);
  nn::StateDict<Cpu> state;
  state.set_file(tree_->file);
  detail::StateRoom room{.copies = 16 * tree_->tensor_bytes + (std::uint64_t{1} << 28)};
  add_to(state, "", 0, room);
  return state;
}

inline void Value::add_to(nn::StateDict<Cpu>& state, const std::string& prefix, int depth,
                          detail::StateRoom& room) const {
  constexpr int deepest = 32;
  if (depth > deepest)
    fail<DataError>({"'", tree_->file, "': dictionaries are within each other, more than ", deepest, " deep"});
  constexpr std::uint64_t bytes_of_entry = 300;
  for (const Item& item : items()) {
    const std::string name = prefix + item.key.shown();
    detail::take_room(room.names, name.size() + bytes_of_entry, tree_->file);
    const detail::ValueNode& node = item.value.node();
    if (state.contains(name))
      fail<DataError>({"'", tree_->file, "': '", locus::detail::printable(name), "' is there twice"});
    if (node.kind == ValueKind::dict && !node.parts.empty()) {
      item.value.add_to(state, name + ".", depth + 1, room);
    } else if (node.kind != ValueKind::tensor) {
      state.add_unread(name, std::string(detail::kind_text(node.kind)));
    } else if (const detail::StoredTensor& stored = tree_->tensors[node.bits]; !stored.unread.empty()) {
      state.add_unread(name, stored.unread);
    } else {
      state.add({name, stored.type, stored.shape, detail::dense_bytes(stored, room, tree_->file)});
    }
  }
}

}}}  // namespace locus::LOCUS_ABI::io
