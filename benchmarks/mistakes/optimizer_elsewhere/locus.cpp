// An optimizer is made for another device than its parameters.
#include <locus/locus.hpp>

#include "elsewhere.hpp"
#include "verdict.hpp"

using namespace locus;

int main() {
  nn::Linear<float, Cpu> model{2, 2};
  optim::Sgd<float, Other> optimizer{model.parameters(), {.lr = 0.5}};
  passed();
  return verdict(optimizer.lr() == 0.5);
}
