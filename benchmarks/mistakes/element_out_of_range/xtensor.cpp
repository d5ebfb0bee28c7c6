// An element is read past the end.
#include <xtensor/xarray.hpp>

#include "verdict.hpp"

int main() {
  xt::xarray<float> x = {1, 2, 3};
#ifdef MISTAKE
  const float last = x(3);
#else
  const float last = x(2);
#endif
  passed();
  return verdict(last == 3);
}
