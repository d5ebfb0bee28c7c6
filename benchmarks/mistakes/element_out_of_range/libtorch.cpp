// An element is read past the end.
#include <torch/torch.h>

#include "verdict.hpp"

int main() {
  auto x = torch::tensor({1.f, 2.f, 3.f});
#ifdef MISTAKE
  const float last = x[3].item<float>();
#else
  const float last = x[2].item<float>();
#endif
  passed();
  return verdict(last == 3);
}
