#pragma once
// dist::load_parts: fills the parts of each rank from a checkpoint, however it was divided.

#include <locus/distributed/checkpoint/save.hpp>
#include <locus/io/mapped.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

struct LoadPartsOptions {
  /// Whether each tensor of the checkpoint is to be a part of some rank.
  bool strict = true;
  /// Whether tensors of single ranks (add_own, generators) stay as they are where the checkpoint is of another number
  /// of ranks; otherwise that is an error.
  bool allow_other_ranks = false;
};

namespace detail {

/// Reads tensors of a checkpoint, from mapped files.
class PartsReader {
 public:
  /// throws DataError
  explicit PartsReader(std::string folder) : folder_(std::move(folder)), index_(read_index(folder_)) {}
  [[nodiscard]] const Index& index() const { return index_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }

  /// throws ArgumentError that lists the names for one that is not there
  [[nodiscard]] const StoredTensor& find(const std::string& name) const {
    if (const auto found = index_.tensors.find(name); found != index_.tensors.end()) return found->second;
    locus::detail::NameList names;
    for (const auto& [each, tensor] : index_.tensors) names.add(each);
    fail<ArgumentError>({"load_parts: the checkpoint '", folder_, "' has no tensor '", locus::detail::printable(name),
                         "'; there are ", names.text()});
  }
  /// The elements of a place. throws DataError for a file that is missing, damaged, or not the one of the index
  [[nodiscard]] Tensor<std::uint8_t, Cpu> read(const std::string& name, const StoredTensor& tensor, const Runs& to) {
    const auto bytes = static_cast<std::int64_t>(size_of(tensor.type));
    Tensor<std::uint8_t, Cpu> target({to.elements() * bytes});
    std::int64_t copied = 0;
    for (const StoredPart& part : tensor.parts)
      if (may_share(part.runs, to))
        copied += copy_shared(part.runs, bytes_of(name, tensor, part).data(), to, target.data(), bytes);
    if (copied != to.elements())
      fail<DataError>({"load_parts: '", folder_, "' has ", copied, " of ", to.elements(), " elements of '",
                       locus::detail::printable(name), "'; its index is damaged"});
    return target;
  }
  [[nodiscard]] Tensor<std::uint8_t, Cpu> whole(const std::string& name, const StoredTensor& tensor) {
    return read(name, tensor, runs_of(name, tensor.shape, {}, tensor.shape));
  }

 private:
  [[nodiscard]] Tensor<std::uint8_t, Cpu> bytes_of(const std::string& name, const StoredTensor& tensor,
                                                   const StoredPart& part) {
    const std::string path = join(folder_, "/", part.file);
    File& file = files_[part.file];
    if (file.entries.empty()) file.open(path, name);
    const auto refuse = [&](const std::string& given) {
      fail<DataError>({"load_parts: '", path, "' has ", given, ", where the index has ", dtype_name(tensor.type),
                       " of shape ", part.shape, " for a part of '", locus::detail::printable(name),
                       "'; the file is of another checkpoint: copy checkpoints as whole folders"});
    };
    const auto at = file.entries.find(part.key);
    if (at == file.entries.end()) refuse(join("no tensor '", locus::detail::printable(part.key), "'"));
    const auto& entry = *at->second;
    if (entry.type != tensor.type || !(entry.shape == part.shape))
      refuse(join(dtype_name(entry.type), " of shape ", entry.shape));
    entry.bytes.buffer().require_readable();
    return entry.bytes;
  }

  struct File {
    nn::StateDict<Cpu> state{};
    std::map<std::string_view, const nn::StateDict<Cpu>::Entry*> entries{};
    void open(const std::string& path, const std::string& name) {
      try {
        state = io::load_mapped(path);
      } catch (const DataError& error) {
        fail<DataError>({"load_parts: ", error.what(), ", with a part of '", locus::detail::printable(name),
                         "'; restore the file from a copy, or load another checkpoint"});
      }
      for (const auto& entry : state) entries.emplace(entry.name, &entry);
    }
  };
  std::string folder_;
  Index index_;
  std::map<std::string, File> files_;
};

/// The state that a rank loads: read and checked, to be applied without failing.
class PreparedLoad {
 public:
  PreparedLoad(PartsReader& reader, int rank, int ranks, const LoadPartsOptions& options)
      : reader_(reader),
        rank_(rank),
        has_other_ranks_(reader.index().info.ranks != ranks),
        ranks_(ranks),
        options_(options) {}

