// Two tensors of other extents are added.
#include <xtensor/xarray.hpp>
#include <xtensor/xbuilder.hpp>
#include <xtensor/xmath.hpp>

#include "verdict.hpp"

int main() {
  xt::xarray<float> x = xt::ones<float>({3});
#ifdef MISTAKE
  xt::xarray<float> y = xt::ones<float>({4});
#else
  xt::xarray<float> y = xt::ones<float>({3});
#endif
  xt::xarray<float> z = x + y;
  passed();
  return verdict(xt::sum(z)() == 6);
}
