// One random key is used for two draws.
#include <ATen/CPUGeneratorImpl.h>
#include <torch/torch.h>

#include "verdict.hpp"

int main() {
  auto generator = at::detail::createCPUGenerator(1);
  auto a = torch::rand({8}, generator);
#ifdef MISTAKE
  auto b = torch::rand({8}, generator);
#else
  auto second = at::detail::createCPUGenerator(2);
  auto b = torch::rand({8}, second);
#endif
  passed();
  return verdict((a - b).abs().sum().item<float>() > 0);
}
