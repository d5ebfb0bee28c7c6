// Lesson 8: inference is a type
//
// Goal: one_step() makes one step of training: the gradients of the loss, then the optimizer's step.
//
// In PyTorch this would work: every call of a model is recorded, even if no gradients are needed, unless it is inside
// torch.no_grad(). If that was forgotten, memory is silently wasted; if it was added by mistake, backward() raises
// RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn. Here model(x) is inference, and
// training is requested explicitly.
//
// hint: Only computations with a traced tensor are recorded, and here there are none.
// hint: One function call around the input of the model changes that.
#include <locus/tensor/tensor.hpp>

#include <locus/cuda/backend.hpp>
#include <locus/nn/linear.hpp>
#include <locus/nn/loss.hpp>
#include <locus/optim/sgd.hpp>

using namespace locus;

void one_step(const nn::Linear<float, Cuda>& model, optim::Sgd<float, Cuda>& optimizer, const Tensor<float, Cuda>& x,
              const Tensor<float, Cuda>& target) {
  optimizer.zero_grad();
  nn::mse_loss(model(trace(x)), target).backward();
  optimizer.step();
}
