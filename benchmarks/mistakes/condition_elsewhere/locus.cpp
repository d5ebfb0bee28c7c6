// A mask elsewhere than the values.
#include <locus/locus.hpp>

#include "elsewhere.hpp"
#include "verdict.hpp"

using namespace locus;

int main() {
  Tensor<float> x = ones({3});
  Tensor<bool, Other> mask = from({1, -1, 1}).to<Other>() > 0.f;
  Tensor y = where(mask, x, 0);
  passed();
  return verdict(sum(y).item() == 2);
}
