#pragma once
// StateDict: tensors by name, as files hold them. Knows no layers, so that programs that only read files do not compile
// them; nn/state_dict.hpp has the functions on models.

#include <locus/core/element_type.hpp>
#include <locus/core/printable.hpp>
#include <locus/nn/bytes_of.hpp>

#include <map>
#include <string>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

/// Tensors of one place by name, of any element types, in the order in which they were added. Their memory is shared.
template <class D = Cpu>
class StateDict {
 public:
  using device_type = D;
  struct Entry {
    std::string name;
    ElementType type;
    Shape shape;
    Tensor<std::uint8_t, D> bytes;  ///< the elements, dense and row-major
  };
  /// An entry of a file that no tensor of Locus can hold.
  struct Unread {
    std::string name, type;  ///< type: with the shape, in the file's words, "I16 of shape [2,3]"
  };

  [[nodiscard]] std::size_t size() const {
    presence_.require("StateDict");
    return entries_.size();
  }
  [[nodiscard]] auto begin() const {
    presence_.require("StateDict");
    return entries_.begin();
  }
  [[nodiscard]] auto end() const { return entries_.end(); }
  [[nodiscard]] bool contains(std::string_view name) const {
    presence_.require("StateDict");
    return positions_.contains(name);
  }
  /// Entries of the file that io::load could not read: other element types, more than eight dimensions.
  [[nodiscard]] const std::vector<Unread>& unread() const { return unread_; }
  /// Path of the file that the state was read from, for messages; otherwise empty.
  [[nodiscard]] const std::string& file() const { return file_; }
  void set_file(std::string path) { file_ = std::move(path); }

  /// Adds a tensor under a name. A dense tensor shares its memory, others are copied.
  /// throws ArgumentError for a name that is there already
  template <DType T>
  void add(std::string name, const Tensor<T, D>& x) {
    const Tensor<T, D> dense = x.contiguous();
    add({std::move(name), element_type<T>, dense.shape(), detail::bytes_of(dense)});
  }
  /// Adds an entry, which shares its memory.
  void add(Entry entry) {
    presence_.require("StateDict");
    if (entries_.size() == entries_.capacity())
      entries_.reserve(2 * entries_.size() + 1);  // so that push_back cannot fail
    if (!positions_.emplace(entry.name, entries_.size()).second)
      fail<ArgumentError>({"StateDict::add: there is a tensor '", locus::detail::printable(entry.name), "' already"});
    entries_.push_back(std::move(entry));
  }

  /// Notes an entry of a file that Locus cannot read.
  void add_unread(std::string name, std::string type) { unread_.push_back({std::move(name), std::move(type)}); }

  /// throws ArgumentError if there are unread entries: `caller` would lose them
  void require_all_read(const char* caller) const {
    if (unread_.empty()) return;
    fail<ArgumentError>({caller, ": '", locus::detail::printable(unread_.front().name),
                         "' would be lost: the state was read without it, as it is ", unread_.front().type,
                         "; to save the others alone, say state.drop_unread() first"});
  }
  /// Forgets the unread entries, so that the others can be saved.
  void drop_unread() { unread_.clear(); }

  /// The same tensors, each without this prefix of its name: state.without_prefix("module.") for a file of PyTorch's
  /// DistributedDataParallel. throws ArgumentError for a name without the prefix
  [[nodiscard]] StateDict without_prefix(std::string_view prefix) const {
    const auto rest = [&](const std::string& name) {
      if (!name.starts_with(prefix))
        fail<ArgumentError>({"without_prefix: '", locus::detail::printable(name), "' does not begin with '",
                             locus::detail::printable(prefix), "'"});
      return name.substr(prefix.size());
    };
    StateDict result;
    for (const Entry& entry : entries_) result.add({rest(entry.name), entry.type, entry.shape, entry.bytes});
    for (const Unread& each : unread_) result.add_unread(rest(each.name), each.type);
    result.file_ = file_;
    return result;
  }