  LOCUS_OUT_OF_LINE void prepare(const Parts& parts) {
    for (const NamedPart& part : parts.parts())
      if (!is_skipped(part.is_own, part.name)) prepare(part);
    for (const NamedGroup& group : parts.groups())
      if (!is_skipped(group.is_own, group.name)) prepare(group);
  }
  void apply() const {
    for (const auto& change : changes_) change->apply();
  }
  /// For each tensor of the index, in its order: 1 if a part of this rank needs it.
  [[nodiscard]] std::vector<std::uint8_t> needed() const {
    std::vector<std::uint8_t> result;
    for (const auto& [name, tensor] : reader_.index().tensors)
      result.push_back(needed_.contains(name) || (tensor.rank >= 0 && has_other_ranks_));
    return result;
  }

 private:
  [[nodiscard]] bool is_skipped(bool is_own, const std::string& name) const {
    if (!is_own || !has_other_ranks_) return false;
    if (options_.allow_other_ranks) return true;
    fail<ArgumentError>({"load_parts: '", locus::detail::printable(name),
                         "' is of each rank by itself, and the checkpoint '", reader_.folder(), "' is of ",
                         reader_.index().info.ranks, " ranks; this run has ", ranks_,
                         ": start as many, or say {.allow_other_ranks = true} to leave it as it is"});
  }
  void prepare(const NamedPart& part) {
    const std::string name = part.is_own ? own_name(rank_, part.name) : part.name;
    const StoredTensor& tensor = reader_.find(name);
    if (tensor.type != part.type)
      fail<ArgumentError>({"load_parts: '", locus::detail::printable(name), "' of '", reader_.folder(), "' holds ",
                           dtype_name(tensor.type), ", and the part of rank ", rank_, " ", dtype_name(part.type),
                           "; load it as what it holds, and convert with .as<T>()"});
    if (!(tensor.shape == part.whole))
      fail<ShapeError>({"load_parts: '", locus::detail::printable(name), "' of '", reader_.folder(), "' has shape ",
                        tensor.shape, ", and ", part.whole, " on rank ", rank_,
                        "; build the model that was saved, and give the shape of the whole tensor"});
    needed_.insert(name);
    changes_.push_back(part.memory->change_to(reader_.read(name, tensor, part.runs())));
  }
  void prepare(const NamedGroup& group) {
    const std::string prefix = join(group.is_own ? own_name(rank_, group.name) : group.name, ".");
    nn::StateDict<Cpu> state;
    state.set_file(reader_.folder());
    for (const auto& [name, tensor] : reader_.index().tensors) {
      if (!name.starts_with(prefix) || !group.group->takes(std::string_view(name).substr(prefix.size()))) continue;
      needed_.insert(name);
      state.add({name.substr(prefix.size()), tensor.type, tensor.shape, reader_.whole(name, tensor)});
    }
    changes_.push_back(group.group->change_to(state));
  }

  PartsReader& reader_;
  int rank_;
  bool has_other_ranks_;
  int ranks_;
  const LoadPartsOptions& options_;
  std::set<std::string, std::less<>> needed_;
  std::vector<Shared<Change>> changes_;
};

/// throws DataError on all ranks unless all read the same index
template <class D>
void require_same_index(const Communicator<D>& comm, const PartsReader& reader) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : text_of(reader.index())) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  const auto all = texts_of_all(comm, join(hash));
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank] != all[0])
      fail<DataError>({"load_parts: rank ", rank, " reads another checkpoint as '", reader.folder(),
                       "' than rank 0; load from a file system that all ranks share, and save to other names"});
}
/// throws ArgumentError on all ranks for a tensor that no rank needs
template <class D>
void require_all_needed(const Communicator<D>& comm, const PartsReader& reader, const PreparedLoad& load) {
  const auto mine = load.needed();
  const auto all = comm.all_reduced(bytes_on(comm, mine.data(), mine.size()), max).template to<Cpu>();
  locus::detail::NameList names;
  bool any = false;
  std::int64_t i = 0;
  for (const auto& [name, tensor] : reader.index().tensors) {
    if (all.data()[i++]) continue;
    names.add(name);
    any = true;
  }
  if (any)
    fail<ArgumentError>({"load_parts: no rank has a part of ", names.text(), " of '", reader.folder(),
                         "'; to load the others, say {.strict = false}"});
}

}  // namespace detail

