// A mask elsewhere than the values.
#include <torch/torch.h>

#include "on_gpu.hpp"
#include "verdict.hpp"

int main() {
#ifdef MISTAKE
  auto mask = on_gpu({3}, torch::kBool);
#else
  auto mask = torch::tensor({true, false, true});
#endif
  auto y = torch::where(mask, torch::ones({3}), torch::zeros({3}));
  passed();
  return verdict(y.sum().item<float>() == 2);
}
