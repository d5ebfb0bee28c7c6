// A product of matrices on two devices.
// because: a matrix product reads both operands on one device
// expect-error(gcc): left_is_on<locus::Cpu>.*right_is_on<locus::Cuda>.*move_one_with_to_Cpu_or_to_Cuda
// expect-error(clang): left operand is on Cpu, right operand is on Cuda; move one with \.to<Cpu>\(\) or \.to<Cuda>\(\)
// expect-error(nvcc): right_is_on<locus::Cuda>
#include <locus/cuda/backend.hpp>
#include <locus/ops/matmul.hpp>

using namespace locus;

auto product(const Tensor<float, Cpu>& a, const Tensor<float, Cuda>& b) {
#ifdef LOCUS_MUST_FAIL
  return matmul(a, b);
#else
  return matmul(a, b.to<Cpu>());
#endif
}
