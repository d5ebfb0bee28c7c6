// A new shape has another number of elements.
#include <torch/torch.h>

#include "verdict.hpp"

int main() {
  auto x = torch::ones({2, 3});
#ifdef MISTAKE
  auto y = x.reshape({4, 2});
#else
  auto y = x.reshape({3, 2});
#endif
  passed();
  return verdict(y.numel() == 6);
}
