// Lesson 3: the model and its input
//
// Goal: predict() returns the probabilities of the classes for a batch that was read on the CPU. The model lives on the
// GPU, and so shall the result.
//
// In PyTorch this would be an error when the line runs: RuntimeError: Expected all tensors to be on the same device,
// but found at least two devices, cpu and cuda:0! The traceback ends in the first layer, not at the call that passed
// the batch; the end of the message depends on the layer and on the version.
//
// hint: The batch travels to the model.
// hint: Moving the model to every batch would copy all its weights each time.
#include <locus/device/cuda.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/ops/softmax.hpp>

using namespace locus;

Tensor<float, Cuda> predict(const nn::Sequential<float, Cuda>& model, const Tensor<float, Cpu>& batch) {
  const Tensor<float, Cuda> logits = model(batch.to<Cuda>());
  return softmax(logits, 1);
}
