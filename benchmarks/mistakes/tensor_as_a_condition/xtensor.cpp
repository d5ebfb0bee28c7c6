// Two tensors are compared in an if.
#include <xtensor/xarray.hpp>
#include <xtensor/xmath.hpp>

#include "verdict.hpp"

int main() {
  xt::xarray<float> a = {1, 2}, b = {1, 3};
  bool equal = false;
#ifdef MISTAKE
  if (a == b) equal = true;
#else
  if (xt::all(xt::equal(a, b))) equal = true;
#endif
  passed();
  return verdict(!equal);
}
