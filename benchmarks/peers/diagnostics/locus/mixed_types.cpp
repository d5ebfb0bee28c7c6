// Adding float to double.
// both: float.*double|double.*float
// remedy: as_T|\.as<
#include <locus/locus.hpp>

using namespace locus;

auto add(const Tensor<float>& x, const Tensor<double>& y) {
#ifdef MISTAKE
  return x + y;
#else
  return x + y.as<float>();
#endif
}
