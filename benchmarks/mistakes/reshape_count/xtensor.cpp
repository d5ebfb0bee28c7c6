// A new shape has another number of elements.
#include <xtensor/xarray.hpp>
#include <xtensor/xbuilder.hpp>

#include "verdict.hpp"

int main() {
  xt::xarray<float> x = xt::ones<float>({2, 3});
#ifdef MISTAKE
  x.reshape({4, 2});
#else
  x.reshape({3, 2});
#endif
  passed();
  return verdict(x.size() == 6 && x.shape(0) == 3);
}
