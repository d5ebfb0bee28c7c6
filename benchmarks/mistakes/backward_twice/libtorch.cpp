// backward() runs twice over one graph.
#include <torch/torch.h>

#include "verdict.hpp"

int main() {
  auto w = torch::full({1}, 2.f, torch::requires_grad());
  auto loss = w.square().sum();
  loss.backward();
#ifdef MISTAKE
  loss.backward();
#endif
  passed();
  return verdict(w.grad().item<float>() == 4);
}
