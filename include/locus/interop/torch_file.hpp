#pragma once
// Files of torch.save (.pt, .pth, pytorch_model.bin): weights, and training checkpoints as trees of values. Nothing in
// a file is executed.

#include <locus/interop/torch_archive.hpp>
#include <locus/io/shard_index.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace io {

/// How a file of torch.save is read.
struct TorchOptions {
  std::string key{};    ///< of the dictionary that holds the state, such as "model"; empty: see load_torch
  bool mapped = false;  ///< whether tensors lie in the mapped file, as in load_mapped; not checked for damage then
};

/// Reads a file of torch.save as a tree of values: dictionaries, lists, tuples, numbers, texts, None, torch.Size,
/// types, devices and tensors. Both formats are read: the archive of PyTorch 1.6 and later, and the older one. Tensors
/// share memory as in the file. Tensors of a GPU are read into the memory of the host.
/// throws DataError, which names the defect, for a file that is missing, truncated or malformed, that would call a
/// function, or that holds big-endian numbers; OutOfMemory
///
///     const io::Value file = io::read_torch("checkpoint.pt");
///     const std::int64_t epoch = file["epoch"].integer();
///     auto moment = file["optimizer"]["state"][0]["exp_avg"].tensor<float>();
[[nodiscard]] inline Value read_torch(const std::string& path, const TorchOptions& options = {}) {
  return locus::detail::or_out_of_memory({"cannot read '", path, "': out of memory"},
                                         [&] { return detail::read_torch_file(path, options.mapped); });
}

namespace detail {
/// Whether an item of a dictionary is a tensor.
[[nodiscard]] inline bool holds_tensors(const Value& value) {
  if (value.kind() != ValueKind::dict) return false;
  for (const auto& item : value.items())
    if (item.value.kind() == ValueKind::tensor) return true;
  return false;
}

/// The dictionary of tensors of a file. throws ArgumentError, which names the keys
[[nodiscard]] inline Value torch_state_of(const Value& file, const std::string& path, const std::string& key) {
  if (!key.empty()) return file[key];
  for (const char* const usual : {"state_dict", "model_state_dict", "model", "module"})
    if (file.contains(usual) && holds_tensors(file[usual])) return file[usual];
  if (holds_tensors(file)) return file;
  if (file.kind() != ValueKind::dict)
    fail<ArgumentError>({"load_torch: '", path, "' holds ", kind_text(file.kind()),
                         "; expected a dictionary of tensors: read it with io::read_torch"});
  locus::detail::NameList names;
  bool has_dict = false;
  for (const auto& item : file.items()) {
    if (item.value.kind() == ValueKind::dict)
      names.add(item.key.kind() == ValueKind::text ? item.key.text() : "?"), has_dict = true;
  }
  if (!has_dict) return file;
  fail<ArgumentError>({"load_torch: '", path, "' holds no tensors by name, but the dictionaries ", names.text(),
                       "; say which one has the state: {.key = ...}"});
}

/// Without the prefix of DistributedDataParallel, if each name has it.
[[nodiscard]] inline nn::StateDict<Cpu> without_module(nn::StateDict<Cpu> state) {
  constexpr std::string_view prefix = "module.";
  if (state.size() == 0) return state;
  for (const auto& entry : state)
    if (!entry.name.starts_with(prefix)) return state;
  for (const auto& each : state.unread())
    if (!each.name.starts_with(prefix)) return state;
  return state.without_prefix(prefix);
}

[[nodiscard]] inline nn::StateDict<Cpu> read_torch_state(const std::string& path, const TorchOptions& options) {
  nn::StateDict<Cpu> state =
      without_module(torch_state_of(read_torch_file(path, options.mapped), path, options.key).state_dict());
  state.set_file(path);
  return state;
}
}  // namespace detail

/// Reads the state of a model from a file of torch.save into the memory of D. The state is the dictionary of .key;
/// without it, the item "state_dict", "model_state_dict", "model" or "module", if it has tensors, or the whole file.
/// The prefix "module." is removed if all names have it. Given an index of several files, pytorch_model.bin.index.json,
/// reads them all as one state. Values that are no tensors, and tensors of types that Locus lacks, are not read:
/// .unread() of the state names them. On Cpu, tensors that share memory in the file share it here; strided views become
/// dense.
/// throws as read_torch(); ArgumentError for a file without a dictionary of tensors; CudaUnavailable
///
///     nn::load_state_dict(model, io::load_torch<D>("resnet18-f37072fd.pth"));
///     auto weights = io::load_torch("run.pt", {.key = "ema"});
template <class D = Cpu>
[[nodiscard]] nn::StateDict<D> load_torch(const std::string& path, const TorchOptions& options = {}, D place = {}) {
  static_assert(MemorySpace<D>,
                "load_torch<D>: D is a place; for Cuda, #include <locus/cuda/backend.hpp> (or <locus/locus.hpp>)");
  return locus::detail::or_out_of_memory({"cannot read '", path, "': out of memory"}, [&] {
    nn::StateDict<Cpu> state =
        detail::is_shard_index(path)
            ? detail::read_shards(path,
                                  [&](const std::string& shard) { return detail::read_torch_state(shard, options); })
            : detail::read_torch_state(path, options);
    if constexpr (std::is_same_v<D, Cpu>) return state;
    else return state.template to<D>(place);
  });
}

}}}  // namespace locus::LOCUS_ABI::io
