// An axis does not exist.
#include <xtensor/xarray.hpp>
#include <xtensor/xbuilder.hpp>
#include <xtensor/xmath.hpp>

#include "verdict.hpp"

int main() {
  xt::xarray<float> x = xt::ones<float>({2, 3});
#ifdef MISTAKE
  xt::xarray<float> y = xt::sum(x, {2});
#else
  xt::xarray<float> y = xt::sum(x, {1});
#endif
  passed();
  return verdict(y.size() == 2);
}
