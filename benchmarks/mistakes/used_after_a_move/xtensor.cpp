// A model is used after it was moved from.
#include <xtensor/xarray.hpp>
#include <xtensor/xbuilder.hpp>
#include <xtensor/xmath.hpp>

#include <utility>

#include "verdict.hpp"

int main() {
  xt::xarray<float> w = xt::ones<float>({2, 3});
  xt::xarray<float> moved = std::move(w);
#ifdef MISTAKE
  const float y = xt::sum(w)();
#else
  const float y = xt::sum(moved)();
#endif
  passed();
  return verdict(y == 6);
}
