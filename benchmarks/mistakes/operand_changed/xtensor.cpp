// An operand changes before a lazy result is read.
#include <xtensor/xarray.hpp>

#include "verdict.hpp"

int main() {
  xt::xarray<float> x = {1};
#ifdef MISTAKE
  const auto y = x + 1;
#else
  const xt::xarray<float> y = x + 1;
#endif
  x(0) = 5;
  passed();
  return verdict(y(0) == 2);
}
