// eval() is forgotten before prediction.
#include <torch/torch.h>

#include "verdict.hpp"

int main() {
  torch::nn::Sequential model(torch::nn::Dropout(0.5));
  model->train();
#ifdef MISTAKE
  auto y = model->forward(torch::ones({1000}));
#else
  model->eval();
  auto y = model->forward(torch::ones({1000}));
#endif
  passed();
  return verdict(y.sum().item<float>() == 1000);
}
