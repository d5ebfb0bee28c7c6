// Putting elements by indices of another device.
// because: the kernel that puts the elements reads the indices too
// expect-error: tensor_is_on<locus::Cpu>.*indices_are_on<locus::Cuda>|one tensor is on Cpu, another is on Cuda
// expect-error: index_add.*(move_one_with_to_Cpu_or_to_Cuda|move one with \.to<Cpu>\(\))
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float>& x, const Tensor<std::int64_t, Cuda>& indices, const Tensor<float>& source) {
#ifdef LOCUS_MUST_FAIL
  (void)index_add(x, 0, indices, source);
#else
  (void)index_add(x, 0, indices.to<Cpu>(), source);
#endif
}
