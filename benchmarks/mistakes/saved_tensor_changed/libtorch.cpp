// A tensor is changed that the backward pass needs.
#include <torch/torch.h>

#include "verdict.hpp"

int main() {
  auto w = torch::full({1}, 2.f, torch::requires_grad());
  auto x = torch::full({1}, 3.f);
  auto loss = (w * x).sum();
#ifdef MISTAKE
  x.zero_();
#endif
  passed();
  loss.backward();
  return verdict(w.grad().item<float>() == 3);
}
