// NumPy's `x.astype<double>()`
// group: Names of tensors elsewhere
// because: it has another name here
// expect-error(gcc): say_x_as_double
// expect-error(nvcc): say_x_as_double
// expect-error(clang): say x\.as<double>\(\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return x.astype<double>();
#else
  return x.as<double>();
#endif
}
