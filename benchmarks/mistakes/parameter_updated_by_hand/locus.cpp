// A parameter is changed in place, as if it were plain.
#include <locus/locus.hpp>

#include "verdict.hpp"

using namespace locus;

int main() {
  const Parameter<float, Cpu> w(ones({2}));
  const Tensor<float> gradient = ones({2});
#ifdef MISTAKE
  w -= 0.5f * gradient;
#else
  w.value() -= 0.5f * gradient;
#endif
  passed();
  return verdict(sum(w.value()).item() == 1);
}
