// zero_grad() is forgotten.
#include <torch/torch.h>

#include "verdict.hpp"

int main() {
  auto w = torch::ones({1}, torch::requires_grad());
  for (int step = 0; step < 2; ++step) {
#ifndef MISTAKE
    w.mutable_grad().reset();
#endif
    (w * 3).sum().backward();
  }
  passed();
  return verdict(w.grad().item<float>() == 3);
}
