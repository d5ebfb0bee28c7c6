// zero_grad() is forgotten.
#include <locus/locus.hpp>

#include "verdict.hpp"

using namespace locus;

int main() {
  const Parameter<float, Cpu> w(from({1}));
  for (int step = 0; step < 2; ++step) {
#ifndef MISTAKE
    w.zero_grad();
#endif
    sum(trace(from({3})) * w).backward();
  }
  passed();
  return verdict(w.grad().item() == 3);
}
