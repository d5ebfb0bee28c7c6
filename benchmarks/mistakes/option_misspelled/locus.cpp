// The name of an option is misspelled.
#include <locus/locus.hpp>

#include "verdict.hpp"

using namespace locus;

int main() {
  nn::Linear<float, Cpu> model{1, 1};
#ifdef MISTAKE
  optim::Sgd<float, Cpu> optimizer{model.parameters(), {.learning_rate = 0.5}};
#else
  optim::Sgd<float, Cpu> optimizer{model.parameters(), {.lr = 0.5}};
#endif
  passed();
  return verdict(optimizer.lr() == 0.5);
}
