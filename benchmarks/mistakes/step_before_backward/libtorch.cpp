// step() comes before backward().
#include <torch/torch.h>

#include "verdict.hpp"

int main() {
  torch::nn::Linear model(1, 1);
  torch::optim::SGD optimizer(model->parameters(), 0.5);
  const float before = model->weight.item<float>();
  auto loss = model->forward(torch::ones({1, 1})).sum();
  optimizer.zero_grad();
#ifdef MISTAKE
  optimizer.step();
  loss.backward();
#else
  loss.backward();
  optimizer.step();
#endif
  passed();
  return verdict(model->weight.item<float>() != before);
}
