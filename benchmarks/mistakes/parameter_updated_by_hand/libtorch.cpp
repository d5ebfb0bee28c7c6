// A parameter is changed in place, as if it were plain.
#include <torch/torch.h>

#include "verdict.hpp"

int main() {
  auto w = torch::ones({2}, torch::requires_grad());
  auto gradient = torch::ones({2});
#ifdef MISTAKE
  w -= 0.5 * gradient;
#else
  torch::NoGradGuard no_grad;
  w -= 0.5 * gradient;
#endif
  passed();
  return verdict(w.sum().item<float>() == 1);
}
