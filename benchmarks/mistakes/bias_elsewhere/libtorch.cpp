// A layer's weights stand in two places.
#include <torch/torch.h>

#include "on_gpu.hpp"
#include "verdict.hpp"

int main() {
#ifdef MISTAKE
  auto bias = on_gpu({3});
#else
  auto bias = torch::ones({3});
#endif
  auto y = torch::nn::functional::linear(torch::ones({4, 2}), torch::ones({3, 2}), bias);
  passed();
  return verdict(y.sum().item<float>() == 36);
}
