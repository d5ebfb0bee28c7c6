// A tensor of another library without its element type.
// because: the element type and the place are parts of a tensor's type, and a struct of DLPack has them as values
// expect-error: the_element_type_is_part_of_a_tensor_s_type|the element type is part of a tensor's type
// expect-error: with_dlpack
#include <locus/interop/dlpack.hpp>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(dlpack::Owner<dlpack::DLManagedTensor> managed) {
#ifdef LOCUS_MUST_FAIL
  return from_dlpack(std::move(managed));
#else
  return from_dlpack<float, Cuda>(std::move(managed));
#endif
}
