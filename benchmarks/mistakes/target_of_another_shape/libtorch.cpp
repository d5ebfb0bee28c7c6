// A column of predictions meets a row of targets in a loss.
#include <torch/torch.h>

#include "verdict.hpp"

int main() {
  auto prediction = torch::tensor({1.f, 2.f, 3.f}).reshape({3, 1});
#ifdef MISTAKE
  auto target = torch::tensor({1.f, 2.f, 3.f});
#else
  auto target = torch::tensor({1.f, 2.f, 3.f}).reshape({3, 1});
#endif
  auto loss = torch::nn::functional::mse_loss(prediction, target);
  passed();
  return verdict(loss.item<float>() == 0);
}