/// Fills the parts of each rank from a checkpoint, whatever number of ranks saved it and however it was divided: ranges
/// from blocks, blocks from ranges. All ranks call it. Files are mapped; each rank reads the bytes of its parts.
/// Returns the step, the text, the number of ranks and the run.
///
/// throws DataError for a file that is missing or damaged, ArgumentError for a tensor that is not there, of another
/// type, or needed by no rank unless not strict, and for own tensors of another number of ranks; ShapeError for another
/// shape; RankError that names the rank on the others. Then no part of any rank has changed: applying what was read
/// cannot fail
/// cost: a second copy of the parts of this rank while it loads, also on its device
///
///     if (const auto newest = dist::newest_checkpoint("run", comm)) dist::load_parts(*newest, comm, parts);
template <class D>
CheckpointInfo load_parts(const std::string& folder, const Communicator<D>& comm, const Parts& parts,
                          const LoadPartsOptions& options = {}) {
  std::optional<detail::PartsReader> reader;
  std::optional<detail::PreparedLoad> load;
  on_all_ranks(comm, [&] {
    locus::detail::or_out_of_memory({"load_parts: out of memory for the parts of '", folder, "'"}, [&] {
      reader.emplace(folder);
      load.emplace(*reader, comm.rank(), comm.size(), options).prepare(parts);
    });
  });
  detail::require_same_index(comm, *reader);
  if (options.strict) detail::require_all_needed(comm, *reader, *load);
  load->apply();
  return reader->index().info;
}

/// A whole tensor of a checkpoint, on the host. One process reads it, without ranks. throws as load_parts()
///
///     auto weight = dist::whole<float>("run/step-100", "model.0.weight");
template <DType T>
[[nodiscard]] Tensor<T, Cpu> whole(const std::string& folder, const std::string& name) {
  detail::PartsReader reader(folder);
  const detail::StoredTensor& tensor = reader.find(name);
  if (tensor.type != element_type<T>)
    fail<ArgumentError>({"whole: '", locus::detail::printable(name), "' of '", folder, "' holds ",
                         dtype_name(tensor.type), ", not ", dtype_name<T>(),
                         "; get it as what it holds and convert with .as<T>()"});
  const auto bytes = reader.whole(name, tensor);
  return {bytes.buffer(), reinterpret_cast<T*>(bytes.data()), tensor.shape, row_major(tensor.shape)};
}

/// The whole tensors whose names begin with `prefix`, without it: an ordinary state for one process, and for io::save.
/// Tensors of single ranks are left out. throws as load_parts(), and ArgumentError if no name begins so
///
///     io::save("model.safetensors", dist::whole_state("run/step-100", "model."));
[[nodiscard]] inline nn::StateDict<Cpu> whole_state(const std::string& folder, const std::string& prefix = "") {
  return locus::detail::or_out_of_memory({"whole_state: no memory for the tensors of '", folder, "'"}, [&] {
    detail::PartsReader reader(folder);
    nn::StateDict<Cpu> state;
    for (const auto& [name, tensor] : reader.index().tensors)
      if (tensor.rank < 0 && name.starts_with(prefix))
        state.add({name.substr(prefix.size()), tensor.type, tensor.shape, reader.whole(name, tensor)});
    if (state.size() == 0) (void)reader.find(prefix + "*");  // throws, and lists the names
    return state;
  });
}

}}}  // namespace locus::LOCUS_ABI::dist
