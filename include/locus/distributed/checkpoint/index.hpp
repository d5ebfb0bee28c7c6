#pragma once
// The index of a checkpoint of ranks: tensors, and the file and place of each of their parts, as JSON.

#include <locus/core/element_type.hpp>
#include <locus/core/system/input_file.hpp>
#include <locus/distributed/checkpoint/place.hpp>
#include <locus/io/json.hpp>
#include <locus/io/json_reader.hpp>
#include <locus/io/run_record.hpp>
#include <locus/io/safetensors_header.hpp>

#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

/// The properties of a checkpoint beside its tensors.
struct CheckpointInfo {
  int ranks = 0;           ///< that saved it
  std::int64_t step = 0;   ///< as SavePartsOptions::step
  std::string metadata{};  ///< as SavePartsOptions::metadata
  io::RunRecord run{};     ///< of rank 0's process when it saved; empty for a checkpoint of an older version
};

namespace detail {

inline constexpr const char* index_name = "index.json";
inline constexpr std::string_view index_format = "locus checkpoint of ranks";
inline constexpr std::uint64_t index_version = 1;

/// A part as the index describes it.
struct StoredPart {
  std::string file, key;  ///< the name of its file, and its name there
  Place place;
  Shape shape;
  Runs runs;
};
struct StoredTensor {
  ElementType type{};
  Shape shape;
  int rank = -1;  ///< whose own tensor it is; -1: of all
  std::vector<StoredPart> parts{};

  [[nodiscard]] std::string text() const { return join(dtype_name(type), " of shape ", shape); }
};
struct Index {
  CheckpointInfo info;
  std::map<std::string, StoredTensor, std::less<>> tensors{};
};

inline void write_part(io::JsonWriter& json, const StoredPart& part) {
  json.begin_object().member("file", part.file).member("key", part.key);
  if (part.place.kind() == Place::Kind::block)
    json.member("dim", part.place.dim()).member("offset", part.place.offset());
  if (part.place.kind() == Place::Kind::block) json.member("extent", part.shape[part.place.dim()]);
  else json.member("first", part.place.offset()).member("count", elements(part.shape));
  json.end_object();
}
[[nodiscard]] LOCUS_OUT_OF_LINE inline std::string text_of(const Index& index) {
  io::JsonWriter json(io::JsonWriter::Form::compact);
  json.begin_object().member("format", index_format).member("version", index_version);
  json.member("ranks", index.info.ranks).member("step", index.info.step).member("metadata", index.info.metadata);
  if (!index.info.run.empty()) io::detail::write_record(json.key("run"), index.info.run);
  json.key("tensors").begin_object();
  for (const auto& [name, tensor] : index.tensors) {
    const std::string_view type = io::detail::written_safetensors_name(name, tensor.type);
    json.key(name).begin_object().member("dtype", type).key("shape").begin_array();
    for (const std::int64_t extent : tensor.shape) json.value(extent);
    json.end_array();
    if (tensor.rank >= 0) json.member("rank", tensor.rank);
    json.key("parts").begin_array();
    for (const StoredPart& part : tensor.parts) write_part(json, part);
    json.end_array().end_object();
  }
  return json.end_object().end_object().text();
}

/// Reads the text of an index, which may hold anything.
class IndexReader {
 public:
  /// The second argument begins messages: "cannot read 'run/index.json' as the index of a checkpoint"
  IndexReader(std::string_view text, std::string what)
      : text_(text), what_(std::move(what)), json_what_(what_ + ": it is no JSON object") {}

  /// throws DataError
  [[nodiscard]] Index read() const {
    io::detail::JsonReader json(text_, json_what_);
    const Members all = members("the index", json.value());
    json.expect_end();
    if (const std::string format = string(all, "format"); format != index_format)
      refuse("its format is \"", locus::detail::printable(format), "\"; expected \"", index_format, "\"");
    if (const std::uint64_t version = number(all, "version"); version != index_version)
      refuse("its version is ", version, "; expected ", index_version, ": read it by the Locus that wrote it");
    Index index;
    index.info = {static_cast<int>(number(all, "ranks", 1 << 20)), integer(all, "step"), string(all, "metadata")};
    if (all.has("run")) index.info.run = io::detail::record_of(all.at("run", *this), join(what_, ": its run"));
    for (const auto& [name, text] : members("tensors", all.at("tensors", *this)).values)
      index.tensors.emplace(name, tensor(name, text));
    return index;
  }
  /// throws DataError unless the parts of each tensor cover it
  void require_cover(const Index& index) const {
    for (const auto& [name, tensor] : index.tensors) {
      Cover cover(elements(tensor.shape));
      for (const StoredPart& part : tensor.parts)
        if (!cover.add(part.runs)) refuse(quoted(name), ": ", part.place, " is there twice");
      if (const std::string defect = cover.defect(); !defect.empty()) refuse(quoted(name), ": ", defect);
    }
  }

 private:
  struct Members {
    std::string owner;
    std::map<std::string, std::string_view, std::less<>> values{};
    [[nodiscard]] std::string_view at(std::string_view key, const IndexReader& reader) const {
      const auto found = values.find(key);
      if (found == values.end()) reader.refuse(owner, " has no ", key);
      return found->second;
    }
    [[nodiscard]] bool has(std::string_view key) const { return values.contains(key); }
  };

  template <class... Text>
  [[noreturn]] LOCUS_COLD void refuse(const Text&... why) const {
    fail<DataError>({what_, ": ", why..., "; it is damaged, or not written by dist::save_parts"});
  }
  [[nodiscard]] static std::string quoted(std::string_view name) {
    return join("\"", locus::detail::printable(name), "\"");
  }

