// Two tensors of other extents are added.
#include <torch/torch.h>

#include "verdict.hpp"

int main() {
#ifdef MISTAKE
  auto y = torch::ones({4});
#else
  auto y = torch::ones({3});
#endif
  auto z = torch::ones({3}) + y;
  passed();
  return verdict(z.sum().item<float>() == 6);
}
