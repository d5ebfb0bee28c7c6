// A layer inside a layer is not listed.
#include <torch/torch.h>

#include "verdict.hpp"

struct Halved : torch::nn::Module {
  torch::nn::Linear inner{torch::nn::LinearOptions(4, 4)};
#ifndef MISTAKE
  Halved() { register_module("inner", inner); }
#endif
  torch::Tensor forward(const torch::Tensor& x) { return inner->forward(x) * 0.5; }
};

int main() {
  Halved layer;
  passed();
  return verdict(layer.parameters().size() == 2);
}
