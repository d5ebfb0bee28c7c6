// A loss is made of numbers instead of tensors.
#include <torch/torch.h>

#include "verdict.hpp"

int main() {
  auto w = torch::full({1}, 2.f, torch::requires_grad());
#ifdef MISTAKE
  auto loss = torch::tensor(w.item<float>() * w.item<float>());
#else
  auto loss = w.square().sum();
#endif
  passed();
  loss.backward();
  return verdict(w.grad().defined() && w.grad().item<float>() == 4);
}
