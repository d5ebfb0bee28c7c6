// The learning rate is negative.
#include <torch/torch.h>

#include <vector>

#include "verdict.hpp"

int main() {
  auto w = torch::ones({1}, torch::requires_grad());
#ifdef MISTAKE
  torch::optim::SGD optimizer(std::vector<torch::Tensor>{w}, -0.1);
#else
  torch::optim::SGD optimizer(std::vector<torch::Tensor>{w}, 0.1);
#endif
  passed();
  w.square().sum().backward();
  optimizer.step();
  return verdict(w.item<float>() < 1);
}
