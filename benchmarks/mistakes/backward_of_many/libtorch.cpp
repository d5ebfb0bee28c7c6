// backward() of a loss that is no number.
#include <torch/torch.h>

#include "verdict.hpp"

int main() {
  auto w = torch::tensor({1.f, 2.f}, torch::requires_grad());
#ifdef MISTAKE
  w.square().backward();
#else
  w.square().sum().backward();
#endif
  passed();
  return verdict(w.grad()[1].item<float>() == 4);
}
