#pragma once
// dist::save_parts: a checkpoint to which each rank writes its parts, whole or not at all.

#include <locus/distributed/checkpoint/parts.hpp>
#include <locus/distributed/checkpoint/staged_folder.hpp>
#include <locus/io/safetensors_file.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

/// The same on all ranks.
struct SavePartsOptions {
  std::int64_t step = 0;   ///< of the run, by which newest_checkpoint() orders; 0 or more
  std::string metadata{};  ///< any text in UTF-8
};

namespace detail {

[[nodiscard]] inline std::string own_name(int rank, const std::string& name) { return join("rank.", rank, ".", name); }
/// "rank-00003.safetensors"
[[nodiscard]] inline std::string file_of_rank(int rank) {
  char name[40];
  std::snprintf(name, sizeof name, "rank-%05d.safetensors", rank);
  return name;
}

[[nodiscard]] inline std::size_t rank_of_file(const std::string& file) {
  return static_cast<std::size_t>(std::atoi(file.c_str() + std::strlen("rank-")));
}

/// The parts of a rank as entries of an index, and their memory in the same order.
struct OwnParts {
  struct Source {
    std::string name;
    StoredPart part;
    Shared<PartMemory> memory;  ///< null: `bytes`
    Tensor<std::uint8_t, Cpu> bytes{};
  };
  Index index{};
  std::vector<Source> sources{};

  void add(const std::string& name, const StoredTensor& tensor, const Place& place, const Shape& shape, Source source) {
    StoredTensor& entry = index.tensors.try_emplace(name, tensor).first->second;
    if (entry.type != tensor.type || !(entry.shape == tensor.shape))
      fail<ArgumentError>({"save_parts: '", locus::detail::printable(name), "' is ", entry.text(), " and ",
                           tensor.text(), "; give each its own name"});
    const Runs runs = runs_of(name, tensor.shape, place, shape);
    const bool is_all = runs.elements() == elements(tensor.shape);
    const std::string key = entry.parts.empty() ? name : join(name, "#", entry.parts.size() + 1);
    entry.parts.push_back({source.part.file, key, is_all ? Place() : place, is_all ? tensor.shape : shape, runs});
    source.name = name;
    source.part = entry.parts.back();
    sources.push_back(std::move(source));
  }
};
[[nodiscard]] LOCUS_OUT_OF_LINE inline OwnParts parts_of_rank(const Parts& parts, int rank, int ranks,
                                                              const SavePartsOptions& options) {
  if (options.step < 0) fail<ArgumentError>({"save_parts: step ", options.step, "; expected 0 or more"});
  if (!io::is_utf8(options.metadata)) fail<ArgumentError>({"save_parts: the metadata are not UTF-8"});
  OwnParts own;
  own.index.info = {ranks, options.step, options.metadata, {}};
  const StoredPart in_file{file_of_rank(rank), {}, {}, {}, {}};
  for (const NamedPart& part : parts.parts())
    own.add(part.is_own ? own_name(rank, part.name) : part.name, {part.type, part.whole, part.is_own ? rank : -1},
            part.place, part.shape, {{}, in_file, part.memory});
  for (const NamedGroup& group : parts.groups())
    for (const auto& entry : group.group->state()) {
      const std::string name = join(group.name, ".", entry.name);
      own.add(group.is_own ? own_name(rank, name) : name, {entry.type, entry.shape, group.is_own ? rank : -1}, {},
              entry.shape, {{}, in_file, {}, entry.bytes});
    }
  return own;
}

/// Joins the indices of all ranks. Of equal parts on several ranks, the one with the fewest bytes so far writes.
class Merger {
 public:
  explicit Merger(std::vector<Index> all) : all_(std::move(all)), bytes_(all_.size()) {}

  /// throws ArgumentError and ShapeError that name the ranks, the same on all of them
  [[nodiscard]] LOCUS_OUT_OF_LINE Index merged() {
    require_same_options();
    Index result{all_[0].info};
    for (std::size_t rank = 0; rank < all_.size(); ++rank)
      for (auto& [name, tensor] : all_[rank].tensors) add(result, name, tensor, static_cast<int>(rank));
    for (auto& [name, tensor] : result.tensors) {
      Cover cover(elements(tensor.shape));
      for (const StoredPart& part : tensor.parts) (void)cover.add(part.runs);
      if (const std::string defect = cover.defect(); !defect.empty())
        fail<ShapeError>({"save_parts: '", locus::detail::printable(name), "' of shape ", tensor.shape, " over ",
                          all_.size(), " ranks: ", defect});
    }
    return result;
  }

