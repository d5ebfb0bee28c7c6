// Lesson 4: the labels too
//
// Goal: training_loss() returns the recorded loss of a batch whose images are already on the GPU. The labels are not.
//
// In PyTorch this would be an error when the line runs: RuntimeError: Expected all tensors to be on the same device,
// but got target is on cpu, different from other tensors on cuda:0 (when checking argument in method
// wrapper_CUDA_nll_loss_forward). It comes after the whole forward pass; older versions word it differently.
//
// hint: Move the labels of a batch together with its images.
#include <locus/cuda/backend.hpp>
#include <locus/nn/linear.hpp>
#include <locus/nn/loss.hpp>

using namespace locus;

Traced<float, Cuda> training_loss(const nn::Linear<float, Cuda>& model, const Tensor<float, Cuda>& images,
                                  const Tensor<std::int64_t, Cpu>& labels) {
  return nn::cross_entropy(model(trace(images)), labels.to<Cuda>());
}
