// The learning rate is negative.
#include <locus/locus.hpp>

#include "verdict.hpp"

using namespace locus;

int main() {
  nn::Linear<float, Cpu> model{1, 1, false};
  const float before = model.parameters()[0].value().item();
#ifdef MISTAKE
  optim::Sgd optimizer{model.parameters(), {.lr = -0.1}};
#else
  optim::Sgd optimizer{model.parameters(), {.lr = 0.1}};
#endif
  passed();
  sum(model(trace(ones({1, 1})))).backward();
  optimizer.step();
  return verdict(model.parameters()[0].value().item() < before);
}
