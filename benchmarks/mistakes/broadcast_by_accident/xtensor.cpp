// A column is subtracted from a row.
#include <xtensor/xarray.hpp>
#include <xtensor/xmath.hpp>

#include "verdict.hpp"

int main() {
  xt::xarray<float> x = {1, 2, 3};
#ifdef MISTAKE
  xt::xarray<float> y = {{1}, {2}, {3}};
#else
  xt::xarray<float> y = {1, 2, 3};
#endif
  const double distance = xt::mean(xt::square(x - y))();
  passed();
  return verdict(distance == 0);
}
