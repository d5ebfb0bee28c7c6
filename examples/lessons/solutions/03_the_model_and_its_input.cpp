// Lesson 3: the model and its input
//
// Goal: predict() returns the probabilities of the classes for a batch that was read on the CPU. The model lives on the
// GPU, and so must the result.
//
// In PyTorch this would be an error when the line runs: RuntimeError: Expected all tensors to be on the same device,
// but got mat1 is on cpu, different from other tensors on cuda:0 (when checking argument in method wrapper_CUDA_addmm).
// The traceback ends in the first layer, not at the call that passed the batch, and mat1 is the layer's name for it.
// Older versions say that they found at least two devices, cpu and cuda:0!
//
// hint: The batch travels to the model.
// hint: Moving the model to every batch would copy all its weights each time.
#include <locus/cuda/backend.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/ops/softmax.hpp>

using namespace locus;

Tensor<float, Cuda> predict(const nn::Sequential<float, Cuda>& model, const Tensor<float, Cpu>& batch) {
  const Tensor<float, Cuda> logits = model(batch.to<Cuda>());
  return softmax(logits, 1);
}
