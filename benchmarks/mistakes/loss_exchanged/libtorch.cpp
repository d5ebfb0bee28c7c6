// Scores and labels of a loss are exchanged.
#include <torch/torch.h>

#include "verdict.hpp"

int main() {
  auto scores = torch::log_softmax(torch::ones({2, 3}), 1);
  auto labels = torch::tensor({0, 2}, torch::kLong);
#ifdef MISTAKE
  auto loss = torch::nn::functional::nll_loss(labels, scores);
#else
  auto loss = torch::nn::functional::nll_loss(scores, labels);
#endif
  passed();
  return verdict(loss.item<float>() > 1);
}
