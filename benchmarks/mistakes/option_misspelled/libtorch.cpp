// The name of an option is misspelled.
#include <torch/torch.h>

#include "verdict.hpp"

int main() {
  torch::nn::Linear model(1, 1);
#ifdef MISTAKE
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.1).learning_rate(0.5));
#else
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.1).lr(0.5));
#endif
  passed();
  return verdict(optimizer.defaults().get_lr() == 0.5);
}
