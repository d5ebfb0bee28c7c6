#pragma once
// The two formats of torch.save: a zip archive of a pickle and of storages, and, before PyTorch 1.6, pickles followed
// by storages.

#include <locus/interop/torch_objects.hpp>
#include <locus/io/mapped_memory.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace io::detail {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "files of torch.save hold little-endian numbers");

/// The largest pickle that is read, in bytes: a model's has some hundred for each tensor.
inline constexpr std::uint64_t most_pickled = std::uint64_t{1} << 26;

/// A copy of bytes that do not lie at a multiple of the largest element.
[[nodiscard]] inline Tensor<std::uint8_t, Cpu> aligned(const Tensor<std::uint8_t, Cpu>& bytes) {
  constexpr std::uintptr_t alignment = 8;
  return reinterpret_cast<std::uintptr_t>(bytes.data()) % alignment == 0 ? bytes : bytes.clone();
}

/// The archive of PyTorch 1.6 and later.
class TorchArchive {
 public:
  /// memory: of the file, if it is mapped, or empty. All must outlive this. throws DataError
  TorchArchive(InputFile& file, const Buffer<Cpu>& memory, const std::string& what)
      : what_(what), input_(file), memory_(memory), directory_(input_, what_, "torch.save") {
    for (const ZipEntry& entry : directory_)
      if (!entries_.emplace(entry.name, &entry).second)
        fail<DataError>({what_, ": '", locus::detail::printable(entry.name), "' is there twice"});
    find_root();
  }

  [[nodiscard]] Value read() {
    auto* const tree = new ValueTree(input_.path());
    const Shared<const ValueTree> owner(tree);
    const std::string pickle = text_of("data.pkl");
    TorchObjects objects(what_, *tree);
    const ValueIndex root = PickleReader(pickle, what_, *tree, objects).read();
    objects.bring([&](const TorchStorage& storage) { return memory_of_storage(storage.key, storage.bytes); });
    return {owner, root};
  }

 private:
  [[nodiscard]] Tensor<std::uint8_t, Cpu> memory_of_storage(const std::string& key, std::uint64_t bytes) {
    const ZipEntry& entry = entry_of("data/" + key);
    if (entry.bytes != bytes)
      fail<DataError>(
          {what_, ": the storage '", locus::detail::printable(key), "' has ", entry.bytes, " bytes; expected ", bytes});
    if (memory_ && entry.method == 0 && entry.stored_bytes == bytes)
      return aligned(bytes_in(memory_, directory_.begin_of(entry), bytes));
    ZipReader reader(input_, directory_, entry, what_);
    Tensor<std::uint8_t, Cpu> result({static_cast<std::int64_t>(bytes)});
    reader.read(result.data(), bytes);
    return result;
  }

  /// The archive has one folder, which holds data.pkl.
  void find_root() {
    constexpr std::string_view pickle = "/data.pkl";
    for (const auto& [name, entry] : entries_)
      if (name.ends_with(pickle) && name.find('/') == name.size() - pickle.size())
        root_ = name.substr(0, name.size() - pickle.size() + 1);
    if (root_.empty()) fail<DataError>({what_, ": it has no data.pkl; expected a file of torch.save"});
    if (entries_.contains(root_ + "constants.pkl"))
      fail<DataError>({what_,
                       ": it holds a program (torch.jit.save), which Locus does not execute; save "
                       "model.state_dict() with torch.save"});
    if (entries_.contains(root_ + "byteorder"))
      if (const std::string order = text_of("byteorder"); order != "little")
        fail<DataError>({what_, ": its byte order is '", locus::detail::printable(order),
                         "'; expected 'little': save it on a machine of that order"});
  }
  [[nodiscard]] const ZipEntry& entry_of(const std::string& name) const {
    const auto found = entries_.find(root_ + name);
    if (found == entries_.end())
      fail<DataError>({what_, ": it has no '", locus::detail::printable(name), "'; it is damaged or cut off"});
    return *found->second;
  }
  [[nodiscard]] std::string text_of(const std::string& name) {
    const ZipEntry& entry = entry_of(name);
    if (entry.bytes > most_pickled) fail<DataError>({what_, ": its ", name, " has more than ", most_pickled, " bytes"});
    ZipReader reader(input_, directory_, entry, what_);
    std::string text(entry.bytes, ' ');
    reader.read(text.data(), text.size());
    return text;
  }

  const std::string& what_;
  InputFile& input_;
  const Buffer<Cpu>& memory_;
  ZipDirectory directory_;
  std::map<std::string, const ZipEntry*> entries_;
  std::string root_;  ///< with a slash at its end
};

