// A column is subtracted from a row.
#include <torch/torch.h>

#include "verdict.hpp"

int main() {
  auto x = torch::tensor({1.f, 2.f, 3.f});
#ifdef MISTAKE
  auto y = torch::tensor({1.f, 2.f, 3.f}).reshape({3, 1});
#else
  auto y = torch::tensor({1.f, 2.f, 3.f});
#endif
  auto distance = (x - y).square().mean();
  passed();
  return verdict(distance.item<float>() == 0);
}
