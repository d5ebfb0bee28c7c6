// Tensors of two devices joined.
// because: the result lies in one place; Locus does not guess in which
// expect-error(gcc): left_is_on<locus::Cpu>.*right_is_on<locus::Cuda>
// expect-error(clang): one tensor is on Cpu, another on Cuda; move one
// expect-error(nvcc): right_is_on<locus::Cuda>
#include <locus/cuda/backend.hpp>
#include <locus/ops/join.hpp>

using namespace locus;

auto joined(const Tensor<float>& a, const Tensor<float, Cuda>& b) {
#ifdef LOCUS_MUST_FAIL
  return concat(0, a, a, b);
#else
  return concat(0, a, a, b.to<Cpu>());
#endif
}
