// Lesson 2: operands meet in one place
//
// Goal: blend() computes relu(a * 0.5 + b * 0.25) * 2 + bias on the GPU, where its result is needed. The bias comes
// from the CPU.
//
// In PyTorch this would be an error when the line runs: RuntimeError: Expected all tensors to be on the same device,
// but found at least two devices, cuda:0 and cpu! The message does not name the operand. A CPU tensor without
// dimensions is accepted.
//
// hint: The error points at one operator and names the place of its left and of its right side.
// hint: Move the operand that is not on the device of the result.
#include <locus/cuda/backend.hpp>
#include <locus/expr/operators.hpp>

using namespace locus;

Tensor<float, Cuda> blend(const Tensor<float, Cuda>& a, const Tensor<float, Cuda>& b, const Tensor<float, Cpu>& bias) {
  return relu(a * 0.5f + b * 0.25f) * 2 + bias.to<Cuda>();
}
