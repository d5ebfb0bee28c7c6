// Lesson 2: operands meet in one place
//
// INTENDED TO FAIL. This file does not compile until you have solved the lesson; read the compiler's first error line.
//
// Goal: blend() computes relu(a * 0.5 + b * 0.25) * 2 + bias on the GPU, where its result is needed. The bias comes
// from the CPU.
//
// In PyTorch this would be an error when the line runs: RuntimeError: Expected all tensors to be on the same device,
// but found at least two devices, cuda:0 and cpu! The message does not name the operand. A CPU tensor without
// dimensions is accepted.
#include <locus/cuda/backend.hpp>
#include <locus/expr/operators.hpp>

using namespace locus;

Tensor<float, Cuda> blend(const Tensor<float, Cuda>& a, const Tensor<float, Cuda>& b, const Tensor<float, Cpu>& bias) {
  return relu(a * 0.5f + b * 0.25f) * 2 + bias;  // <- mend this
}
