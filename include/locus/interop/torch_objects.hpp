#pragma once
// The functions that pickles of PyTorch call to describe tensors.

#include <locus/interop/pickle.hpp>
#include <locus/interop/torch_types.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace io::detail {

/// The memory of tensors of a file, as a pickle describes it. `type`: null for untyped memory.
struct TorchStorage {
  std::string key;
  const TorchType* type;
  std::uint64_t bytes;
};

/// Turns the calls of a pickle of torch.save into values and tensors.
class TorchObjects final : public PickleObjects {
 public:
  TorchObjects(const std::string& what, ValueTree& tree) : what_(what), tree_(tree) {}

  /// After the pickle: gives the tensors their memory. memory(storage) is a tensor of its bytes, aligned to elements of
  /// any type. throws DataError
  template <class F>
  void bring(const F& memory) {
    std::vector<Tensor<std::uint8_t, Cpu>> memories;
    for (const TorchStorage& storage : storages_) {
      memories.push_back(memory(storage));
      tree_.tensor_bytes += storage.bytes;
      if (storage.type && storage.type->is_known && storage.type->type == ElementType::boolean)
        require_bools(memories.back());
    }
    for (std::size_t i = 0; i < tree_.tensors.size(); ++i) tree_.tensors[i].memory = memories[storage_of_[i]];
  }

  /// The storage of a key; null if the pickle names none.
  [[nodiscard]] const TorchStorage* storage_of(const std::string& key) const {
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? nullptr : &storages_[found->second];
  }

  [[nodiscard]] bool knows(const std::string& name) const override {
    constexpr std::string_view names[] = {"collections.OrderedDict",
                                          "collections.Counter",
                                          "builtins.set",
                                          "__builtin__.set",
                                          "_codecs.encode",
                                          "torch.Size",
                                          "torch.device",
                                          "torch._utils._rebuild_tensor",
                                          "torch._utils._rebuild_tensor_v2",
                                          "torch._utils._rebuild_tensor_v3",
                                          "torch._utils._rebuild_parameter",
                                          "torch._utils._rebuild_parameter_with_state",
                                          "torch.storage.UntypedStorage"};
    for (const std::string_view each : names)
      if (each == name) return true;
    return torch_type(name) != nullptr;
  }

  [[nodiscard]] ValueIndex call(const std::string& function, ValueIndex arguments) override {
    const std::vector<ValueIndex> given = arguments_in(arguments);
    if (function == "collections.OrderedDict" || function == "collections.Counter") return dictionary(given);
    if (function == "builtins.set" || function == "__builtin__.set" || function == "torch.Size")
      return given.empty() ? arguments : ((void)node(given, 0, ValueKind::list), given[0]);
    if (function == "torch.device") return device(given);
    if (function == "_codecs.encode") return encoded(node(given, 0, ValueKind::text).text);
    if (function == "torch._utils._rebuild_parameter" || function == "torch._utils._rebuild_parameter_with_state")
      return (void)node(given, 0, ValueKind::tensor), given[0];
    if (function == "torch._utils._rebuild_tensor_v3") {
      const TorchType* const type = torch_type(node(given, 6, ValueKind::name).text);
      if (!type || !type->storage.empty())
        refuse("has a tensor of ", node(given, 6, ValueKind::name).text, " in untyped memory");
      return tensor(given, *type);
    }
    if (function.starts_with("torch._utils._rebuild_tensor")) {
      const TorchType* const type = storage(given).type;
      if (!type) refuse("has a tensor in untyped memory, without its type");
      return tensor(given, *type);
    }
    refuse("calls ", function, ", which is a type here");
  }

