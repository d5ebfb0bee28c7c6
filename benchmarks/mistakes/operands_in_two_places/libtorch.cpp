// Two tensors in two places are added.
#include <torch/torch.h>

#include "on_gpu.hpp"
#include "verdict.hpp"

int main() {
#ifdef MISTAKE
  auto w = on_gpu({2, 3});
#else
  auto w = torch::ones({2, 3});
#endif
  auto y = torch::ones({2, 3}) + w;
  passed();
  return verdict(y.sum().item<float>() == 12);
}
