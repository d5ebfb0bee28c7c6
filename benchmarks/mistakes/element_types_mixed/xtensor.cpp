// A large integer meets a float.
#include <xtensor/xarray.hpp>

#include "verdict.hpp"

int main() {
  xt::xarray<long> n = {16777217};
  xt::xarray<float> one = {1};
#ifdef MISTAKE
  xt::xarray<double> y = n * one;
#else
  xt::xarray<double> y = n * xt::cast<double>(one);
#endif
  passed();
  return verdict(y(0) == 16777217.);
}