  /// ("storage", class, key, device, number of elements), in older files with a view of another storage, None.
  [[nodiscard]] ValueIndex persistent(ValueIndex id) override {
    const std::vector<ValueIndex> parts = arguments_in(id);
    if (node(parts, 0, ValueKind::text).text != "storage") refuse("has a persistent object that is no storage");
    if (parts.size() > 5 && tree_.nodes[parts[5]].kind != ValueKind::none)
      refuse("has a storage that is a view of another; save it again with PyTorch 1.6 or later");
    const std::string& name = node(parts, 1, ValueKind::name).text;
    const TorchType* const type = torch_type(name);
    if (!type && name != "torch.storage.UntypedStorage") refuse("has a storage of ", name);
    const ValueNode& count = node(parts, 4, ValueKind::integer);
    std::uint64_t bytes = 0;
    if (count.is_negative || !count.text.empty() ||
        __builtin_mul_overflow(count.bits, type ? type->bytes : 1, &bytes) || bytes > INT64_MAX)
      refuse("has a storage of more than 2^63 bytes, or of less than none");
    constexpr std::size_t most = 256;
    const std::string& key = node(parts, 2, ValueKind::text).text;
    if (key.size() > most) refuse("names a storage by ", key.size(), " bytes; expected at most ", most);
    auto [found, is_new] = by_key_.emplace(key, storages_.size());
    if (is_new) storages_.push_back({key, type, bytes});
    const TorchStorage& known = storages_[found->second];
    if (known.type != type || known.bytes != bytes)
      refuse("describes the storage '", locus::detail::printable(key), "' twice, differently");
    return tree_.add({.kind = ValueKind::name, .bits = found->second + 1, .text = "storage"});
  }

 private:
  template <class... Text>
  [[noreturn]] void refuse(const Text&... why) const {
    fail<DataError>({what_, ": its pickle ", why...});
  }
  /// A copy of a list of arguments. throws DataError for more than any call of PyTorch has: a small file could have one
  /// long list copied by each of millions of calls
  [[nodiscard]] std::vector<ValueIndex> arguments_in(ValueIndex list) const {
    constexpr std::size_t most = 16;
    const std::vector<ValueIndex>& arguments = tree_.nodes[list].parts;
    if (arguments.size() > most) refuse("gives ", arguments.size(), " arguments; expected at most ", most);
    return arguments;
  }
  /// An argument of this kind. throws DataError
  [[nodiscard]] const ValueNode& node(const std::vector<ValueIndex>& given, std::size_t i, ValueKind kind) const {
    if (i >= given.size()) refuse("calls a function with ", given.size(), " arguments; expected more than ", i);
    const ValueNode& found = tree_.nodes[given[i]];
    if (found.kind != kind) refuse("has ", kind_text(found.kind), " where ", kind_text(kind), " is expected");
    return found;
  }

  void require_bools(const Tensor<std::uint8_t, Cpu>& memory) const {
    const std::uint8_t* const first = memory.data();
    for (std::int64_t i = 0; i < memory.elements(); ++i)
      if (first[i] > 1) refuse("has a tensor of torch.bool with other bytes than 0 and 1");
  }