  [[nodiscard]] Members members(std::string owner, std::string_view text) const {
    Members all{std::move(owner)};
    io::detail::JsonReader json(text, json_what_);
    if (json.next() != '{')
      refuse(all.owner, " is ", locus::detail::printable(text, 40), " where an object is expected");
    json.object([&](const std::string& key) {
      if (!all.values.emplace(key, json.value()).second) refuse(all.owner, " has ", quoted(key), " twice");
    });
    return all;
  }
  /// Calls f(text) for each element of an array.
  template <class F>
  void elements_of(const std::string& owner, std::string_view text, const F& f) const {
    io::detail::JsonReader json(text, json_what_);
    if (!json.take('[')) refuse(owner, " is ", locus::detail::printable(text, 40), " where a list is expected");
    if (json.take(']')) return;
    do f(json.value());
    while (json.take(','));
  }
  [[nodiscard]] std::string string(const Members& of, std::string_view key) const {
    const std::string_view text = of.at(key, *this);
    if (text.front() != '"') refuse(of.owner, " has ", key, " ", locus::detail::printable(text), "; expected a string");
    return io::detail::JsonReader(text, json_what_).string();
  }
  [[nodiscard]] std::uint64_t number(const Members& of, std::string_view key, std::uint64_t most = INT64_MAX) const {
    return number_of(of.owner, key, of.at(key, *this), most);
  }
  [[nodiscard]] std::int64_t integer(const Members& of, std::string_view key) const {
    return static_cast<std::int64_t>(number(of, key));
  }
  [[nodiscard]] std::uint64_t number_of(const std::string& owner, std::string_view key, std::string_view text,
                                        std::uint64_t most = INT64_MAX) const {
    std::uint64_t value = 0;
    if (!io::detail::natural_number(text, value) || value > most)
      refuse(owner, " has ", key, " ", locus::detail::printable(text), "; expected a number, 0 to ", most);
    return value;
  }

  [[nodiscard]] StoredTensor tensor(const std::string& name, std::string_view text) const {
    const Members all = members(quoted(name), text);
    StoredTensor result;
    const std::string dtype = string(all, "dtype");
    const auto* known = std::begin(io::detail::safetensors_types);
    while (known != std::end(io::detail::safetensors_types) && !(known->is_known && known->name == dtype)) ++known;
    if (known == std::end(io::detail::safetensors_types))
      refuse(quoted(name), " has dtype ", quoted(dtype), "; expected one of a safetensors file, such as F32");
    result.type = known->type;
    elements_of(quoted(name), all.at("shape", *this), [&](std::string_view extent) {
      if (result.shape.rank() == max_rank) refuse(quoted(name), " has more than ", max_rank, " dimensions");
      result.shape.push_back(static_cast<std::int64_t>(number_of(quoted(name), "an extent", extent)));
    });
    if (all.has("rank")) result.rank = static_cast<int>(number(all, "rank", 1 << 20));
    refused_shapes([&] {
      if (elements(result.shape) > INT64_MAX / 8)
        fail<ShapeError>({"shape ", result.shape, " has more than 2^60 elements"});
      elements_of(quoted(name), all.at("parts", *this),
                  [&](std::string_view part) { result.parts.push_back(stored_part(name, result.shape, part)); });
    });
    return result;
  }
  [[nodiscard]] StoredPart stored_part(const std::string& name, const Shape& whole, std::string_view text) const {
    const Members all = members(join("a part of ", quoted(name)), text);
    StoredPart part{string(all, "file"), string(all, "key"), {}, whole, {}};
    if (part.file.empty() || part.file[0] == '.' ||
        part.file.find_first_of(std::string_view("/\0", 2)) != std::string::npos)
      refuse(quoted(name), " is in the file ", quoted(part.file), "; expected the name of a file of the folder");
    if (all.has("dim")) {
      const int dim = static_cast<int>(number(all, "dim", max_rank));
      part.place = Block{dim, integer(all, "offset")};
      if (dim < whole.rank()) part.shape[dim] = integer(all, "extent");
    } else {
      part.place = ElementRange{integer(all, "first")};
      const std::int64_t count = integer(all, "count");
      if (part.place.offset() > 0 || count != elements(whole)) part.shape = {count};
      else part.place = {};
    }
    part.runs = runs_of(name, whole, part.place, part.shape);
    return part;
  }
  /// f(), whose ShapeErrors become DataErrors.
  template <class F>
  void refused_shapes(const F& f) const {
    std::string why;
    try {
      return f();
    } catch (const ShapeError& error) {
      why = error.what();
    }
    refuse(why);
  }

  std::string_view text_;
  std::string what_, json_what_;
};

/// The index of the checkpoint in a folder. throws DataError
[[nodiscard]] LOCUS_OUT_OF_LINE inline Index read_index(const std::string& folder) {
  constexpr std::uint64_t most = 1'000'000'000;
  const std::string path = join(folder, "/", index_name);
  io::detail::InputFile file(path, "the index of a checkpoint that dist::save_parts wrote");
  if (file.bytes() > most)
    fail<DataError>({"cannot read '", path, "': it has ", file.bytes(), " bytes; at most ", most, " are read"});
  std::string text(file.bytes(), ' ');
  text.resize(file.read(text.data(), text.size()));
  const IndexReader reader(text, join("cannot read '", path, "' as the index of a checkpoint"));
  Index index = reader.read();
  reader.require_cover(index);
  return index;
}

}  // namespace detail

/// The number of ranks, the step, the text and the run of a checkpoint. throws DataError for a folder without a sound
/// index
///
///     std::cout << io::difference(dist::checkpoint_info("run/step-100").run, io::run_record());
[[nodiscard]] inline CheckpointInfo checkpoint_info(const std::string& folder) {
  return detail::read_index(folder).info;
}

}}}  // namespace locus::LOCUS_ABI::dist
