// A random generator of another device.
#include <ATen/CPUGeneratorImpl.h>
#include <torch/torch.h>

#include "on_gpu.hpp"
#include "verdict.hpp"

int main() {
#ifdef MISTAKE
  auto x = on_gpu({8});
#else
  auto x = torch::empty({8});
#endif
  auto generator = at::detail::createCPUGenerator(1);
  x.uniform_(0, 1, generator);
  passed();
  return verdict(x.max().item<float>() < 1);
}
