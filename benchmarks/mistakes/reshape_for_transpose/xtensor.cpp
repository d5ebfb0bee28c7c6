// A matrix is reshaped where it should be transposed.
#include <xtensor/xarray.hpp>
#include <xtensor/xmanipulation.hpp>
#include <xtensor/xstrided_view.hpp>

#include "verdict.hpp"

int main() {
  xt::xarray<float> x = {{1, 2, 3}, {4, 5, 6}};
#ifdef MISTAKE
  xt::xarray<float> y = xt::reshape_view(x, {3, 2});
#else
  xt::xarray<float> y = xt::transpose(x);
#endif
  passed();
  return verdict(y(0, 1) == 4);
}
