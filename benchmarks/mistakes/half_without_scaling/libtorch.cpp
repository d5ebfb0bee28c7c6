// Sixteen bits are trained without loss scaling.
#include <torch/torch.h>

#include "verdict.hpp"

int main() {
  auto w = torch::ones({1}, torch::TensorOptions(torch::kHalf).requires_grad(true));
  auto loss = (w * 1e-4).sum() * 1e-5;
#ifdef MISTAKE
  loss.backward();
#else
  (loss.to(torch::kFloat) * 65536).backward();
#endif
  passed();
  return verdict(w.grad().item<float>() != 0);
}
