// The mean of integers.
#include <xtensor/xarray.hpp>
#include <xtensor/xmath.hpp>

#include "verdict.hpp"

int main() {
  xt::xarray<int> n = {1, 2};
#ifdef MISTAKE
  auto y = xt::mean(n)();
#else
  auto y = xt::mean(xt::cast<float>(n))();
#endif
  passed();
  return verdict(static_cast<double>(y) == 1.5);
}
