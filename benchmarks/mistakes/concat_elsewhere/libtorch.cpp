// Tensors of two places are joined.
#include <torch/torch.h>

#include "on_gpu.hpp"
#include "verdict.hpp"

int main() {
#ifdef MISTAKE
  auto b = on_gpu({3});
#else
  auto b = torch::ones({3});
#endif
  auto y = torch::cat({torch::ones({2}), b});
  passed();
  return verdict(y.numel() == 5);
}
