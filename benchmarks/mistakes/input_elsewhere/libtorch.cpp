// A model is applied to an input elsewhere.
#include <torch/torch.h>

#include "on_gpu.hpp"
#include "verdict.hpp"

int main() {
  torch::nn::Sequential model(torch::nn::Linear(2, 3));
#ifdef MISTAKE
  auto x = on_gpu({4, 2});
#else
  auto x = torch::ones({4, 2});
#endif
  auto y = model->forward(x);
  passed();
  return verdict(y.cpu().size(0) == 4);
}
