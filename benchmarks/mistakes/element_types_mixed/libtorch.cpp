// A large integer meets a float.
#include <torch/torch.h>

#include "verdict.hpp"

int main() {
  auto n = torch::tensor({16777217}, torch::kLong);
  auto one = torch::tensor({1.f});
#ifdef MISTAKE
  auto y = n * one;
#else
  auto y = n.to(torch::kDouble) * one.to(torch::kDouble);
#endif
  passed();
  return verdict(y.item<double>() == 16777217.);
}
