// A model is used after it was moved from.
#include <torch/torch.h>

#include <utility>

#include "verdict.hpp"

int main() {
  torch::nn::Sequential model(torch::nn::Linear(2, 3));
  auto moved = std::move(model);
#ifdef MISTAKE
  auto y = model->forward(torch::ones({4, 2}));
#else
  auto y = moved->forward(torch::ones({4, 2}));
#endif
  passed();
  return verdict(y.size(-1) == 3);
}
