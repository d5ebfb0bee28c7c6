// A struct of DLPack that is read without giving it away.
// because: the tensor becomes the owner of the memory, and a second owner would free it again
// expect-error: a_struct_of_DLPack_is_used_once|a struct of DLPack is used once
// expect-error: std_move_managed|std::move\(managed\)
#include <locus/interop/dlpack.hpp>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(dlpack::Owner<dlpack::DLManagedTensorVersioned> managed) {
#ifdef LOCUS_MUST_FAIL
  return from_dlpack<float, Cuda>(managed);
#else
  return from_dlpack<float, Cuda>(std::move(managed));
#endif
}
