#pragma once
// Safetensors files without tensors of Locus: names, types, shapes and bytes.
// https://github.com/huggingface/safetensors

#include <locus/core/system/file.hpp>
#include <locus/core/system/file_mapping.hpp>
#include <locus/io/safetensors_content.hpp>

#include <span>

namespace locus { inline namespace LOCUS_ABI { namespace io {

/// A tensor in a safetensors file: its bytes are elsewhere, such as in a mapped file.
struct SafetensorsView {
  std::string name;
  std::string dtype;                  ///< in the format's words: "F32", "BF16", "F8_E4M3"
  std::vector<std::uint64_t> shape;   ///< outermost extent first
  std::span<const std::byte> data{};  ///< dense, row-major, little-endian

  /// The elements of a tensor of T. throws ArgumentError for another type, and for data at an address that is no
  /// multiple of T's size: copy the bytes then; DataError for bool of other bytes than 0 and 1
  ///
  ///     for (float x : file["bias"].values<float>()) ...
  template <DType T>
  [[nodiscard]] std::span<const T> values() const {
    if (dtype != detail::safetensors_name(element_type<T>))
      fail<ArgumentError>({"'", locus::detail::printable(name), "' holds ", locus::detail::printable(dtype), ", not ",
                           detail::safetensors_name(element_type<T>)});
    if (reinterpret_cast<std::uintptr_t>(data.data()) % sizeof(T) != 0)
      fail<ArgumentError>({"'", locus::detail::printable(name), "' lies at an address that is no multiple of ",
                           sizeof(T), "; copy its bytes"});
    if constexpr (std::is_same_v<T, bool>)
      for (const std::byte each : data)
        if (each > std::byte{1})
          fail<DataError>({"'", locus::detail::printable(name), "' of bool holds other bytes than 0 and 1"});
    return {reinterpret_cast<const T*>(data.data()), data.size() / sizeof(T)};
  }
};

/// Texts of a file by key.
using SafetensorsMetadata = std::vector<std::pair<std::string, std::string>>;

namespace detail {
[[nodiscard]] inline std::vector<SafetensorsView> views_of(std::vector<Placed> placed,
                                                           std::span<const std::byte> data) {
  std::vector<SafetensorsView> views;
  views.reserve(placed.size());
  for (Placed& each : placed)
    views.push_back({std::move(each.name), std::move(each.type_name), std::move(each.extents),
                     data.subspan(each.begin, each.end - each.begin)});
  return views;
}
}  // namespace detail

/// The tensors of the content of a safetensors file in memory, which must outlive them. `source`: for messages.
/// throws DataError, which names the defect
[[nodiscard]] inline std::vector<SafetensorsView> parse_safetensors(std::span<const std::byte> content,
                                                                    std::string_view source = "memory") {
  const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
  detail::Contents contents = detail::parse_contents(text, join("cannot read '", source, "' as safetensors"));
  return detail::views_of(std::move(contents.tensors), content.subspan(contents.begin));
}

/// A safetensors file, mapped into memory: pages come from the disk when they are first touched. Its views must not
/// outlive it. Bytes of bool are checked by values<bool>(). Replace a mapped file by a new one; if it is truncated,
/// reading the missing part ends the program (SIGBUS), as with every mapping.
///
///     const io::SafetensorsFile file("model.safetensors");
///     for (const auto& [name, dtype, shape, data] : file) std::cout << name << " " << dtype << "\n";
class SafetensorsFile {
 public:
  /// throws DataError for a file that is missing, truncated or malformed, which it names; OutOfMemory
  explicit SafetensorsFile(const std::string& path) : mapping_(detail::InputFile(path, "a safetensors file")) {
    locus::detail::or_out_of_memory({"cannot read '", path, "': out of memory"}, [&] { read(path); });
  }

