// The inner extents of a matrix product differ.
#include <torch/torch.h>

#include "verdict.hpp"

int main() {
#ifdef MISTAKE
  auto b = torch::ones({4, 5});
#else
  auto b = torch::ones({3, 5});
#endif
  auto y = torch::matmul(torch::ones({2, 3}), b);
  passed();
  return verdict(y.sum().item<float>() == 30);
}