 private:
  void require_same_options() const {
    for (std::size_t rank = 1; rank < all_.size(); ++rank) {
      const CheckpointInfo &mine = all_[rank].info, &first = all_[0].info;
      if (mine.step != first.step || mine.metadata != first.metadata)
        fail<ArgumentError>({"save_parts: step ", mine.step, " and metadata '", locus::detail::printable(mine.metadata),
                             "' on rank ", rank, ", ", first.step, " and '", locus::detail::printable(first.metadata),
                             "' on rank 0; give the same on all ranks"});
    }
  }
  void add(Index& result, const std::string& name, StoredTensor& tensor, int rank) {
    const auto [at, is_new] = result.tensors.try_emplace(name, StoredTensor{tensor.type, tensor.shape, tensor.rank});
    StoredTensor& entry = at->second;
    if (is_new) first_rank_[name] = rank;
    if (entry.type != tensor.type || !(entry.shape == tensor.shape))
      fail<ArgumentError>({"save_parts: '", locus::detail::printable(name), "' is ", tensor.text(), " on rank ", rank,
                           ", and ", entry.text(), " on rank ", first_rank_[name],
                           "; give the shape of the whole tensor, and the same element type, on all ranks"});
    for (StoredPart& part : tensor.parts) {
      if (part.runs.count == 0 && elements(tensor.shape) > 0) continue;
      const auto bytes = part.runs.elements() * static_cast<std::int64_t>(size_of(tensor.type));
      auto same = entry.parts.begin();
      while (same != entry.parts.end() && !(same->runs == part.runs)) ++same;
      if (same == entry.parts.end()) {
        entry.parts.push_back(part);
      } else if (std::int64_t& other = bytes_[rank_of_file(same->file)];
                 bytes_[static_cast<std::size_t>(rank)] + bytes < other) {
        other -= bytes;
        *same = part;
      } else {
        continue;
      }
      bytes_[static_cast<std::size_t>(rank)] += bytes;
    }
  }
  std::vector<Index> all_;
  std::vector<std::int64_t> bytes_;  ///< of each rank's file
  std::map<std::string, int> first_rank_;
};

/// A checkpoint that each rank is about to write.
struct PreparedSave {
  Index index;
  std::string folder{}, file{};          ///< the temporary folder, and this rank's file in it
  nn::StateDict<Cpu> tensors{};          ///< of this rank's file
  std::optional<StagedFolder> staged{};  ///< on rank 0

  /// Writes this rank's file. throws DataError
  void write() const {
    struct stat info {};
    if (stat(folder.c_str(), &info) != 0)
      fail<DataError>({"save_parts: there is no folder '", folder, "', which rank 0 made, on this rank: ",
                       std::strerror(errno), "; save to a file system that all ranks share"});
    io::detail::write_safetensors<Cpu>("save_parts", file, tensors);
  }
  /// On rank 0, after all ranks have written. throws DataError
  void publish() {
    io::write_file_atomically(join(folder, "/", index_name), text_of(index));
    staged->publish();
  }
};

/// Agrees on a checkpoint with all ranks. `copies`: the tensors do not share the memory of the parts.
template <class D>
[[nodiscard]] PreparedSave prepare_save(const std::string& folder, const Communicator<D>& comm, const Parts& parts,
                                        const SavePartsOptions& options, bool copies) {
  OwnParts own;
  std::string text;
  on_all_ranks(comm, [&] {
    own = parts_of_rank(parts, comm.rank(), comm.size(), options);
    if (comm.rank() == 0) own.index.info.run = io::detail::record_with(comm);
    text = text_of(own.index);
  });
  std::vector<Index> all;
  for (const std::string& of_rank : texts_of_all(comm, text))
    all.push_back(IndexReader(of_rank, "save_parts: cannot read the parts of a rank").read());
  PreparedSave save{Merger(std::move(all)).merged()};
  on_rank_zero(comm, [&] {
    save.staged.emplace(folder);
    save.folder = save.staged->path();
  });
  save.folder = text_of_first(comm, save.folder);
  save.file = join(save.folder, "/", file_of_rank(comm.rank()));
  on_all_ranks(comm, [&] {
    for (const OwnParts::Source& each : own.sources)
      for (const StoredPart& part : save.index.tensors.at(each.name).parts)
        if (part.file == each.part.file && part.key == each.part.key)
          save.tensors.add({part.key, save.index.tensors.at(each.name).type, part.shape,
                            each.memory ? each.memory->read(copies) : each.bytes});
  });
  return save;
}

}  // namespace detail

/// Saves a checkpoint of all ranks: a folder with a safetensors file of each rank's parts, rank-00000.safetensors, and
/// index.json, with io::run_record() of rank 0. All ranks call it. Parts that several ranks have are written by one of
/// them. A temporary folder beside `folder` is written and renamed when all ranks have succeeded: until then, and if a
/// rank fails or is killed, an older checkpoint of the name stays. Folders above are created. The file system is shared
/// by all ranks.
///
/// throws on all ranks, with the communicator usable: ArgumentError where ranks give a tensor another shape or type, or
/// another step; ShapeError where parts have gaps or overlap; DataError or OutOfMemory where a rank cannot write, and
/// RankError that names it on the others. CollectiveError if a rank fails elsewhere, or takes longer than the time-out
/// cost: on a device, host memory for the parts of one rank; the writing, and a few small collectives
///
///     dist::save_parts(join("run/step-", step), comm, parts, {.step = step});
template <class D>
void save_parts(const std::string& folder, const Communicator<D>& comm, const Parts& parts,
                const SavePartsOptions& options = {}) {
  detail::PreparedSave save = detail::prepare_save(folder, comm, parts, options, false);
  on_all_ranks(comm, [&] { save.write(); });
  on_rank_zero(comm, [&] { save.publish(); });
}

}}}  // namespace locus::LOCUS_ABI::dist
