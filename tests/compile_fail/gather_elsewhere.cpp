// Gathering by indices of another device.
// because: the kernel that reads the elements reads the indices too
// expect-error: tensor_is_on<locus::Cpu>.*indices_are_on<locus::Cuda>|the tensor is on Cpu, the indices are on Cuda
// expect-error: gather.*(move_one_with_to_Cpu_or_to_Cuda|move one with \.to<Cpu>\(\))
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float>& x, const Tensor<std::int64_t, Cuda>& index) {
#ifdef LOCUS_MUST_FAIL
  (void)gather(x, 1, index);
#else
  (void)gather(x, 1, index.to<Cpu>());
#endif
}
