// A matrix is reshaped where it should be transposed.
#include <torch/torch.h>

#include "verdict.hpp"

int main() {
  auto x = torch::tensor({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}});
#ifdef MISTAKE
  auto y = x.reshape({3, 2});
#else
  auto y = x.t();
#endif
  passed();
  return verdict(y[0][1].item<float>() == 4);
}
