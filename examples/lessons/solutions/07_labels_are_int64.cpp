// Lesson 7: labels are int64
//
// Goal: validation_loss() returns the loss of labels that a file delivered as 32-bit integers.
//
// In PyTorch this would be an error when the line runs: RuntimeError: expected target dtype to be Long or Byte, but got
// Int. Long is int64. Older versions say on the GPU that "nll_loss_forward_reduce_cuda_kernel_2d_index" is not
// implemented for 'Int', which names neither the labels nor the type that they should have. Here that type is int64
// alone, and the compiler names it.
//
// hint: The labels are in the right place and hold the wrong type. .as<T>() converts where the tensor is.
#include <locus/cuda/backend.hpp>
#include <locus/ops/cross_entropy.hpp>

using namespace locus;

Tensor<float, Cuda> validation_loss(const Tensor<float, Cuda>& logits, const Tensor<std::int32_t, Cuda>& labels) {
  return cross_entropy(logits, labels.as<std::int64_t>());
}