  /// Of nothing, a dictionary, or a list of pairs.
  [[nodiscard]] ValueIndex dictionary(const std::vector<ValueIndex>& given) {
    if (!given.empty() && tree_.nodes[given[0]].kind == ValueKind::dict) return given[0];
    ValueNode dict{.kind = ValueKind::dict};
    if (!given.empty())
      for (const ValueIndex pair : node(given, 0, ValueKind::list).parts) {
        const ValueNode& both = tree_.nodes[pair];
        if (both.kind != ValueKind::list || both.parts.size() != 2) refuse("makes a dictionary of no pairs");
        dict.parts.insert(dict.parts.end(), both.parts.begin(), both.parts.end());
      }
    return tree_.add(std::move(dict));
  }
  [[nodiscard]] ValueIndex device(const std::vector<ValueIndex>& given) {
    std::string name = node(given, 0, ValueKind::text).text;
    if (given.size() > 1) name += join(":", node(given, 1, ValueKind::integer).bits);
    return tree_.add_text(ValueKind::name, name);
  }
  /// Bytes that protocol 2 writes as a text of characters below 256.
  [[nodiscard]] ValueIndex encoded(std::string_view text) {
    std::string bytes;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto lead = static_cast<unsigned char>(text[i]);
      if (lead < 0x80) bytes += text[i];
      else if (lead <= 0xc3 && i + 1 < text.size())
        bytes += static_cast<char>((lead & 3) << 6 | (static_cast<unsigned char>(text[++i]) & 0x3f));
      else refuse("has bytes above 255");
    }
    return tree_.add_text(ValueKind::bytes, bytes);
  }

  [[nodiscard]] const TorchStorage& storage(const std::vector<ValueIndex>& given) const {
    const ValueNode& found = node(given, 0, ValueKind::name);
    if (found.bits == 0 || found.bits > storages_.size()) refuse("has a tensor without a storage");
    return storages_[found.bits - 1];
  }
  /// The tensor of (storage, offset, shape, strides, ...).
  [[nodiscard]] ValueIndex tensor(const std::vector<ValueIndex>& given, const TorchType& type) {
    const TorchStorage& in = storage(given);
    const ValueNode& offset = node(given, 1, ValueKind::integer);
    const std::vector<std::int64_t> shape = numbers(given, 2), strides = numbers(given, 3);
    if (shape.size() != strides.size())
      refuse("has a tensor with ", shape.size(), " extents and ", strides.size(), " strides");
    if (offset.is_negative || !offset.text.empty()) refuse("has a tensor that begins before its storage");
    const std::uint64_t available = in.bytes / type.bytes;
    if (!is_within(shape, strides, offset.bits, available))
      refuse("has a tensor of ", type.name, " that goes beyond its storage of ", available, " elements");
    if (tree_.tensors.size() >= most_tensors) refuse("has more than ", most_tensors, " tensors");
    StoredTensor result{.begin = offset.bits * type.bytes};
    describe(shape, strides, type, result);
    tree_.tensors.push_back(std::move(result));
    storage_of_.push_back(tree_.nodes[given[0]].bits - 1);
    return tree_.add({.kind = ValueKind::tensor, .bits = tree_.tensors.size() - 1});
  }
  /// Whether a tensor that begins at this element lies within `available` elements, and has fewer than 2^63.
  [[nodiscard]] static bool is_within(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides,
                                      std::uint64_t begin, std::uint64_t available) {
    std::int64_t last = static_cast<std::int64_t>(begin), count = 1, along = 0;
    bool overflows = begin > available, is_empty = false;
    for (std::size_t i = 0; i < shape.size(); ++i) is_empty |= shape[i] == 0;
    for (std::size_t i = 0; i < shape.size() && !is_empty; ++i)
      overflows |= __builtin_mul_overflow(shape[i] - 1, strides[i], &along) ||
                   __builtin_add_overflow(last, along, &last) || __builtin_mul_overflow(count, shape[i], &count);
    return !overflows && (is_empty || static_cast<std::uint64_t>(last) < available);
  }
  void describe(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides, const TorchType& type,
                StoredTensor& result) const {
    if (!type.is_known || shape.size() > max_rank) {
      result.unread = join(type.name, " of shape (");
      for (const std::int64_t extent : shape) result.unread += join(extent, ",");
      result.unread += ")";
      return;
    }
    result.type = type.type;
    for (const std::int64_t extent : shape) result.shape.push_back(extent);
    for (const std::int64_t stride : strides) result.strides.push_back(stride);
  }
  /// Extents or strides. They are limited because each tensor of a file may name the same long list.
  [[nodiscard]] std::vector<std::int64_t> numbers(const std::vector<ValueIndex>& given, std::size_t i) const {
    constexpr std::size_t most = 64;
    const std::vector<ValueIndex>& parts = node(given, i, ValueKind::list).parts;
    if (parts.size() > most) refuse("has a tensor of ", parts.size(), " dimensions; expected at most ", most);
    std::vector<std::int64_t> result;
    for (const ValueIndex part : parts) {
      const ValueNode& number = tree_.nodes[part];
      if (number.kind != ValueKind::integer || number.is_negative || !number.text.empty() || number.bits > INT64_MAX)
        refuse("has a tensor with an extent or a stride that is no number from 0");
      result.push_back(static_cast<std::int64_t>(number.bits));
    }
    return result;
  }

  static constexpr std::size_t most_tensors = 1'000'000;

  const std::string& what_;
  ValueTree& tree_;
  std::vector<TorchStorage> storages_;
  std::vector<std::size_t> storage_of_;  ///< of each tensor
  std::map<std::string, std::size_t> by_key_;
};

}}}  // namespace locus::LOCUS_ABI::io::detail
