// An operand changes before a lazy result is read.
#include <torch/torch.h>

#include "verdict.hpp"

int main() {
  auto x = torch::ones({1});
  auto y = x + 1;
#ifdef MISTAKE
  x.fill_(5);
#endif
  passed();
  return verdict(y.item<float>() == 2);
}
