// Integers are to collect a gradient.
#include <torch/torch.h>

#include "verdict.hpp"

int main() {
#ifdef MISTAKE
  auto w = torch::full({1}, 2, torch::kLong).requires_grad_();
#else
  auto w = torch::full({1}, 2.f).requires_grad_();
#endif
  passed();
  w.square().sum().backward();
  return verdict(w.grad().item<float>() == 4);
}
