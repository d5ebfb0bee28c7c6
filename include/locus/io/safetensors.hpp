#pragma once
// States of models as safetensors files, which PyTorch reads and writes with safetensors.torch:
// https://github.com/huggingface/safetensors

#include <locus/core/system/out_of_memory.hpp>
#include <locus/nn/state.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace io::detail {
/// Read and write files in host memory: D is Cpu. Defined in safetensors_file.hpp, or in the compiled library.
template <class D>
[[nodiscard]] nn::StateDict<D> read_safetensors(const std::string& path);
/// caller: for messages. `run`: a text of the metadata.
template <class D>
void write_safetensors(const char* caller, const std::string& path, const nn::StateDict<D>& state,
                       const std::string& run = {});
/// The text that a file was written with; empty if there was none.
template <class D>
[[nodiscard]] std::string read_run(const std::string& path);
}}}  // namespace locus::LOCUS_ABI::io::detail

#ifdef LOCUS_COMPILED
namespace locus { inline namespace LOCUS_ABI { namespace io::detail {
extern template nn::StateDict<Cpu> read_safetensors(const std::string&);
extern template void write_safetensors(const char*, const std::string&, const nn::StateDict<Cpu>&, const std::string&);
extern template std::string read_run<Cpu>(const std::string&);
}}}  // namespace locus::LOCUS_ABI::io::detail
#else
#include <locus/io/safetensors_file.hpp>
#endif

namespace locus { inline namespace LOCUS_ABI { namespace io {

/// Reads a safetensors file into the memory of D. Tensors of types that Locus lacks, such as 8-bit floats,
/// or with more than eight dimensions, are not read: .unread() of the state names them, and getting one is an error.
/// Given an index of several files, model.safetensors.index.json, reads them all as one state.
/// throws DataError, which names the defect, for a file that is missing, truncated or malformed, and for files that do
/// not fit their index; OutOfMemory, CudaUnavailable
///
///     auto state = io::load<Cuda>("model.safetensors");
///     auto weight = state.get<float>("fc.weight");   // Tensor<float, Cuda>
template <class D = Cpu>
[[nodiscard]] nn::StateDict<D> load(const std::string& path, D place = {}) {
  static_assert(MemorySpace<D>,
                "load<D>: D is a place; for Cuda, #include <locus/cuda/backend.hpp> (or <locus/locus.hpp>)");
  return locus::detail::or_out_of_memory({"cannot read '", path, "': out of memory"}, [&] {
    nn::StateDict<Cpu> state = detail::read_safetensors<Cpu>(path);
    if constexpr (std::is_same_v<D, Cpu>) return state;
    else return state.template to<D>(place);
  });
}

/// Writes a state as a safetensors file: to a temporary file beside it, which is then renamed. throws DataError if it
/// cannot be written; ArgumentError for a name that is not UTF-8, and for a state that was read without some tensors;
/// OutOfMemory
///
///     io::save("model.safetensors", nn::state_dict(model));
template <class D>
void save(const std::string& path, const nn::StateDict<D>& state) {
  locus::detail::or_out_of_memory({"cannot write '", path, "': out of memory"},
                                  [&] { detail::write_safetensors<Cpu>("save", path, state.template to<Cpu>()); });
}

}}}  // namespace locus::LOCUS_ABI::io
