// A sum goes along the wrong axis.
#include <xtensor/xarray.hpp>
#include <xtensor/xmath.hpp>

#include "verdict.hpp"

int main() {
  xt::xarray<float> x = {{1, 2}, {3, 4}};
#ifdef MISTAKE
  xt::xarray<float> columns = xt::sum(x, {1});
#else
  xt::xarray<float> columns = xt::sum(x, {0});
#endif
  passed();
  return verdict(columns(0) == 4);
}
