// An optimizer keeps the parameters of a model that was replaced.
#include <locus/locus.hpp>

#include "verdict.hpp"

using namespace locus;

int main() {
  nn::Linear<float, Cpu> model{1, 1};
  optim::Sgd optimizer{model.parameters(), {.lr = 0.5}};
#ifdef MISTAKE
  model = nn::Linear<float, Cpu>{1, 1};
#endif
  passed();
  const float before = model.parameters()[0].value().item();
  optimizer.zero_grad();
  sum(model(trace(ones({1, 1})))).backward();
  optimizer.step();
  return verdict(model.parameters()[0].value().item() != before);
}
