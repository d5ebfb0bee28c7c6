// Lesson 7: labels are int64
//
// INTENDED TO FAIL. This file does not compile until you have solved the lesson; read the compiler's first error line.
//
// Goal: validation_loss() returns the loss of labels that a file delivered as 32-bit integers.
//
// In PyTorch this would be an error when the line runs: RuntimeError: expected target dtype to be Long or Byte, but got
// Int. Long is int64. Older versions say on the GPU that "nll_loss_forward_reduce_cuda_kernel_2d_index" is not
// implemented for 'Int', which names neither the labels nor the type that they should have. Here that type is int64
// alone, and the compiler names it.
#include <locus/cuda/backend.hpp>
#include <locus/ops/cross_entropy.hpp>

using namespace locus;

Tensor<float, Cuda> validation_loss(const Tensor<float, Cuda>& logits, const Tensor<std::int32_t, Cuda>& labels) {
  return cross_entropy(logits, labels);  // <- mend this
}
