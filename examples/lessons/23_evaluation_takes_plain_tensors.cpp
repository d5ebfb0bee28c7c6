// Lesson 23: evaluation takes plain tensors
//
// INTENDED TO FAIL. This file does not compile until you have solved the lesson; read the compiler's first error line.
//
// Goal: probabilities() returns a model's predictions for images in evaluation: without dropout, normalized by the
// running statistics, which stay unchanged.
//
// In PyTorch a model in training mode can be called without an error: if model.eval() was forgotten, dropout is active,
// batch statistics are used and update the running ones, and the accuracy is slightly and randomly wrong.
// torch.no_grad() does not help, it only saves memory. Here the type of the input decides. A traced input trains, and
// its result is no plain tensor. The compiler's remedy, .value(), would fix the type alone: dropout has been applied by
// then.
#include <locus/tensor/tensor.hpp>

#include <locus/cuda/backend.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/ops/softmax.hpp>

using namespace locus;

Tensor<float, Cuda> probabilities(const nn::Sequential<float, Cuda>& model, const Tensor<float, Cuda>& images) {
  const Tensor<float, Cuda> logits = model(trace(images));  // <- mend this
  return softmax(logits, 1);
}
