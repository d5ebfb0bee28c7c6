// A model is applied to an input elsewhere.
#include <locus/locus.hpp>

#include "elsewhere.hpp"
#include "verdict.hpp"

using namespace locus;

int main() {
  nn::Sequential<float, Cpu> model{nn::Linear<float, Cpu>{2, 3}};
  Tensor<float, Other> x = ones({4, 2}, Other{});
  Tensor y = model(x);
  passed();
  return verdict(y.size(0) == 4);
}
