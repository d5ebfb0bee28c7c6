// The learning rate is a hundred times too large.
#include <locus/locus.hpp>

#include <cmath>

#include "verdict.hpp"

using namespace locus;

int main() {
  nn::Linear<float, Cpu> model{1, 1, false};
#ifdef MISTAKE
  const double lr = 10;
#else
  const double lr = 0.1;
#endif
  optim::Sgd optimizer{model.parameters(), {.lr = lr}};
  for (int step = 0; step < 100; ++step) {
    optimizer.zero_grad();
    sum(square(model(trace(ones({1, 1}))))).backward();
    optimizer.step();
  }
  passed();
  return verdict(std::abs(model.parameters()[0].value().item()) < 1);
}
