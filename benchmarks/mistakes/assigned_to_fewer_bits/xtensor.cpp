// Doubles are assigned to floats.
#include <xtensor/xarray.hpp>

#include "verdict.hpp"

int main() {
  xt::xarray<double> x = {1e-50};
#ifdef MISTAKE
  xt::xarray<float> y = x;
#else
  xt::xarray<double> y = x;
#endif
  passed();
  return verdict(y(0) > 0);
}
