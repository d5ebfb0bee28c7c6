// An element is read past the end.
#include <locus/locus.hpp>

#include "verdict.hpp"

using namespace locus;

int main() {
  const Tensor<float> x = from({1, 2, 3});
#ifdef MISTAKE
  const float last = x(3);
#else
  const float last = x(2);
#endif
  passed();
  return verdict(last == 3);
}
