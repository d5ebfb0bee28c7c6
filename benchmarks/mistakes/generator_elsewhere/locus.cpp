// A random generator of another device.
#include <locus/locus.hpp>

#include "elsewhere.hpp"
#include "verdict.hpp"

using namespace locus;

int main() {
  Generator<Other> generator{1};
  Tensor<float> x = rand<float, Cpu>({8}, generator);
  passed();
  return verdict(max(x).item() < 1);
}
