// A loss is made of numbers instead of tensors.
#include <locus/locus.hpp>

#include "verdict.hpp"

using namespace locus;

int main() {
  const Parameter<float, Cpu> w(from({2}));
  const auto y = (trace(from({1})) * w).eval();
#ifdef MISTAKE
  const auto loss = trace(from({y.value().item() * y.value().item()}));
#else
  const auto loss = square(y).eval();
#endif
  passed();
  sum(loss).backward();
  return verdict(w.has_grad() && w.grad().item() == 4);
}
