// One random key is used for two draws.
#include <xtensor/xarray.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xrandom.hpp>

#include "verdict.hpp"

int main() {
  xt::random::default_engine_type engine(1);
  xt::xarray<float> a = xt::random::rand<float>({8}, 0, 1, engine);
#ifdef MISTAKE
  xt::xarray<float> b = xt::random::rand<float>({8}, 0, 1, engine);
#else
  xt::random::default_engine_type second(2);
  xt::xarray<float> b = xt::random::rand<float>({8}, 0, 1, second);
#endif
  passed();
  return verdict(xt::sum(xt::abs(a - b))() > 0);
}
