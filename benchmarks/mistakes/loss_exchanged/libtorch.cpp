// Scores and labels of a loss are exchanged.
#include <torch/torch.h>

#include "verdict.hpp"

int main() {
  auto scores = torch::ones({2, 3});
  auto labels = torch::tensor({0, 2}, torch::kLong);
#ifdef MISTAKE
  auto loss = torch::nn::functional::cross_entropy(labels, scores);
#else
  auto loss = torch::nn::functional::cross_entropy(scores, labels);
#endif
  passed();
  return verdict(loss.item<float>() > 1);
}
