// One random key is used for two draws.
#include <locus/locus.hpp>

#include "verdict.hpp"

using namespace locus;

int main() {
  Generator<Cpu> generator{1};
  const Tensor<float> a = rand<float, Cpu>({8}, generator);
#ifdef MISTAKE
  const Tensor<float> b = rand<float, Cpu>({8}, generator);
#else
  Generator<Cpu> second{2};
  const Tensor<float> b = rand<float, Cpu>({8}, second);
#endif
  passed();
  return verdict(sum(abs(a - b)).item() > 0);
}
