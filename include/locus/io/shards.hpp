#pragma once
// States of models in several safetensors files with an index, as Hugging Face's save_pretrained writes them.

#include <locus/io/json.hpp>
#include <locus/io/safetensors.hpp>
#include <locus/io/safetensors_file.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace io {

/// How a state is divided into files.
struct ShardOptions {
  std::int64_t max_bytes = 5'000'000'000;  ///< of the tensors in a file; a larger tensor has a file of its own
};

namespace detail {
using ShardEntries = std::vector<const nn::StateDict<Cpu>::Entry*>;

/// The entries of each file, in the order of the state.
[[nodiscard]] inline std::vector<ShardEntries> divided_entries(const nn::StateDict<Cpu>& state,
                                                               std::int64_t max_bytes) {
  std::vector<ShardEntries> files;
  std::int64_t room = 0;
  for (const auto& entry : state) {
    const std::int64_t bytes = entry.bytes.elements();
    if (files.empty() || bytes > room) files.emplace_back(), room = max_bytes;
    files.back().push_back(&entry);
    room = bytes < room ? room - bytes : 0;
  }
  return files;
}

/// "model-00002-of-00010.safetensors" for "model.safetensors"
[[nodiscard]] inline std::string shard_path(const std::string& path, std::size_t which, std::size_t count) {
  constexpr std::string_view ending = ".safetensors";
  const auto five = [](std::size_t number) {
    const std::string digits = std::to_string(number);
    return std::string(digits.size() < 5 ? 5 - digits.size() : 0, '0') + digits;
  };
  return join(path.substr(0, path.size() - ending.size()), "-", five(which), "-of-", five(count), ending);
}

[[nodiscard]] inline std::string save_shards(const std::string& path, const nn::StateDict<Cpu>& state,
                                             const ShardOptions& options) {
  if (!path.ends_with(".safetensors") || path.ends_with("/.safetensors"))
    fail<ArgumentError>({"save_shards: '", path, "'; expected a path such as folder/model.safetensors"});
  if (options.max_bytes < 1)
    fail<ArgumentError>({"save_shards: .max_bytes = ", options.max_bytes, "; expected at least 1"});
  state.require_all_read("save_shards");
  const auto files = divided_entries(state, options.max_bytes);
  if (files.size() < 2) {
    write_safetensors<Cpu>("save_shards", path, state, {});
    return path;
  }
  std::int64_t bytes = 0;
  std::map<std::string, std::string> file_of;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string shard = shard_path(path, i + 1, files.size());
    write_entries<Cpu>("save_shards", shard, files[i], {});
    for (const auto* entry : files[i]) {
      file_of.emplace(entry->name, shard.substr(shard.find_last_of('/') + 1));
      bytes += entry->bytes.elements();
    }
  }
  JsonWriter json;
  json.begin_object().key("metadata").begin_object().member("total_size", bytes).end_object();
  json.key("weight_map").begin_object();
  for (const auto& [name, file] : file_of) json.member(name, file);
  json.end_object().end_object();
  std::string index = join(path, shard_index_ending);
  write_file_atomically(index, json.text());
  return index;
}
}  // namespace detail

/// Writes a state as several safetensors files of at most .max_bytes, and then the index that names the file of each
/// tensor: of "folder/model.safetensors", model-00001-of-00003.safetensors and so on, and model.safetensors.index.json.
/// A state that fits one file is written as that file, without an index. Returns the path to give to load() or
/// load_mapped(). Files of an earlier save stay: write each save to a folder of its own.
/// throws as save(); ArgumentError also for a path that does not end in .safetensors
///
///     const auto index = io::save_shards("folder/model.safetensors", nn::state_dict(model), {.max_bytes = 2'000'000});
///     nn::load_state_dict(other, io::load<D>(index));
template <class D>
std::string save_shards(const std::string& path, const nn::StateDict<D>& state, const ShardOptions& options = {}) {
  return locus::detail::or_out_of_memory({"cannot write '", path, "': out of memory"},
                                         [&] { return detail::save_shards(path, state.template to<Cpu>(), options); });
}

}}}  // namespace locus::LOCUS_ABI::io
