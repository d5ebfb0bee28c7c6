// step() comes before backward().
#include <locus/locus.hpp>

#include "verdict.hpp"

using namespace locus;

int main() {
  nn::Linear<float, Cpu> model{1, 1};
  optim::Sgd optimizer{model.parameters(), {.lr = 0.5}};
  const float before = model.parameters()[0].value().item();
  const auto loss = sum(model(trace(ones({1, 1}))));
  optimizer.zero_grad();
#ifdef MISTAKE
  optimizer.step();
  loss.backward();
#else
  loss.backward();
  optimizer.step();
#endif
  passed();
  return verdict(model.parameters()[0].value().item() != before);
}
