// A softmax does not say along which axis.
#include <torch/torch.h>

#include "verdict.hpp"

int main() {
  auto x = torch::ones({2, 4});
#ifdef MISTAKE
  auto y = torch::softmax(x);
#else
  auto y = torch::softmax(x, 1);
#endif
  passed();
  return verdict(y[0][0].item<float>() == 0.25f);
}
