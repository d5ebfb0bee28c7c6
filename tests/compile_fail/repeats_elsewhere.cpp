// Counts of repetitions on another device.
// because: the counts are read where the tensor is
// expect-error(gcc): left_is_on<.*Cuda>, .*right_is_on<.*Cpu>
// expect-error(clang): the tensor is on Cuda, the counts are on Cpu
// expect-error(nvcc): left_is_on<.*Cuda>, .*right_is_on<.*Cpu>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float, Cuda>& x, const Tensor<std::int64_t>& counts) {
#ifdef LOCUS_MUST_FAIL
  return repeat_interleave(x, counts, 0);
#else
  return repeat_interleave(x, counts.to<Cuda>(), 0);
#endif
}
