// A tensor of another library on the host, and one on a GPU.
// because: the place is checked where the struct becomes a tensor; from then on the type has it
// expect-error: [Cc]pu.*[Cc]uda
// expect-error: move_one_with_to_Cpu_or_to_Cuda|move one with \.to<Cpu>
#include <locus/interop/dlpack.hpp>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(dlpack::Owner<dlpack::DLManagedTensor> managed, const Tensor<float, Cuda>& w) {
#ifdef LOCUS_MUST_FAIL
  return (from_dlpack<float, Cpu>(std::move(managed)) * w).eval();
#else
  return (from_dlpack<float, Cpu>(std::move(managed)).to<Cuda>() * w).eval();
#endif
}
