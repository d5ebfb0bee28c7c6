#pragma once
// Reading and writing of safetensors files, which the compiled library holds.

#include <locus/core/system/file.hpp>
#include <locus/core/system/input_file.hpp>
#include <locus/io/safetensors_content.hpp>
#include <locus/io/shard_index.hpp>
#include <locus/nn/state.hpp>

#include <bit>

namespace locus { inline namespace LOCUS_ABI { namespace io { namespace detail {

static_assert(std::endian::native == std::endian::little, "safetensors files hold little-endian numbers");

/// Reads exactly `bytes` bytes. throws DataError
inline void read_all(InputFile& file, void* target, std::size_t bytes) {
  if (file.read(target, bytes) != bytes)
    fail<DataError>({"cannot read '", file.path(), "' as safetensors: it ended while it was read"});
}

/// Reads a tensor at the file's position, and adds it to a state.
inline void read_tensor(InputFile& file, const Placed& tensor, nn::StateDict<Cpu>& state) {
  const std::size_t count = tensor.end - tensor.begin;
  const Tensor<std::uint8_t, Cpu> bytes({static_cast<std::int64_t>(count)});
  read_all(file, bytes.data(), count);
  bool is_valid = true;
  if (tensor.type == ElementType::boolean)
    for (std::size_t i = 0; i < count; ++i) is_valid &= bytes.data()[i] <= 1;
  if (!is_valid)
    fail<DataError>({"cannot read '", file.path(), "' as safetensors: \"", locus::detail::printable(tensor.name),
                     "\" of bool holds other bytes than 0 and 1"});
  state.add({tensor.name, tensor.type, tensor.shape, bytes});
}

/// Reads the header of a file positioned at its beginning. throws DataError
[[nodiscard]] inline Contents read_header(InputFile& file) {
  const std::string what = join("cannot read '", file.path(), "' as safetensors");
  std::string text(locus::detail::smaller<std::uint64_t>(header_length_bytes, file.bytes()), ' ');
  read_all(file, text.data(), text.size());
  text.resize(header_length(text, file.bytes(), what));
  read_all(file, text.data(), text.size());
  return contents_of(text, file.bytes(), what);
}

/// Calls add(tensor, begin, state) to add each readable tensor, which begins at byte `begin` of the file.
template <class D, class F>
[[nodiscard]] nn::StateDict<D> state_of(const std::string& path, const Contents& contents, const F& add) {
  nn::StateDict<D> state;
  state.set_file(path);
  for (const Placed& tensor : contents.tensors) {
    if (tensor.unread.empty()) add(tensor, contents.begin + tensor.begin, state);
    else state.add_unread(tensor.name, tensor.unread);
  }
  return state;
}

/// The tensors of one file.
[[nodiscard]] inline nn::StateDict<Cpu> read_one_safetensors(const std::string& path) {
  InputFile file(path, "a safetensors file");
  const Contents contents = read_header(file);
  return state_of<Cpu>(path, contents, [&](const Placed& tensor, std::uint64_t begin, nn::StateDict<Cpu>& state) {
    file.go_to(begin);
    read_tensor(file, tensor, state);
  });
}

template <class D>
nn::StateDict<D> read_safetensors(const std::string& path) {
  return is_shard_index(path) ? read_shards(path, read_one_safetensors) : read_one_safetensors(path);
}

template <class D>
std::string read_run(const std::string& path) {
  InputFile file(path, "a safetensors file");
  return read_header(file).run;
}

/// Writes some entries of a state, large elements first, so that every tensor is aligned. throws
/// ArgumentError, DataError
template <class D>
void write_entries(const char* caller, const std::string& path,
                   const std::vector<const typename nn::StateDict<D>::Entry*>& given, const std::string& run) {
  std::vector<const typename nn::StateDict<D>::Entry*> entries;
  for (const std::size_t size : {16u, 8u, 4u, 2u, 1u})
    for (const auto* entry : given)
      if (size_of(entry->type) == size) entries.push_back(entry);
  const SafetensorsText text_of_run{run_key, run};
  HeaderWriter header(caller, Span<const SafetensorsText>(&text_of_run, run.empty() ? 0 : 1));
  for (const auto* entry : entries)
    header.add(entry->name, written_safetensors_name(entry->name, entry->type), entry->shape,
               static_cast<std::uint64_t>(entry->bytes.elements()));
  const std::string text = header.text();
  std::vector<std::string_view> parts{text};
  for (const auto* entry : entries)
    parts.emplace_back(reinterpret_cast<const char*>(entry->bytes.data()),
                       static_cast<std::size_t>(entry->bytes.elements()));
  write_file_atomically(path, parts);
}

template <class D>
void write_safetensors(const char* caller, const std::string& path, const nn::StateDict<D>& state,
                       const std::string& run) {
  state.require_all_read(caller);
  std::vector<const typename nn::StateDict<D>::Entry*> entries;
  for (const auto& entry : state) entries.push_back(&entry);
  write_entries<D>(caller, path, entries, run);
}

}}}}  // namespace locus::LOCUS_ABI::io::detail