  /// Removes the tensor of a name. Returns whether there was one.
  bool erase(std::string_view name) {
    const auto found = positions_.find(name);
    if (found == positions_.end()) return false;
    const std::size_t position = found->second;
    positions_.erase(found);
    entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(position));
    for (auto& [other, at] : positions_) at -= at > position;
    return true;
  }

  /// The tensor of a name, whose memory it shares. throws as find()
  template <DType T>
  [[nodiscard]] Tensor<T, D> get(std::string_view name) const {
    const Entry& entry = find(name, element_type<T>);
    return Tensor<T, D>(entry.bytes.buffer(), reinterpret_cast<T*>(entry.bytes.data()), entry.shape,
                        row_major(entry.shape));
  }
  /// The entry of a name. throws ArgumentError for a name that is not there; DataError if the entry's mapped file was
  /// truncated since
  [[nodiscard]] const Entry& find(std::string_view name) const {
    presence_.require("StateDict");
    const auto position = positions_.find(name);
    if (position == positions_.end()) fail_to_get(name);
    const Entry& entry = entries_[position->second];
    entry.bytes.buffer().require_readable();
    return entry;
  }
  /// As above. throws ArgumentError for another element type, too
  [[nodiscard]] const Entry& find(std::string_view name, ElementType type) const {
    const Entry& entry = find(name);
    if (entry.type != type)
      fail<ArgumentError>({"StateDict", of_file(), ": '", locus::detail::printable(name), "' holds ",
                           dtype_name(entry.type), ", not ", dtype_name(type),
                           "; get it as what it holds and convert with .as<T>()"});
    return entry;
  }

  /// The same tensors with floating-point elements of type T. Other floating-point numbers are converted into new
  /// memory, rounded to nearest. Integers, bool and tensors of T share their memory. nn::converted_for(model, state)
  /// gives each tensor the type that a model has.
  ///
  ///     io::save("half.safetensors", nn::state_dict(model).as<half>());
  template <FloatingDType T>
  [[nodiscard]] StateDict as() const {
    StateDict result = like();
    for (const Entry& entry : *this) result.template add_as<T>(*this, entry);
    return result;
  }
  /// Adds an entry of another state, with floating-point elements of type T.
  template <FloatingDType T>
  void add_as(const StateDict& other, const Entry& entry) {
    switch (entry.type) {
      case ElementType::float16: return add(entry.name, other.get<half>(entry.name).template as<T>());
      case ElementType::bfloat16: return add(entry.name, other.get<bfloat16>(entry.name).template as<T>());
      case ElementType::float32: return add(entry.name, other.get<float>(entry.name).template as<T>());
      case ElementType::float64: return add(entry.name, other.get<double>(entry.name).template as<T>());
      default: return add(entry);
    }
  }
  /// A state without tensors, of the same file and its unread entries.
  [[nodiscard]] StateDict like() const {
    StateDict result;
    result.unread_ = unread_;
    result.file_ = file_;
    return result;
  }

  /// The same tensors in another place. Tensors that are there already share their memory, also with a model. For a
  /// copy say clone().
  template <MemorySpace E>
  [[nodiscard]] StateDict<E> to(E place = {}) const {
    presence_.require("StateDict");
    StateDict<E> result;
    for (const Entry& entry : entries_) {
      entry.bytes.buffer().require_readable();
      result.add({entry.name, entry.type, entry.shape, entry.bytes.template to<E>(place)});
    }
    for (const Unread& each : unread_) result.add_unread(each.name, each.type);
    result.set_file(file_);
    return result;
  }

  /// A copy with memory of its own, unaffected by later changes of the model: the best weights so far.
  ///
  ///     auto best = nn::state_dict(model).clone();
  [[nodiscard]] StateDict clone() const {
    presence_.require("StateDict");
    StateDict result = *this;
    for (Entry& entry : result.entries_) {
      entry.bytes.buffer().require_readable();
      entry.bytes = entry.bytes.clone();
    }
    return result;
  }

 private:
  template <class E>
  friend class StateDict;
  [[nodiscard]] std::string of_file() const { return file_.empty() ? file_ : join(" of '", file_, "'"); }
  [[noreturn]] void fail_to_get(std::string_view name) const {
    const std::string shown = locus::detail::printable(name);
    for (const Unread& each : unread_)
      if (each.name == name)
        fail<ArgumentError>({"StateDict", of_file(), ": '", shown, "' was not read: the file holds ", each.type,
                             "; expected floats of 16 to 64 bits, integers of 8 to 64, or bool, of up to ", max_rank,
                             " dimensions: convert it where the file is written"});
    locus::detail::NameList names;
    for (const Entry& entry : entries_) names.add(entry.name);
    fail<ArgumentError>({"StateDict", of_file(), ": there is no tensor '", shown, "'; there are ", names.text()});
  }

  locus::detail::Presence presence_;
  std::vector<Entry> entries_;
  std::vector<Unread> unread_;
  std::string file_;
  std::map<std::string, std::size_t, std::less<>> positions_;
};

}}}  // namespace locus::LOCUS_ABI::nn
