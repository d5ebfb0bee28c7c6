// An axis does not exist.
#include <torch/torch.h>

#include "verdict.hpp"

int main() {
  auto x = torch::ones({2, 3});
#ifdef MISTAKE
  auto y = x.sum(2);
#else
  auto y = x.sum(1);
#endif
  passed();
  return verdict(y.numel() == 2);
}
