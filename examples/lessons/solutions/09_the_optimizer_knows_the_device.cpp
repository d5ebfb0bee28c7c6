// Lesson 9: the optimizer knows the device
//
// Goal: descend() makes 100 steps of gradient descent on a model that lives on the GPU.
//
// In PyTorch this would be no error: an optimizer does not name its device. The documentation of model.cuda() asks you
// to move the model before you make the optimizer. The other order works with SGD, whose state is made at the first
// step, and fails with Adagrad, whose state was made at once and stayed on the CPU.
//
// hint: The optimizer works where the parameters are.
// hint: Say so, or say nothing: without arguments in angle brackets, the type follows from the parameters.
#include <locus/cuda/backend.hpp>
#include <locus/nn/linear.hpp>
#include <locus/nn/loss.hpp>
#include <locus/optim/sgd.hpp>

using namespace locus;

void descend(const nn::Linear<float, Cuda>& model, const Tensor<float, Cuda>& x, const Tensor<float, Cuda>& target) {
  optim::Sgd optimizer{model.parameters(), {.lr = 0.1}};
  for (int step = 0; step < 100; ++step) {
    optimizer.zero_grad();
    nn::mse_loss(model(trace(x)), target).backward();
    optimizer.step();
  }
}
