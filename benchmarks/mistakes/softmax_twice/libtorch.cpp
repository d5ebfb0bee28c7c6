// A softmax stands before a loss that has one.
#include <torch/torch.h>

#include "verdict.hpp"

int main() {
  auto scores = torch::tensor({{9.f, 0.f, 0.f}});
  auto labels = torch::tensor({0}, torch::kLong);
#ifdef MISTAKE
  auto loss = torch::nn::functional::cross_entropy(torch::softmax(scores, 1), labels);
#else
  auto loss = torch::nn::functional::cross_entropy(scores, labels);
#endif
  passed();
  return verdict(loss.item<float>() < 0.01f);
}
