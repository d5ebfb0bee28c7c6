// Indices elsewhere than the table.
#include <torch/torch.h>

#include "on_gpu.hpp"
#include "verdict.hpp"

int main() {
#ifdef MISTAKE
  auto rows = on_gpu({2}, torch::kLong);
#else
  auto rows = torch::tensor({0, 3}, torch::kLong);
#endif
  auto y = torch::index_select(torch::ones({4, 2}), 0, rows);
  passed();
  return verdict(y.sum().item<float>() == 4);
}
