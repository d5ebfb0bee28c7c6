// The learning rate is a hundred times too large.
#include <torch/torch.h>

#include <cmath>
#include <vector>

#include "verdict.hpp"

int main() {
  auto w = torch::ones({1}, torch::requires_grad());
#ifdef MISTAKE
  const double lr = 10;
#else
  const double lr = 0.1;
#endif
  torch::optim::SGD optimizer(std::vector<torch::Tensor>{w}, lr);
  for (int step = 0; step < 100; ++step) {
    optimizer.zero_grad();
    w.square().sum().backward();
    optimizer.step();
  }
  passed();
  return verdict(std::abs(w.item<float>()) < 1);
}
