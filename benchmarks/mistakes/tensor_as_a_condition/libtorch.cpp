// Two tensors are compared in an if.
#include <torch/torch.h>

#include "verdict.hpp"

int main() {
  auto a = torch::tensor({1.f, 2.f}), b = torch::tensor({1.f, 3.f});
  bool equal = false;
#ifdef MISTAKE
  if (a == b) equal = true;
#else
  if (a.equal(b)) equal = true;
#endif
  passed();
  return verdict(!equal);
}
