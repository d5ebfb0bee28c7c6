#pragma once
// States of models from memory-mapped files.

#include <locus/io/mapped_memory.hpp>
#include <locus/io/safetensors.hpp>
#include <locus/io/safetensors_file.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace io {

namespace detail {
/// Which tensors stay in the mapped memory: those that a tensor of their type can lie in, or all, for readers of bytes.
enum class Mapped { typed, bytes };

template <Mapped mapped = Mapped::typed>
[[nodiscard]] nn::StateDict<Cpu> map_safetensors(const std::string& path) {
  InputFile opened(path, "a safetensors file");
  const Contents contents = read_header(opened);
  auto* const file = new MappedFile(std::move(opened));
  const Buffer<Cpu> memory = memory_of(file);
  return state_of<Cpu>(path, contents, [&](const Placed& tensor, std::uint64_t begin, nn::StateDict<Cpu>& state) {
    if (mapped == Mapped::bytes ||
        (tensor.type != ElementType::boolean && begin % static_cast<std::uint64_t>(size_of(tensor.type)) == 0)) {
      state.add({tensor.name, tensor.type, tensor.shape, bytes_in(memory, begin, tensor.end - tensor.begin)});
    } else {
      file->file().go_to(begin);
      read_tensor(file->file(), tensor, state);
    }
  });
}
}  // namespace detail

/// Maps the tensors of a safetensors file into memory: pages come from the disk when they are first touched, and are
/// shared with other processes that map the file. Copy on write: in-place changes stay in this process and never reach
/// the file. The mapping ends with the last tensor. Tensors of bool, which are checked, and misaligned tensors are read
/// into separate memory. Given an index of several files, maps them all, as load() reads them.
///
/// While the file is mapped, replace it by a new file, as io::save does; do not change it in place. get(), to() and
/// clone() of the state throw DataError if the file was truncated. Reading a tensor after a later truncation ends the
/// program (SIGBUS), as with every mapping: clone() tensors that must outlive such a file.
/// throws as load(), and DataError where the file system cannot map
/// cost: reads the header; memory only for tensors that are read
///
///     nn::load_state_dict(model, io::load_mapped("model.safetensors"));             // one copy, not two
///     auto part = io::load_mapped("large.safetensors").get<float>("embedding");     // reads nothing else
[[nodiscard]] inline nn::StateDict<Cpu> load_mapped(const std::string& path) {
  return locus::detail::or_out_of_memory({"cannot map '", path, "': out of memory"}, [&] {
    return detail::is_shard_index(path) ? detail::read_shards(path, detail::map_safetensors<>)
                                        : detail::map_safetensors<>(path);
  });
}

}}}  // namespace locus::LOCUS_ABI::io
