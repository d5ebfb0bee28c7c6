// A matrix product of two places.
#include <torch/torch.h>

#include "on_gpu.hpp"
#include "verdict.hpp"

int main() {
#ifdef MISTAKE
  auto w = on_gpu({3, 4});
#else
  auto w = torch::ones({3, 4});
#endif
  auto y = torch::matmul(torch::ones({2, 3}), w);
  passed();
  return verdict(y.sum().item<float>() == 24);
}
