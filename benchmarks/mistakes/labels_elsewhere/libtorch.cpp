// Labels on another device than the scores.
#include <torch/torch.h>

#include "on_gpu.hpp"
#include "verdict.hpp"

int main() {
#ifdef MISTAKE
  auto labels = on_gpu({2}, torch::kLong);
#else
  auto labels = torch::tensor({0, 2}, torch::kLong);
#endif
  auto loss = torch::nn::functional::cross_entropy(torch::ones({2, 3}), labels);
  passed();
  return verdict(loss.item<float>() > 1);
}