  /// Views in the order of their bytes.
  [[nodiscard]] auto begin() const { return views_.begin(); }
  [[nodiscard]] auto end() const { return views_.end(); }
  [[nodiscard]] std::size_t size() const { return views_.size(); }
  [[nodiscard]] bool contains(std::string_view name) const { return positions_.contains(name); }
  /// throws ArgumentError, which lists names, for a name that is not there; DataError if the file was truncated since
  [[nodiscard]] const SafetensorsView& operator[](std::string_view name) const {
    mapping_.require_whole();
    if (const auto found = positions_.find(name); found != positions_.end()) return views_[found->second];
    locus::detail::NameList names;
    for (const SafetensorsView& view : views_) names.add(view.name);
    fail<ArgumentError>({"'", mapping_.file().path(), "': there is no tensor '", locus::detail::printable(name),
                         "'; there are ", names.text()});
  }
  /// Texts of the header's __metadata__, in the file's order.
  [[nodiscard]] const SafetensorsMetadata& metadata() const { return metadata_; }

 private:
  void read(const std::string& path) {
    const std::string_view text(reinterpret_cast<const char*>(mapping_.data()), mapping_.bytes());
    detail::Contents contents = detail::parse_contents(text, join("cannot read '", path, "' as safetensors"));
    metadata_ = std::move(contents.metadata);
    views_ = detail::views_of(std::move(contents.tensors), std::as_bytes(std::span(text)).subspan(contents.begin));
    for (std::size_t i = 0; i < views_.size(); ++i) positions_.emplace(views_[i].name, i);
  }

  detail::FileMapping mapping_;
  std::vector<SafetensorsView> views_;
  SafetensorsMetadata metadata_;
  std::map<std::string, std::size_t, std::less<>> positions_;
};

/// Writes tensors as a safetensors file: to a temporary file beside it, which is then renamed. Tensors of large
/// elements come first, so that all are aligned; others keep their order. throws ArgumentError for names that are not
/// UTF-8 or are there twice, and for data of another size than type and shape say; DataError if it cannot be written;
/// OutOfMemory
///
///     const std::vector<float> values(6);
///     io::write_safetensors("x.safetensors", {{"x", "F32", {2, 3}, std::as_bytes(std::span(values))}});
inline void write_safetensors(const std::string& path, const std::vector<SafetensorsView>& tensors,
                              const SafetensorsMetadata& metadata = {}) {
  locus::detail::or_out_of_memory({"cannot write '", path, "': out of memory"}, [&] {
    std::set<std::string_view> names, keys;
    for (const auto& [key, text] : metadata) {
      const std::string shown = join("write_safetensors: the metadata '", locus::detail::printable(key), "'");
      if (!is_utf8(key) || !is_utf8(text)) fail<ArgumentError>({shown, " is not UTF-8"});
      if (!keys.insert(key).second) fail<ArgumentError>({shown, " is there twice"});
    }
    detail::HeaderWriter header("write_safetensors", metadata);
    std::vector<std::string_view> parts(1);
    const auto add = [&](const SafetensorsView& tensor, std::uint64_t element) {
      const std::string name = join("write_safetensors: '", locus::detail::printable(tensor.name), "'");
      const std::uint64_t expected = detail::bytes_of_tensor(tensor.dtype, tensor.shape, name);
      if (detail::safetensors_type(tensor.dtype)->bytes != element) return;
      if (!names.insert(tensor.name).second) fail<ArgumentError>({name, " is there twice"});
      if (expected != tensor.data.size())
        fail<ArgumentError>({name, " has ", tensor.data.size(), " bytes; its type and shape have ", expected});
      header.add(tensor.name, tensor.dtype, tensor.shape, tensor.data.size());
      parts.emplace_back(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size());
    };
    for (const std::uint64_t element : {8u, 4u, 2u, 1u})
      for (const SafetensorsView& tensor : tensors) add(tensor, element);
    const std::string text = header.text();
    parts[0] = text;
    write_file_atomically(path, parts);
  });
}

}}}  // namespace locus::LOCUS_ABI::io
