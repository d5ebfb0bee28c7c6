// A sum goes along the wrong axis.
#include <torch/torch.h>

#include "verdict.hpp"

int main() {
  auto x = torch::tensor({{1.f, 2.f}, {3.f, 4.f}});
#ifdef MISTAKE
  auto columns = x.sum(1);
#else
  auto columns = x.sum(0);
#endif
  passed();
  return verdict(columns[0].item<float>() == 4);
}
