#pragma once
// Models in several files: an index in JSON, such as model.safetensors.index.json of Hugging Face, names the file of
// each tensor.

#include <locus/core/system/folder.hpp>
#include <locus/core/system/input_file.hpp>
#include <locus/core/system/temporary_file.hpp>
#include <locus/io/json_reader.hpp>
#include <locus/nn/state.hpp>

#include <map>
#include <set>
#include <string>

namespace locus { inline namespace LOCUS_ABI { namespace io::detail {

inline constexpr std::string_view shard_index_ending = ".index.json";
[[nodiscard]] inline bool is_shard_index(std::string_view path) { return path.ends_with(shard_index_ending); }

/// The files of a model in the order of their names, and the file of each tensor.
struct ShardIndex {
  std::map<std::string, std::string> file_of;
  std::set<std::string> files;
};

/// Whether a name means a file beside the index, without a folder, and without control characters, which messages would
/// send to a terminal.
[[nodiscard]] inline bool is_file_name(std::string_view name) {
  for (const char c : name)
    if (c == '/' || c == '\x7f' || static_cast<unsigned char>(c) < 0x20) return false;
  return !name.empty() && name != "." && name != "..";
}

/// Parses the text of an index. what: begins messages. throws DataError
[[nodiscard]] inline ShardIndex parse_shard_index(std::string_view text, const std::string& what) {
  const std::string json_what = join(what, ": it is no JSON object");
  ShardIndex index;
  bool has_map = false;
  JsonReader json(text, json_what);
  json.object([&](const std::string& key) {
    if (key != "weight_map") return (void)json.value();
    if (has_map) fail<DataError>({what, ": 'weight_map' is there twice"});
    has_map = true;
    json.object([&](const std::string& name) {
      const std::string file = json.string();
      const auto shown = [&] { return locus::detail::printable(name); };
      if (!is_file_name(file))
        fail<DataError>({what, ": '", shown(), "' is in '", locus::detail::printable(file),
                         "'; expected the name of a file beside the index, without a folder"});
      if (!index.file_of.emplace(name, file).second) fail<DataError>({what, ": '", shown(), "' is there twice"});
      index.files.insert(file);
    });
  });
  json.expect_end();
  if (!has_map) fail<DataError>({what, ": it has no 'weight_map', which names the file of each tensor"});
  return index;
}

[[nodiscard]] inline ShardIndex read_shard_index(const std::string& path) {
  return parse_shard_index(content_of(path, "an index of files, such as model.safetensors.index.json", 100'000'000),
                           join("cannot read '", path, "' as an index of files"));
}

/// The name of a shard, "model-00002-of-00003.safetensors", without its number; empty for other names.
[[nodiscard]] inline std::string series_of_shard(std::string_view file) {
  constexpr std::string_view digits = "0123456789";
  const std::size_t of = file.rfind("-of-"), end = of + 4;
  if (of == file.npos || of < 2) return {};
  const std::size_t before = file.find_last_not_of(digits, of - 1);
  const bool has_count = end < file.size() && digits.find(file[end]) != digits.npos;
  if (before == file.npos || before + 1 == of || file[before] != '-' || !has_count) return {};
  return join(file.substr(0, before), file.substr(of));
}

/// A file of the folder that is one of several, "model-00001-of-00003.safetensors"; empty if there is none.
[[nodiscard]] inline std::string some_shard_in(const std::string& folder) {
  for (const std::string& name : names_in(folder, "the files of a model"))
    if (name.ends_with(".safetensors") && !series_of_shard(name).empty()) return name;
  return {};
}

/// The files of an index are there, and no others of the same series. throws DataError that names the files
inline void require_all_shards(const std::string& path, const ShardIndex& index, const std::string& what) {
  locus::detail::NameList missing, superfluous;
  std::size_t absent = 0, others = 0;
  std::set<std::string> series;
  const std::string folder = folder_of(path);
  for (const std::string& file : index.files) {
    series.insert(series_of_shard(file));
    if (!exists(join(folder, "/", file))) missing.add(file), ++absent;
  }
  if (absent > 0)
    fail<DataError>({what, ": of its ", index.files.size(), " files, ", absent, absent == 1 ? " is" : " are",
                     " not in the folder: ", missing.text(), "; copy all of them beside the index"});
  series.erase("");
  if (access(folder.c_str(), R_OK) != 0) return;  // the files can be opened, and not be listed
  for (const std::string& name : names_in(folder, "the files of a model"))
    if (series.contains(series_of_shard(name)) && !index.files.contains(name)) superfluous.add(name), ++others;
  if (others > 0)
    fail<DataError>({what, ": it does not name ", superfluous.text(), ", of the same series as its files; ",
                     "it was cut off, or is of another model: write each model to a folder of its own"});
}

/// The tensors of all files of an index as one state. read(path) reads a file. throws DataError for files that are
/// missing or that the index leaves out, and for tensors that are in another file than the index says, or in several
template <class Read>
[[nodiscard]] nn::StateDict<Cpu> read_shards(const std::string& path, const Read& read) {
  const ShardIndex index = read_shard_index(path);
  const std::string what = join("cannot read '", path, "' as an index of files");
  nn::StateDict<Cpu> state;
  state.set_file(path);
  require_all_shards(path, index, what);
  std::set<std::string> found;
  const auto note = [&](const std::string& name, const std::string& file) {
    const auto expected = index.file_of.find(name);
    if (!found.insert(name).second)
      fail<DataError>({what, ": '", locus::detail::printable(name), "' is in two of its files, also in '", file, "'"});
    if (expected == index.file_of.end() || expected->second != file)
      fail<DataError>(
          {what, ": '", file, "' has '", locus::detail::printable(name), "', which the index ",
           expected == index.file_of.end() ? "does not name" : join("says to be in '", expected->second, "'"),
           "; the files are of different models"});
  };
  for (const std::string& file : index.files) {
    const auto shard = read(join(folder_of(path), "/", file));
    for (const auto& entry : shard) note(entry.name, file), state.add(entry);
    for (const auto& each : shard.unread()) note(each.name, file), state.add_unread(each.name, each.type);
  }
  for (const auto& [name, file] : index.file_of)
    if (!found.contains(name))
      fail<DataError>(
          {what, ": '", file, "' does not have '", locus::detail::printable(name), "'; expected by the index"});
  return state;
}

}}}  // namespace locus::LOCUS_ABI::io::detail
