// Lesson 23: evaluation takes plain tensors
//
// Goal: probabilities() returns what a model makes of images when it is evaluated: without dropout, normalized by the
// running statistics, which stay as they are.
//
// In PyTorch nothing is wrong with calling a model that was trained a line before: if model.eval() was forgotten,
// dropout still drops, the statistics of the test images count and are learned, and the accuracy is off by a little,
// another time by a little less. torch.no_grad() does not help, it saves memory. Here the input says what is wanted. A
// traced one trains, and what comes out of it is no plain tensor. The compiler's remedy, .value(), would mend the type
// alone: dropout has dropped by then.
//
// hint: The function never calls backward(). Who wants to be recorded?
// hint: Lesson 8 needed one word more; this one needs one word less.
#include <locus/tensor/tensor.hpp>

#include <locus/cuda/backend.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/ops/softmax.hpp>

using namespace locus;

Tensor<float, Cuda> probabilities(const nn::Sequential<float, Cuda>& model, const Tensor<float, Cuda>& images) {
  const Tensor<float, Cuda> logits = model(images);
  return softmax(logits, 1);
}
