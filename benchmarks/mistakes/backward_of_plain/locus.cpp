// backward() of a loss from which nothing was recorded.
#include <locus/locus.hpp>

#include "verdict.hpp"

using namespace locus;

int main() {
  nn::Linear<float, Cpu> model{2, 2};
  Tensor<float> x = ones({4, 2});
#ifdef MISTAKE
  mean(square(model(x))).backward();
#else
  mean(square(model(trace(x)))).backward();
#endif
  passed();
  return verdict(sum(abs(model.parameters()[0].grad())).item() > 0);
}
