// The mean of integers.
#include <torch/torch.h>

#include "verdict.hpp"

int main() {
  auto n = torch::tensor({1, 2}, torch::kInt);
#ifdef MISTAKE
  auto y = n.mean();
#else
  auto y = n.to(torch::kFloat).mean();
#endif
  passed();
  return verdict(y.item<double>() == 1.5);
}
