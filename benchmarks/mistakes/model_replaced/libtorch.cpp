// An optimizer keeps the parameters of a model that was replaced.
#include <torch/torch.h>

#include "verdict.hpp"

int main() {
  torch::nn::Linear model(1, 1);
  torch::optim::SGD optimizer(model->parameters(), 0.5);
#ifdef MISTAKE
  model = torch::nn::Linear(1, 1);
#endif
  passed();
  const float before = model->weight.item<float>();
  optimizer.zero_grad();
  model->forward(torch::ones({1, 1})).sum().backward();
  optimizer.step();
  return verdict(model->weight.item<float>() != before);
}