/// The format before PyTorch 1.6: pickles of a magic number, of a version, of the writing machine, of the values and of
/// the keys of the storages; then the storages in this order, each behind its number of elements.
class OldTorchFile {
 public:
  static constexpr std::string_view magic{"\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10};

  /// memory: of the whole file. Both must outlive this.
  OldTorchFile(std::string path, const Buffer<Cpu>& memory, const std::string& what)
      : what_(what),
        path_(std::move(path)),
        memory_(memory),
        text_{static_cast<const char*>(memory.data()), memory.bytes()} {}

  [[nodiscard]] Value read() {
    auto* const tree = new ValueTree(path_);
    const Shared<const ValueTree> owner(tree);
    read_head();
    TorchObjects objects(what_, *tree);
    const ValueIndex root = next(*tree, objects);
    const auto places = places_of_storages(objects);
    objects.bring([&](const TorchStorage& storage) {
      const auto place = places.find(storage.key);
      if (place == places.end()) refuse_storage(storage.key);
      return aligned(bytes_in(memory_, place->second, storage.bytes));
    });
    return {owner, root};
  }

 private:
  [[nodiscard]] ValueIndex next(ValueTree& tree, TorchObjects& objects) {
    PickleReader reader(text_.substr(at_, most_pickled), what_, tree, objects);
    const ValueIndex root = reader.read();
    at_ += reader.at();
    return root;
  }
  /// Reads the three pickles before the values.
  void read_head() {
    auto* const tree = new ValueTree(path_);
    const Shared<const ValueTree> owner(tree);
    TorchObjects objects(what_, *tree);
    if (tree->nodes[next(*tree, objects)].text != magic) fail<DataError>({what_, ": it has another magic number"});
    constexpr std::uint64_t expected = 1001;
    if (const std::uint64_t version = tree->nodes[next(*tree, objects)].bits; version != expected)
      fail<DataError>({what_, ": it has version ", version, " of the format; expected ", expected});
    const Value machine(owner, next(*tree, objects));
    if (!machine.contains("little_endian") || machine["little_endian"].kind() != ValueKind::boolean ||
        !machine["little_endian"].boolean())
      fail<DataError>({what_, ": it was not written on a little-endian machine; save it on one"});
  }
  /// Reads the list of keys. Returns where the bytes of each storage begin.
  [[nodiscard]] std::map<std::string, std::uint64_t> places_of_storages(const TorchObjects& objects) {
    ValueTree tree(path_);
    TorchObjects no_objects(what_, tree);
    const ValueIndex keys = next(tree, no_objects);
    std::map<std::string, std::uint64_t> places;
    constexpr std::uint64_t count_bytes = 8;
    for (const ValueIndex part : tree.nodes[keys].parts) {
      const std::string& key = tree.nodes[part].text;
      const TorchStorage* const storage = objects.storage_of(key);
      if (!storage || text_.size() - at_ < count_bytes || text_.size() - at_ - count_bytes < storage->bytes ||
          number_at(text_, at_, count_bytes) != storage->bytes / (storage->type ? storage->type->bytes : 1) ||
          !places.emplace(key, at_ + count_bytes).second)
        refuse_storage(key);
      at_ += count_bytes + storage->bytes;
    }
    return places;
  }
  [[noreturn]] void refuse_storage(const std::string& key) const {
    fail<DataError>({what_, ": the storage '", locus::detail::printable(key),
                     "' is not where its pickles say; it is damaged or cut off"});
  }

  const std::string& what_;
  std::string path_;
  const Buffer<Cpu>& memory_;
  std::string_view text_;
  std::size_t at_ = 0;
};

[[nodiscard]] inline Tensor<std::uint8_t, Cpu> whole_file(InputFile& file, const std::string& what) {
  Tensor<std::uint8_t, Cpu> whole({static_cast<std::int64_t>(file.bytes())});
  if (file.read(whole.data(), file.bytes()) != file.bytes()) fail<DataError>({what, ": it ended while it was read"});
  return whole;
}

/// Reads a file of either format. throws DataError
[[nodiscard]] inline Value read_torch_file(const std::string& path, bool is_mapped) {
  const std::string what = join("cannot read '", path, "' as a file of torch.save");
  InputFile file(path, "a file of torch.save");
  char begin[512] = {};
  const std::string_view head(begin, file.read(begin, sizeof begin));
  file.go_to(0);
  const bool is_archive = head.starts_with("PK\3\4");
  const bool is_old = head.starts_with(std::string_view("\x80\2\x8a\n", 4)) &&
                      head.substr(4, OldTorchFile::magic.size()) == OldTorchFile::magic;
  if ((is_archive || is_old) && is_mapped) {
    auto* const mapped = new MappedFile(std::move(file));
    const Buffer<Cpu> memory = memory_of(mapped);
    return is_archive ? TorchArchive(mapped->file(), memory, what).read() : OldTorchFile(path, memory, what).read();
  }
  if (is_archive) return TorchArchive(file, {}, what).read();
  if (is_old) return OldTorchFile(path, whole_file(file, what).buffer(), what).read();
  if (head.size() > 262 && head.substr(257, 5) == "ustar")
    fail<DataError>({what, ": it has the format of PyTorch before 0.1.10 (tar); save it again with a later one"});
  if (head.starts_with("GGUF")) fail<DataError>({what, ": it is a GGUF file; io::load_gguf reads it"});
  if (head.size() > 8 && head[8] == '{') fail<DataError>({what, ": it is a safetensors file; io::load reads it"});
  fail<DataError>({what, ": it begins with '", locus::detail::printable(head.substr(0, 8)),
                   "'; expected a zip archive of PyTorch 1.6 or later, or the magic number of earlier ones"});
}

}}}  // namespace locus::LOCUS_ABI::io::detail
