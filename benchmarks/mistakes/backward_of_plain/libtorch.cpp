// backward() of a loss from which nothing was recorded.
#include <torch/torch.h>

#include "verdict.hpp"

int main() {
  torch::nn::Linear model(2, 2);
#ifdef MISTAKE
  torch::NoGradGuard no_grad;
#endif
  auto loss = model->forward(torch::ones({4, 2})).square().mean();
  loss.backward();
  passed();
  return verdict(model->weight.grad().abs().sum().item<float>() > 0);
}
