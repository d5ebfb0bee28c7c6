// Lesson 7: labels are int64
//
// Goal: validation_loss() returns the loss of labels that a file delivered as 32-bit integers.
//
// In PyTorch this would be an error when the line runs, on the GPU: a RuntimeError which says that the kernel
// "nll_loss_forward_reduce_cuda_kernel_2d_index" does not exist for 'Int'. It names neither the labels nor the type
// that they should have, which is int64 there and here.
//
// hint: The labels are in the right place and hold the wrong type. .as<T>() converts where the tensor is.
#include <locus/device/cuda.hpp>
#include <locus/ops/cross_entropy.hpp>

using namespace locus;

Tensor<float, Cuda> validation_loss(const Tensor<float, Cuda>& logits, const Tensor<std::int32_t, Cuda>& labels) {
  return cross_entropy(logits, labels.as<std::int64_t>());
}
