// Lesson 8: inference is a type
//
// Goal: one_step() makes one step of training: the gradients of the loss, then the optimizer's step.
//
// In PyTorch this would work: every call of a model is recorded, also where nobody wants gradients, unless
// torch.no_grad() stands around it. If that was forgotten, memory is silently wasted; if it stands there by mistake,
// backward() raises RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn. Here model(x)
// is inference, and training is what you ask for.
//
// hint: Only what met a traced tensor is recorded, and here nothing did.
// hint: One word around the input of the model changes that.
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
